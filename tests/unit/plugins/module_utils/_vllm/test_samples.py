# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of a level, and what is wrong with a text."""

from __future__ import annotations

import pytest

from ansible_collections.jetson.specdec.plugins.module_utils._vllm import samples
from ansible_collections.jetson.specdec.plugins.module_utils._vllm.client import Completion


def completion(times, tokens, error=None):
    return Completion(
        sent_s=10.0,
        status=200,
        chunk_times_s=[10.0 + at for at in times],
        output_tokens=tokens,
        error=error,
        text="a b",
    )


def test_median():
    assert samples.median([3, 1, 2]) == 2
    assert samples.median([4, 1, 2, 3]) == 2.5
    assert samples.median([]) is None


def test_summary():
    ones = [completion([0.1, 0.2, 0.3], 9), completion([0.2, 0.4], 5), completion([0.1], 1)]
    seen = samples.summary([*ones, completion([0.1], None, {"code": "cut", "text": "x"})], 2.0)
    assert seen["completed"] == 3
    assert seen["output_tokens"] == 15
    assert seen["throughput_tok_s"] == 7.5
    assert seen["ttft_ms_p50"] == pytest.approx(100)
    assert seen["tpot_ms_p50"] == pytest.approx((25 + 50) / 2)  # the one of a single token has none
    assert seen["itl_ms_p50"] == pytest.approx(100)
    assert seen["e2e_ms_p50"] == pytest.approx(300)
    assert seen["prefill_share"] == pytest.approx(0.4 / 0.8)


def test_nothing_measured_is_never_zero():
    seen = samples.summary([], 0.0)
    assert seen.pop("completed") == 0
    assert seen.pop("duration_s") == 0
    assert set(seen.values()) == {None}


def test_a_failed_request_has_no_times():
    record = samples.sample({"id": "p", "kind": "k"}, completion([0.1, 0.2], 2, {"code": "cut", "text": "x"}), 9.0)
    assert (record["tpot_ms"], record["e2e_ms"]) == (None, None)
    assert record["ttft_ms"] == 100.0
    assert record["error"]["code"] == "cut"
    assert record["sent_s"] == 1.0


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("a perfectly ordinary sentence about nothing in particular", []),
        ("  \n", ["empty"]),
        ("ok \ufffd\ufffd\ufffd", ["undecodable"]),
        ("the " * 40, ["repetitive"]),
        ("Some words first, and then " + "yes no maybe " * 20, ["repetitive"]),
        ("red red red", []),  # too short to judge
        (" ".join(f"word{number % 7}" for number in range(60)), []),  # a cycle longer than any stutter
    ],
)
def test_text_flags(text, flags):
    assert samples.text_flags(text) == flags


def test_the_text_itself_is_not_kept():
    record = samples.sample(
        {"id": "p", "kind": "k"}, Completion(text="x" * 1000, output_tokens=1, chunk_times_s=[1.0]), 0
    )
    assert len(record["text_head"]) == 200
    assert "text" not in record


def test_prompts_have_an_identity():
    rows = [{"id": "a", "kind": "k", "text": "one"}, {"id": "b", "kind": "k", "text": "two"}]
    assert samples.prompts_sha256(rows) == samples.prompts_sha256([dict(row) for row in rows])
    assert samples.prompts_sha256(rows) != samples.prompts_sha256(rows[::-1])
