# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever a measurement looks like, the gate neither crashes nor keeps what it can't stand for."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.jetson.specdec.plugins.module_utils._gate.verdict import VERDICTS, decide

from .conftest import SLOT, build_arms

PROFILE = {"prompts": 16, "max_tokens": 96, "c8_requests": 24, "resamples": 200}
GOOD = build_arms()
# Fields that are for people and later issues: the verdict does not rest on them.
NOT_DECISIVE = {
    "status", "chunks", "prompt_tokens", "finish_reason", "text_sha256", "itl_ms_p50", "e2e_ms_p50", "prefill_share",
    "warnings", "per_position", "text_flags",
}  # fmt: skip


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in nested data, the first two and the last of each list."""
    found = [here] if here else []
    if isinstance(value, dict):
        for key in value:
            found += paths(value[key], (*here, key))
    elif isinstance(value, list):
        for index in sorted({0, 1, len(value) - 1} & set(range(len(value)))):
            found += paths(value[index], (*here, index))
    return found


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(
        [0, 0.0, -1, -0.5, float("nan"), float("inf"), -float("inf"), 10**400, 1e300, 1e-300, "", "x", "0", [], {}]
    ),
    st.floats(),
    st.integers(),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.one_of(st.text(max_size=3), st.integers()), st.none(), max_size=2),
)
PLACES = st.sampled_from(paths(GOOD))
DROP = object()


def mutate(pair: dict[str, Any], path: tuple[Any, ...], value: Any) -> None:
    place: Any = pair
    for step in path[:-1]:
        try:
            place = place[step]
        except (KeyError, IndexError, TypeError):
            return  # an earlier mutation took the place away
    try:
        if value is DROP:
            del place[path[-1]]
        else:
            place[path[-1]] = value
    except (KeyError, IndexError, TypeError):
        return


@settings(max_examples=250, deadline=None)
@given(st.lists(st.tuples(PLACES, st.one_of(st.just(DROP), JUNK)), min_size=1, max_size=3))
def test_mutations_of_a_good_pair_never_crash(mutations: list[tuple[tuple[Any, ...], Any]]) -> None:
    pair = copy.deepcopy(GOOD)
    for path, value in mutations:
        mutate(pair, path, value)
    found = decide(pair.get("baseline"), pair.get("candidate"), PROFILE, SLOT, 5)  # type: ignore[arg-type]
    assert found["verdict"] in VERDICTS
    assert found["outcome"]["text"]
    json.dumps([found["outcome"], found["effect"], found["summary"], found["receipt"]], allow_nan=False)


@pytest.mark.parametrize("path", paths(GOOD), ids=lambda path: ".".join(str(step) for step in path))
def test_nothing_missing_zero_or_strange_is_ever_kept(path: tuple[Any, ...]) -> None:
    for value in (DROP, None, 0, -1, float("nan"), float("inf"), "x", "", [], {}):
        pair = copy.deepcopy(GOOD)
        mutate(pair, path, value)
        found = decide(pair.get("baseline"), pair.get("candidate"), PROFILE, SLOT, 5)  # type: ignore[arg-type]
        assert found["verdict"] != "kept" or pair == GOOD or harmless(path, value), (value, found["outcome"])


def harmless(path: tuple[Any, ...], value: Any) -> bool:
    """The few fields that may be absent or empty in a sound measurement."""
    name = path[-1]
    return (
        bool(NOT_DECISIVE & set(path))
        or (name == "error" and (value is DROP or not value))
        or (name == "text_head" and isinstance(value, str))
        or (name == "speculation" and path[0] == "baseline" and value in (None, DROP))
    )


@settings(max_examples=60, deadline=None)
@given(st.floats(-0.6, 2.0), st.floats(-0.5, 0.5))
def test_kept_only_above_every_threshold(gain: float, high_gain: float) -> None:
    pair = build_arms(gain=gain, high_gain=high_gain)
    found = decide(pair["baseline"], pair["candidate"], PROFILE, SLOT, 5)
    effect = found["effect"]
    allowed = effect["gain"] >= 0.3 and effect["tpot_drop"] >= 0.2 and effect["high_gain"] >= -0.03
    assert (found["verdict"] == "kept") <= allowed
    assert effect["gain_ci"][0] <= effect["gain"] <= effect["gain_ci"][1]
    if effect["gain"] < 0.1 and found["verdict"] != "rolled_back":
        raise AssertionError(found["outcome"])
