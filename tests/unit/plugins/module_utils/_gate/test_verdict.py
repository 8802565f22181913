# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The decision table, row by row and at each boundary."""

from __future__ import annotations

from typing import Any, Callable

import pytest

Gate = Callable[..., dict[str, Any]]
Make = Callable[..., dict[str, dict[str, Any]]]


def verdict_of(found: dict[str, Any]) -> tuple[str, str]:
    return found["verdict"], found["outcome"]["code"]


@pytest.mark.parametrize(
    ("gain", "high_gain", "expected"),
    [
        # Every request takes the same time here, so the interval is the session term alone: 2.94 % of the ratio.
        (0.60, 0.05, ("kept", "kept")),
        (0.30, 0.05, ("kept", "kept")),
        (0.2999, 0.05, ("inconclusive", "band_10_30")),
        (0.20, 0.05, ("inconclusive", "band_10_30")),
        (0.10, 0.05, ("inconclusive", "band_10_30")),
        (0.0999, 0.05, ("rolled_back", "below_10")),
        (0.00, 0.05, ("rolled_back", "below_10")),
        (-0.40, 0.05, ("rolled_back", "below_10")),
        (0.60, 0.00, ("kept", "kept")),
        (0.60, -0.0299, ("rolled_back", "c8_regression")),  # its whole interval is below 0
        (0.60, -0.0280, ("kept", "kept")),
        (0.60, -0.0301, ("rolled_back", "c8_regression")),
        (0.60, -0.30, ("rolled_back", "c8_regression")),
        (0.20, -0.30, ("rolled_back", "c8_regression")),
        (0.00, -0.30, ("rolled_back", "c8_regression")),
    ],
)
def test_table(gate: Gate, arms: Make, gain: float, high_gain: float, expected: tuple[str, str]) -> None:
    found = gate(arms(gain=gain, high_gain=high_gain))
    assert verdict_of(found) == expected, found["outcome"]["text"]
    assert found["outcome"]["ok"] is (expected[0] == "kept")
    assert found["effect"]["gain"] == pytest.approx(gain, abs=1e-6)
    assert found["effect"]["high_gain"] == pytest.approx(high_gain, abs=1e-6)
    assert (found["effect"]["n"], found["effect"]["n_high"]) == (16, 24)


@pytest.mark.parametrize(
    ("margin", "high_gain", "code"),
    [(0.0, 0.0, "kept"), (0.0, -0.0001, "c8_regression"), (0.01, -0.01, "kept"), (0.01, -0.0101, "c8_regression")],
)
def test_margin_of_the_high_level(gate: Gate, arms: Make, margin: float, high_gain: float, code: str) -> None:
    assert gate(arms(high_gain=high_gain), high_margin=margin)["outcome"]["code"] == code


@pytest.mark.parametrize(
    ("drop", "expected"),
    [
        (0.2001, ("kept", "kept")),
        (0.1999, ("inconclusive", "tpot_short")),
        (0.1501, ("inconclusive", "tpot_short")),
        (0.1499, ("inconclusive", "invalid_arithmetic")),
        (0.0, ("inconclusive", "invalid_arithmetic")),
    ],
)
def test_gain_that_the_tpot_does_not_show(gate: Gate, arms: Make, drop: float, expected: tuple[str, str]) -> None:
    # A long time to the first token in the baseline, cut in the candidate: throughput rises, TPOT hardly falls.
    pair = arms(gain=0.4, ttft_ms=1000.0)
    before, after = pair["baseline"]["low"], pair["candidate"]["low"]
    tpot_ms = before["tpot_ms_p50"] * (1 - drop)
    for sample in after["samples"]:
        sample["tpot_ms"] = tpot_ms
        sample["ttft_ms"] = sample["e2e_ms"] - tpot_ms * (sample["output_tokens"] - 1)
    after["tpot_ms_p50"] = tpot_ms
    after["ttft_ms_p50"] = after["samples"][0]["ttft_ms"]
    assert after["ttft_ms_p50"] > 0, "the test's own arms are impossible"
    assert verdict_of(gate(pair)) == expected


