# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The report as data and as text, from complete, half and broken results."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.jetson.specdec.plugins.plugin_utils._report import STATES, build, sentence
from ansible_collections.jetson.specdec.plugins.plugin_utils._report_text import console, markdown

RUN = {"id": "20261201-101500-a91f", "started": "2026-12-01T10:15:00Z", "owner": "ops", "check": False}


def level(tok_s: float, tpot_ms: float, n: int, concurrency: int) -> dict[str, Any]:
    return {
        "throughput_tok_s": tok_s,
        "tpot_ms_p50": tpot_ms,
        "ttft_ms_p50": 50.0,
        "n": n,
        "concurrency": concurrency,
    }


def measured(host: str = "thor-01", **changes: Any) -> dict[str, Any]:
    """What a kept host records."""
    result = {
        "host": host,
        "state": "kept",
        "code": "kept",
        "text": "c=1 throughput +69.6% (31.2 -> 52.9 tok/s, n=16)",
        "next": None,
        "slot": "3f2c90ab11de",
        "plan": {
            "decision": "speculate",
            "family": "thor",
            "l4t": "38.4.0",
            "method": "eagle3",
            "draft": "/opt/models/head",
            "num_speculative_tokens": 5,
            "gate": {"name": "lab"},
            "runtime": {"type": "native", "path": "/opt/vllm/bin/vllm", "vllm_version": "0.20.1", "image": None},
        },
        "effect": {
            "gain": 0.696,
            "gain_ci": [0.65, 0.74],
            "tpot_drop": 0.424,
            "tpot_drop_ci": [0.4, 0.45],
            "high_gain": 0.061,
            "high_gain_ci": [0.03, 0.09],
            "n": 16,
            "n_high": 24,
            "prompts_sha256": "77ab12cd" * 8,
        },
        "summary": {
            "baseline": {"low": level(31.2, 30.9, 16, 1), "high": level(128.0, 60.0, 24, 8)},
            "candidate": {
                "low": level(52.9, 17.8, 16, 1),
                "high": level(135.8, 55.0, 24, 8),
                "acceptance_length": 3.1,
                "acceptance_rate": 0.42,
            },
        },
    }
    return {**result, **changes}


def ended(host: str, state: str, code: str, text: str = "why", **more: Any) -> dict[str, Any]:
    return {"host": host, "state": state, "code": code, "text": text, **more}


def text_of(report: dict[str, Any], path: str | None = None) -> str:
    return "\n".join(line for line, _state in console(report, path))


def row_of(report: dict[str, Any], host: str) -> str:
    return next(line for line, _state in console(report) if line.startswith(host + " "))


def test_a_row_has_every_number_with_unit_and_n() -> None:
    report = build([measured()], RUN)
    header = next(line for line, _state in console(report) if line.startswith("HOST"))
    row = row_of(report, "thor-01")
    for title, cell in [
        ("CLASS", "thor 38.4.0"),
        ("vLLM", "0.20.1"),
        ("METHOD", "eagle3 K=5"),
        ("c=1 tok/s", "31.2 -> 52.9"),
        ("GAIN", "+69.6% [+65,+74]"),
        ("TPOT p50 ms", "30.9 -> 17.8"),
        ("CHANGE", "-42.4%"),
        ("c=8", "+6.1%"),
        ("ACCEPT", "3.10/6"),
        ("n", "16/24"),
        ("VERDICT", "KEPT"),
    ]:
        assert title in header
        assert cell in row
        assert row.index(cell) >= header.index(title) or title == "n"
    assert max(len(line) for line, _state in console(report)) <= 140


def test_counts_come_first_and_the_order_is_the_inventorys() -> None:
    results = [ended("c", "skipped", "family"), measured("b"), ended("a", "rolled_back", "below_10")]
    report = build(results, RUN, members=["a", "b", "c"])
    assert report["sentence"] == "3 hosts: 1 kept, 1 rolled back, 1 skipped"
    lines = [line for line, _state in console(report) if line]
    assert lines[0] == report["sentence"]
    assert "run 20261201-101500-a91f" in lines[1] and "profile lab" in lines[1] and "prompts 77ab12cd" in lines[1]
    assert [row["host"] for row in report["hosts"]] == ["a", "b", "c"]
    starts = [line.split()[0] for line in lines if line.startswith(("a ", "b ", "c "))]
    assert starts == ["a", "b", "c"]


def test_not_measured_is_a_dash_and_null_never_zero() -> None:
    zeros = measured("zero")
    for arm in ("baseline", "candidate"):
        zeros["summary"][arm]["low"].update(throughput_tok_s=0.0, tpot_ms_p50=0, ttft_ms_p50=float("nan"))
    zeros["effect"] = dict.fromkeys(zeros["effect"])
    zeros["summary"]["candidate"]["acceptance_length"] = None
    report = build([measured(), zeros], RUN)
    found = report["hosts"][1]
    assert found["baseline"]["low"]["throughput_tok_s"] is None
    assert found["candidate"]["low"]["ttft_ms_p50"] is None
    assert found["effect"]["gain"] is None
    row = row_of(report, "zero")
    assert "0.0" not in row.replace("38.4.0", "") and row.split()[-2:] == ["-", "KEPT"]


def test_columns_that_no_host_fills_are_left_out() -> None:
    report = build([ended("nano-01", "skipped", "family", plan={"family": "orin_nano", "l4t": "36.4.4"})], RUN)
    header = next(line for line, _state in console(report) if line.startswith("HOST"))
    assert header.split() == ["HOST", "CLASS,", "L4T", "VERDICT"]


def test_early_end_shows_what_there_is() -> None:
    early = measured(state="rolled_back", code="below_10")
    early["effect"].update(high_gain=None, high_gain_ci=None, n_high=None)
    early["summary"]["candidate"]["high"] = None
    row = row_of(build([early], RUN), "thor-01")
    assert "16/-" in row and row.endswith("ROLLED BACK")


