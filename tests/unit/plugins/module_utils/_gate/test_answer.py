# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""What the gate hands on beside its verdict, and what it refuses to judge."""

from __future__ import annotations

import copy
from typing import Any, Callable

import pytest

from ansible_collections.jetson.specdec.plugins.module_utils._gate.errors import GateError
from ansible_collections.jetson.specdec.plugins.module_utils._gate.verdict import decide

Gate = Callable[..., dict[str, Any]]
Make = Callable[..., dict[str, dict[str, Any]]]


def test_warnings_of_the_benchmark_are_handed_on(gate: Gate, arms: Make) -> None:
    pair = arms()
    pair["candidate"]["high"]["warnings"] = [{"code": "preemptions", "text": "3 requests were preempted"}, "odd"]
    found = gate(pair)
    assert found["verdict"] == "kept"
    assert found["warnings"] == [{"code": "preemptions", "text": "candidate.high: 3 requests were preempted"}]


def test_receipt(gate: Gate, arms: Make) -> None:
    pair = arms()
    found = gate(pair)["receipt"]
    assert found["schema"] == "jetson.specdec/receipt/1"
    assert (found["verdict"], found["slot"]) == ("kept", "3f2c90ab11de")
    assert found["boot_id"] == pair["candidate"]["high"]["boot_id"]
    assert found["finished_boottime_s"] == pair["candidate"]["high"]["finished_boottime_s"]
    assert gate(pair)["receipt"] == found
    assert gate(pair, high_margin=0.02)["receipt"]["profile_sha256"] != found["profile_sha256"]
    pair["candidate"]["low"]["samples"][0]["text_sha256"] = "other"
    assert gate(pair)["receipt"]["samples_sha256"] != found["samples_sha256"]


def test_text_has_every_number_with_unit_and_n(gate: Gate, arms: Make) -> None:
    text = gate(arms(gain=0.6, high_gain=0.05))["outcome"]["text"]
    for part in ("+60.0%", "31.2 -> 50.0 tok/s", "n=16", "95 % interval", "ms)", "c=8 throughput +5.0%", "n=24"):
        assert part in text


def test_deciding_changes_nothing_and_is_deterministic(gate: Gate, arms: Make) -> None:
    pair = arms()
    before = copy.deepcopy(pair)
    first = gate(pair)
    assert pair == before
    assert gate(pair) == first


@pytest.mark.parametrize(
    ("profile", "field"),
    [
        ({"min_gian": 0.3}, "min_gian"),
        ({"min_gain": "0.3"}, "min_gain"),
        ({"min_gain": float("nan")}, "min_gain"),
        ({"prompts": 0}, "prompts"),
        ({"prompts": 8.5}, "prompts"),
        ({"high_margin": -0.1}, "high_margin"),
        ({"rollback_below": 0.5}, "rollback_below"),
        ({"band_policy": "guess"}, "band_policy"),
        ({"resamples": True}, "resamples"),
        ({"name": 3}, "name"),
    ],
)
def test_bad_profile_is_an_error_that_names_the_field(arms: Make, profile: dict[str, Any], field: str) -> None:
    pair = arms()
    with pytest.raises(GateError, match=rf"profile\.{field} ") as caught:
        decide(pair["baseline"], pair["candidate"], profile, "3f2c90ab11de", 5)
    assert caught.value.code == "bad_profile"


@pytest.mark.parametrize(("slot", "k"), [("", 5), (None, 5), ("3f2c90ab11de", 0), ("3f2c90ab11de", True)])
def test_bad_slot_or_k_is_an_error(arms: Make, slot: Any, k: Any) -> None:
    pair = arms()
    with pytest.raises(GateError):
        decide(pair["baseline"], pair["candidate"], None, slot, k)