def spread(level: dict[str, Any], factors: list[float]) -> None:
    """Make each request slower or faster by a factor, and the level's figures follow."""
    for sample, factor in zip(level["samples"], factors):
        sample["tpot_ms"] *= factor
        sample["e2e_ms"] = sample["ttft_ms"] + sample["tpot_ms"] * (sample["output_tokens"] - 1)
    ordered = sorted(sample["tpot_ms"] for sample in level["samples"])
    level["tpot_ms_p50"] = (ordered[len(ordered) // 2 - 1] + ordered[len(ordered) // 2]) / 2
    level["duration_s"] = sum(sample["e2e_ms"] for sample in level["samples"]) / 1000 / level["concurrency"]
    level["throughput_tok_s"] = level["output_tokens"] / level["duration_s"]
    level["finished_boottime_s"] = level["started_boottime_s"] + level["duration_s"]


def scaled(level: dict[str, Any], tok_s: float) -> None:
    """Make the whole level faster or slower, until it has this throughput."""
    factor = level["throughput_tok_s"] / tok_s
    for sample in level["samples"]:
        for key in ("tpot_ms", "ttft_ms", "e2e_ms"):
            sample[key] *= factor
    for key in ("tpot_ms_p50", "ttft_ms_p50", "duration_s"):
        level[key] *= factor
    level["throughput_tok_s"] = tok_s
    level["finished_boottime_s"] = level["started_boottime_s"] + level["duration_s"]


@pytest.mark.parametrize("gain", [0.31, 0.05])
def test_wide_interval_neither_keeps_nor_dismisses(gate: Gate, arms: Make, gain: float) -> None:
    pair = arms(gain=gain)
    # In each kind three prompts are answered fast and one very slowly, so the sum depends on the draw; the median not.
    spread(pair["candidate"]["low"], [0.5] * 12 + [2.8] * 4)
    scaled(pair["candidate"]["low"], (1 + gain) * pair["baseline"]["low"]["throughput_tok_s"])
    found = gate(pair)
    effect = found["effect"]
    assert effect["gain"] == pytest.approx(gain, abs=1e-6)
    assert effect["tpot_drop"] > 0.2 and effect["tpot_drop_ci"][0] > 0
    assert effect["gain_ci"][0] < 0.25 and effect["gain_ci"][1] > 0.30
    assert verdict_of(found) == ("inconclusive", "interval_wide")


@pytest.mark.parametrize(
    ("gain", "expected"),
    [
        (0.60, ("continue", "continue")),
        (0.20, ("continue", "continue")),
        (0.10, ("continue", "continue")),
        (0.09, ("rolled_back", "below_10")),
        (-0.4, ("rolled_back", "below_10")),
    ],
)
def test_early_look(gate: Gate, arms: Make, gain: float, expected: tuple[str, str]) -> None:
    pair = arms(gain=gain)
    pair["candidate"]["high"] = None
    found = gate(pair)
    assert verdict_of(found) == expected
    assert found["effect"]["high_gain"] is None and found["summary"]["candidate"]["high"] is None
    assert (found["receipt"] is None) is (expected[0] == "continue")


def test_early_look_never_keeps_and_needs_no_high_baseline(gate: Gate, arms: Make) -> None:
    pair = arms(gain=3.0)
    pair["candidate"]["high"] = pair["baseline"]["high"] = None
    assert gate(pair)["verdict"] == "continue"


def change(pair: dict[str, Any], path: str, value: Any) -> None:
    *steps, last = path.split(".")
    place: Any = pair
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place[step]
    if isinstance(place, list):
        place[int(last)] = value
    else:
        place[last] = value


INVALID = [
    ("candidate.low", None, "invalid_missing", "candidate.low"),
    ("baseline.low", None, "invalid_missing", "baseline.low"),
    ("baseline.high", None, "invalid_missing", "baseline.high"),
    ("candidate.low.schema", "jetson.specdec/level/2", "invalid_missing", "candidate.low.schema"),
    ("candidate.low.samples", [], "invalid_missing", "candidate.low.samples"),
    ("candidate.low.throughput_tok_s", 0.0, "invalid_missing", "candidate.low.throughput_tok_s"),
    ("candidate.low.throughput_tok_s", None, "invalid_missing", "candidate.low.throughput_tok_s"),
    ("candidate.low.throughput_tok_s", float("nan"), "invalid_missing", "candidate.low.throughput_tok_s"),
    ("candidate.low.throughput_tok_s", float("inf"), "invalid_missing", "candidate.low.throughput_tok_s"),
    ("candidate.low.throughput_tok_s", "52.9", "invalid_missing", "candidate.low.throughput_tok_s"),
    ("candidate.low.throughput_tok_s", True, "invalid_missing", "candidate.low.throughput_tok_s"),
    ("candidate.low.throughput_tok_s", 10**400, "invalid_missing", "candidate.low.throughput_tok_s"),
    ("candidate.low.throughput_tok_s", 99.0, "invalid_arithmetic", "candidate.low.throughput_tok_s"),
    ("candidate.low.tpot_ms_p50", -3.0, "invalid_missing", "candidate.low.tpot_ms_p50"),
    ("candidate.low.tpot_ms_p50", 3.0, "invalid_arithmetic", "candidate.low.tpot_ms_p50"),
    ("candidate.low.ttft_ms_p50", 300.0, "invalid_arithmetic", "candidate.low.ttft_ms_p50"),
    ("candidate.low.output_tokens", 9999, "invalid_arithmetic", "candidate.low.output_tokens"),
    ("candidate.low.completed", 15, "invalid_arithmetic", "candidate.low.completed"),
    ("candidate.low.requests", 17, "invalid_arithmetic", "candidate.low.requests"),
    ("candidate.low.duration_s", 3.0, "invalid_arithmetic", "candidate.low.throughput_tok_s"),
    ("candidate.high.finished_boottime_s", 5000.0, "invalid_arithmetic", "candidate.high.finished_boottime_s"),
    ("candidate.high.samples.3.ttft_ms", 900.0, "invalid_arithmetic", "candidate.high.samples[3].e2e_ms"),
    ("baseline.high.samples.3.tpot_ms", None, "invalid_missing", "baseline.high.samples[3].tpot_ms"),
    ("baseline.high.samples.3.text_head", None, "invalid_missing", "baseline.high.samples[3].text_head"),
    ("candidate.low.samples.3", "lost", "invalid_missing", "candidate.low.samples[3]"),
    ("candidate.low.samples.3.prompt", "another", "invalid_unequal_setup", "different prompts"),
    ("candidate.low.prompts_sha256", "cd" * 32, "invalid_unequal_setup", "candidate.low.prompts_sha256"),
    ("candidate.high.prompts_sha256", "cd" * 32, "invalid_unequal_setup", "candidate.high.prompts_sha256"),
    ("candidate.low.max_tokens", 128, "invalid_unequal_setup", "candidate.low.max_tokens"),
    ("candidate.low.temperature", 0.7, "invalid_unequal_setup", "candidate.low.temperature"),
    ("candidate.high.concurrency", 1, "invalid_unequal_setup", "candidate.high.concurrency"),
    ("candidate.low.arm", "baseline", "invalid_unequal_setup", "candidate.low.arm"),
    ("candidate.low.slot", "ffffffffffff", "invalid_unequal_setup", "candidate.low.slot"),
    ("baseline.high.slot", "another", "invalid_unequal_setup", "baseline.high.slot"),
    ("baseline.low.slot", "3f2c90ab11de", "invalid_same_server", "baseline.low.slot"),
    ("candidate.high.boot_id", "another", "invalid_rebooted", "rebooted"),
    ("baseline.low.server_pid", 816, "invalid_restarted", "baseline"),
    ("candidate.high.server_start_ticks", 7, "invalid_restarted", "candidate"),
    ("candidate.low.foreign_requests", 1, "invalid_contended", "candidate.low"),
    ("candidate.low.foreign_requests", None, "invalid_missing", "candidate.low.foreign_requests"),
    ("candidate.low.started_boottime_s", 1010.0, "invalid_contended", "same time"),
    ("candidate.low.speculation", None, "invalid_speculation", "candidate.low.speculation"),
    ("candidate.high.speculation.drafts", 0, "invalid_speculation", "candidate.high.speculation"),
    ("candidate.low.speculation.num_speculative_tokens_seen", 3, "invalid_speculation", "it should be 5"),
    ("candidate.low.speculation.num_speculative_tokens_seen", None, "invalid_speculation", "it should be 5"),
    ("candidate.low.speculation.acceptance_rate", None, "invalid_missing", "candidate.low.speculation.acceptance_rate"),
    ("candidate.low.speculation.acceptance_length", 4.0, "invalid_arithmetic", "acceptance_length"),
    ("candidate.low.speculation.accepted_tokens", 10**6, "invalid_arithmetic", "acceptance_rate"),
    ("candidate.low.speculation.drafts", 10, "invalid_arithmetic", "acceptance_length"),
    ("baseline.low.errors", [{"code": "http_500", "text": "x"}], "invalid_baseline_errors", "baseline.low"),
    ("baseline.low.samples.0.error", "HTTP 500", "invalid_baseline_errors", "HTTP 500"),
]


@pytest.mark.parametrize(
    ("path", "value", "code", "named"), INVALID, ids=[f"{row[0]}={row[1]!r:.20}" for row in INVALID]
)
def test_bad_measurement_is_inconclusive_and_named(
    gate: Gate, arms: Make, path: str, value: Any, code: str, named: str
) -> None:
    pair = arms()
    change(pair, path, value)
    found = gate(pair)
    assert verdict_of(found) == ("inconclusive", code), found["outcome"]["text"]
    assert named in found["outcome"]["text"]
    assert found["outcome"]["ok"] is False
    assert found["receipt"]["verdict"] == "inconclusive"


def test_same_process_in_both_arms(gate: Gate, arms: Make) -> None:
    pair = arms()
    for level in ("low", "high"):
        for key in ("server_pid", "server_start_ticks"):
            pair["candidate"][level][key] = pair["baseline"][level][key]
    assert verdict_of(gate(pair)) == ("inconclusive", "invalid_same_server")


def test_reused_pid_is_another_server(gate: Gate, arms: Make) -> None:
    pair = arms()
    for level in ("low", "high"):
        pair["candidate"][level]["server_pid"] = pair["baseline"][level]["server_pid"]
    assert gate(pair)["verdict"] == "kept"


def test_speculation_counters_at_zero_are_an_honest_baseline(gate: Gate, arms: Make) -> None:
    pair = arms()
    nothing = {"num_speculative_tokens_seen": 0, "drafts": 0, "draft_tokens": 0, "accepted_tokens": 0}
    pair["baseline"]["low"]["speculation"] = nothing
    assert gate(pair)["verdict"] == "kept"
    pair["baseline"]["low"]["speculation"] = dict(nothing, num_speculative_tokens_seen=5)
    assert verdict_of(gate(pair)) == ("inconclusive", "invalid_speculation")


def answer_length(level: dict[str, Any], factor: float) -> None:
    """Other answers at the same speed."""
    for sample in level["samples"]:
        sample["output_tokens"] = round(sample["output_tokens"] * factor)
        sample["e2e_ms"] = sample["ttft_ms"] + sample["tpot_ms"] * (sample["output_tokens"] - 1)
    level["output_tokens"] = sum(sample["output_tokens"] for sample in level["samples"])
    level["duration_s"] = sum(sample["e2e_ms"] for sample in level["samples"]) / 1000 / level["concurrency"]
    level["throughput_tok_s"] = level["output_tokens"] / level["duration_s"]
    level["finished_boottime_s"] = level["started_boottime_s"] + level["duration_s"]


@pytest.mark.parametrize("level", ["low", "high"])
@pytest.mark.parametrize(("tokens", "code"), [(100, "kept"), (110, "kept"), (90, "kept"), (111, None), (89, None)])
def test_token_totals(gate: Gate, arms: Make, level: str, tokens: int, code: str | None) -> None:
    pair = arms()
    answer_length(pair["baseline"][level], 100 / 96)
    answer_length(pair["candidate"][level], tokens / 96)
    assert gate(pair)["outcome"]["code"] == (code or "invalid_unequal_tokens")


@pytest.mark.parametrize("level", ["low", "high"])
def test_failed_requests_of_the_candidate_roll_back(gate: Gate, arms: Make, level: str) -> None:
    pair = arms()
    target = pair["candidate"][level]
    failure = {"code": "cut", "text": "stream ended early"}
    target["samples"][2].update(error=failure, status="error", ttft_ms=None, tpot_ms=None, e2e_ms=None)
    target["errors"] = [{"code": "cut", "text": "stream ended early"}]
    target["completed"] -= 1
    # A level without one answer has no figures at all, and still says what went wrong.
    target["throughput_tok_s"] = target["tpot_ms_p50"] = None
    found = gate(pair)
    assert verdict_of(found) == ("rolled_back", "request_errors")
    assert "stream ended early" in found["outcome"]["text"]


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize(
    ("text", "flag"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ("\ufffd\ufffd\ufffd abc", "undecodable"),
        ("the cat " * 20, "repetitive"),
        ("!" * 200, "repetitive"),
    ],
)
def test_broken_output(gate: Gate, arms: Make, text: str, flag: str, early: bool) -> None:
    pair = arms(gain=0.9)
    for sample in pair["candidate"]["low"]["samples"][:9]:
        sample["text_head"] = text
    if early:
        pair["candidate"]["high"] = None
    found = gate(pair)
    assert verdict_of(found) == ("rolled_back", "output_broken")
    assert flag in found["outcome"]["text"]


def test_output_guard_needs_a_majority_and_a_sound_baseline(gate: Gate, arms: Make) -> None:
    half = arms()
    for sample in half["candidate"]["low"]["samples"][:8]:
        sample["text_head"] = ""
    assert gate(half)["verdict"] == "kept"
    both = arms()
    for arm in both.values():
        for sample in arm["low"]["samples"]:
            sample["text_head"] = "the cat " * 20
    found = gate(both)
    assert found["verdict"] == "kept"
    assert [warning["code"] for warning in found["warnings"]] == ["baseline_repetitive"]


def test_flags_of_the_benchmark_win_over_the_text(gate: Gate, arms: Make) -> None:
    pair = arms()
    for sample in pair["candidate"]["high"]["samples"]:
        sample["text_flags"] = ["undecodable"]
    for sample in pair["baseline"]["high"]["samples"]:
        sample["text_flags"] = []
    assert verdict_of(gate(pair)) == ("rolled_back", "output_broken")


def test_ordinary_text_is_not_repetitive(gate: Gate, arms: Make) -> None:
    pair = arms()
    texts = [
        "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n",
        '{"name": "a", "size": 3, "tags": ["x", "y"]}, {"name": "b", "size": 4, "tags": ["z"]}',
        "Yes.",
        "42",
        "今天的天气很好，我们去公园散步，然后回家做饭，晚上看一本关于历史的书，明天早上再去市场买新鲜的蔬菜和水果吧朋友们，好不好呢，一定要来。",
    ]
    for number, sample in enumerate(pair["candidate"]["low"]["samples"]):
        sample["text_head"] = texts[number % len(texts)]
    assert gate(pair)["verdict"] == "kept"


def test_too_few_answers(gate: Gate, arms: Make) -> None:
    assert verdict_of(gate(arms(), prompts=17)) == ("inconclusive", "invalid_too_few")
    assert verdict_of(gate(arms(), c8_requests=25)) == ("inconclusive", "invalid_too_few")
    few = arms()
    for arm in few.values():
        level = arm["low"]
        level["samples"] = level["samples"][:7]
        level["requests"] = level["completed"] = 7
        level["output_tokens"] = 7 * 96
        level["duration_s"] = sum(sample["e2e_ms"] for sample in level["samples"]) / 1000
    assert verdict_of(gate(few, prompts=1)) == ("inconclusive", "invalid_too_few")


def test_gain_by_wall_time_must_be_that_of_the_requests(gate: Gate, arms: Make) -> None:
    pair = arms(gain=0.32)
    level = pair["baseline"]["low"]
    # The window was longer than its requests: pauses made the baseline look slow.
    level["duration_s"] *= 1.2
    level["throughput_tok_s"] /= 1.2
    level["finished_boottime_s"] = level["started_boottime_s"] + level["duration_s"]
    found = gate(pair)
    assert verdict_of(found) == ("inconclusive", "invalid_arithmetic")
    assert "by wall time" in found["outcome"]["text"]


def test_more_accepted_than_drafted_is_no_acceptance(gate: Gate, arms: Make) -> None:
    pair = arms()
    counters = pair["candidate"]["high"]["speculation"]
    counters["accepted_tokens"] = counters["draft_tokens"] + 5
    counters["acceptance_rate"] = counters["accepted_tokens"] / counters["draft_tokens"]
    counters["acceptance_length"] = 1 + counters["accepted_tokens"] / counters["drafts"]
    found = gate(pair)
    assert verdict_of(found) == ("inconclusive", "invalid_arithmetic")
    assert "candidate.high.speculation.accepted_tokens" in found["outcome"]["text"]


def test_prefill_bound_is_said(gate: Gate, arms: Make) -> None:
    found = gate(arms(gain=0.2, ttft_ms=1000.0))
    assert [warning["code"] for warning in found["warnings"]] == ["prefill_bound"]
    assert gate(arms())["warnings"] == []