def test_reason_operator_decision_and_next_stand_under_the_row() -> None:
    agx = measured("agx-01")
    agx["plan"]["runtime"].update(operator_decision=True, validated_by="bench team")
    agx.update(state="broken", code="rollback_failed", next="on the host: systemctl restart vllm.service")
    text = text_of(build([agx], RUN))
    assert "\n    rollback_failed: c=1 throughput" in text
    assert "\n    runtime: native /opt/vllm/bin/vllm: the operator's decision, from the inventory" in text
    assert "validated by bench team" in text
    assert "\n    next: on the host: systemctl restart vllm.service" in text


@pytest.mark.parametrize("state", ["refused", "unreachable", "not_attempted"])
def test_hosts_to_come_back_to_have_a_command(state: str) -> None:
    row = build([ended("agx-09", state, "why")], RUN)["hosts"][0]
    assert row["next"].endswith("ansible-playbook rollout-specdec.yml -l agx-09")


def test_kept_has_no_next() -> None:
    assert build([measured()], RUN)["hosts"][0]["next"] is None


def test_check_mode_says_so() -> None:
    report = build([ended("a", "planned", "check_mode", plan=measured()["plan"])], {**RUN, "check": True})
    assert "check: nothing was changed" in text_of(report)
    assert "**check: nothing was changed**" in markdown(report)
    assert "eagle3 K=5" in row_of(report, "a")
    assert "check:" not in text_of(build([measured()], RUN))


def test_halt_is_said_from_the_run_or_from_its_hosts() -> None:
    waiting = ended("b", "not_attempted", "halted", "The run was halted by a")
    report = build([ended("a", "broken", "rollback_failed"), waiting], RUN)
    assert "HALTED: 1 not attempted: The run was halted by a" in text_of(report)
    assert "needs you: a, b" in text_of(report)
    given_text = build([measured()], {**RUN, "halted": "two faults in class thor"})
    assert "HALTED: two faults in class thor" in text_of(given_text)
    assert build([measured()], RUN)["run"]["halted"] is None


def test_member_without_a_result_is_failed() -> None:
    report = build([measured()], RUN, members=["thor-01", "ghost"])
    assert report["hosts"][1]["state"] == "failed" and report["hosts"][1]["code"] == "no_result"
    assert report["failing"] == ["ghost"]


def test_unknown_state_is_failed_and_quoted() -> None:
    report = build([ended("a", "wonderful", "x")], RUN)
    assert report["hosts"][0]["state"] == "failed" and "wonderful" in report["hosts"][0]["text"]


@pytest.mark.parametrize("state", STATES)
def test_exit_policy(state: str) -> None:
    bad = state in ("refused", "unreachable", "not_attempted", "failed", "broken")
    assert build([ended("a", state, "x")], RUN)["failing"] == (["a"] if bad else [])
    assert build([ended("a", state, "x")], RUN, fail_on=[state])["failing"] == ["a"]


def test_skipped_host_shows_no_method_that_it_does_not_run() -> None:
    plan = {**measured()["plan"], "decision": "skip"}
    row = build([ended("a", "skipped", "headroom", plan=plan)], RUN)["hosts"][0]
    assert row["speculation"]["method"] is None and row["class"]["family"] == "thor"


def test_several_profiles_are_all_named() -> None:
    other = measured("thor-02")
    other["plan"] = {**other["plan"], "gate": {"name": "strict"}}
    assert build([measured(), other], RUN)["run"]["profile"] == "lab, strict"
    assert build([measured()], {**RUN, "profile": {"name": "mine"}})["run"]["profile"] == "mine"


def test_markdown_is_a_table_that_text_cannot_break() -> None:
    odd = ended("a|b", "skipped", "x", "a | b\nc `d` <script>")
    text = markdown(build([odd, measured()], RUN))
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.replace("\\|", "").count("|") for line in table}) == 1
    assert "<script>" not in text.replace("\\<", "") and "a \\| b c" in text


def test_long_sentences_wrap_and_lose_nothing() -> None:
    long = "word " * 60 + "end"
    lines = [line for line, _state in console(build([ended("a", "failed", "x", long)], RUN))]
    assert max(len(line) for line in lines) <= 120
    assert " ".join(" ".join(lines).split()).count("word") == 60


@pytest.mark.parametrize(
    ("counts", "expected"),
    [({}, "0 hosts"), ({"kept": 1}, "1 host: 1 kept"), ({"rolled_back": 2}, "2 hosts: 2 rolled back")],
)
def test_sentence(counts: dict[str, int], expected: str) -> None:
    assert sentence(counts) == expected


JUNK = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"host": st.one_of(st.just("a"), JUNK)},
            optional={name: JUNK for name in ("state", "code", "text", "next", "plan", "effect", "summary", "slot")},
        ),
        max_size=3,
    ),
    st.one_of(st.none(), st.dictionaries(st.sampled_from(["id", "owner", "halted", "profile", "check"]), JUNK)),
)
def test_any_result_can_be_reported(results: list[dict[str, Any]], run: dict[str, Any] | None) -> None:
    report = build(results, run, members=["a"])
    assert report["hosts"][0]["host"] == "a"
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert console(report) and markdown(report)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(["plan", "effect", "summary"]), st.data())
def test_any_field_of_a_result_may_be_junk(part: str, data: st.DataObject) -> None:
    result = measured()
    key = data.draw(st.sampled_from(sorted(result[part])))
    result[part] = {**result[part], key: data.draw(JUNK)}
    report = build([result], RUN)
    json.dumps(report, allow_nan=False)
    assert "thor-01" in text_of(report)
