# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The fleet report as data, from what each host recorded. PRIVATE to this collection.

Results come from hosts that may have died half-way: each field may be missing, None or of a wrong type. Such a field is
None in the report. The form is documented in docs/report.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

SCHEMA = "jetson.specdec/report/1"
# In the order in which a reader wants them counted.
STATES = (
    "kept", "rolled_back", "inconclusive", "planned", "skipped", "refused", "not_attempted", "unreachable", "failed",
    "broken",
)  # fmt: skip
FAIL_ON = ("refused", "unreachable", "not_attempted", "broken", "failed")
LEVEL_NUMBERS = ("throughput_tok_s", "tpot_ms_p50", "ttft_ms_p50")
EFFECT_NUMBERS = ("gain", "tpot_drop", "high_gain", "prefill_share")
INTERVALS = ("gain_ci", "tpot_drop_ci", "high_gain_ci")

NEXT_BY_CODE = {
    "band_10_30": "try a draft that agrees more often, or another num_speculative_tokens, and roll out again",
    "below_10": "leave it off, or try another draft or head; the same one again would only be a lottery ticket",
    "c8_regression": "leave it off here, or use it only where few requests run at a time",
    "interval_wide": "measure more prompts (gate.prompts) or find what disturbed the measurement, and roll out again",
    "tpot_short": "compare time to first token and answers of both arms before you roll out again",
    "foreign_server": "stop or move that server yourself; this collection touches only what it created",
    "oom": "lower gpu_memory_utilization, take a smaller draft, or go without speculation and tune memory",
}
NEXT_BY_STATE = {
    "refused": "correct what the sentence names, then: {again}",
    "unreachable": "when the host answers again: {again}",
    "not_attempted": "after the cause of the halt is fixed: {again}",
    "planned": "without --check: {again}",
}


def build(
    results: Iterable[Any],
    run: Mapping[str, Any] | None,
    members: Sequence[str] = (),
    fail_on: Sequence[str] = FAIL_ON,
) -> dict[str, Any]:
    """The report of a run.

    ``results``: what the hosts recorded. ``members``: all hosts of the run, in the order of the inventory; one that
    recorded nothing is reported as failed. ``fail_on``: states that make the run fail.
    """
    run = run if isinstance(run, Mapping) else {}
    recorded = {_text(result.get("host")) or "?": result for result in results if isinstance(result, Mapping)}
    order = [str(name) for name in members]
    order += [name for name in recorded if name not in order]
    hosts = [_row(name, recorded.get(name)) for name in order]
    counts = {state: sum(1 for row in hosts if row["state"] == state) for state in STATES}
    counts = {state: count for state, count in counts.items() if count}
    return {
        "schema": SCHEMA,
        "run": {
            "id": _text(run.get("id")),
            "started": _text(run.get("started")),
            "owner": _text(run.get("owner")),
            "profile": _profile(run, recorded.values()),
            "check": run.get("check") is True,
            "halted": _halted(run, hosts),
        },
        "sentence": sentence(counts),
        "counts": counts,
        "failing": [row["host"] for row in hosts if row["state"] in fail_on],
        "hosts": hosts,
    }


def sentence(counts: Mapping[str, int]) -> str:
    """The counts in one sentence, for instance ``6 hosts: 2 kept, 1 rolled back, 3 skipped``."""
    total = sum(counts.values())
    parts = ", ".join(f"{count} {state.replace('_', ' ')}" for state, count in counts.items())
    return f"{total} host{'' if total == 1 else 's'}{': ' + parts if parts else ''}"


def number(value: Any, positive: bool = False) -> float | None:
    """``value`` as a finite number, else None. With ``positive``, 0 and less are not measured either."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    found = float(value)
    return found if math.isfinite(found) and (found > 0 or not positive) else None


def _row(name: str, result: Mapping[str, Any] | None) -> dict[str, Any]:
    if result is None:
        result = {"state": "failed", "code": "no_result", "text": "the run ended before this host recorded a result"}
    state = _text(result.get("state"))
    if state not in STATES:
        result = {**result, "code": "no_result", "text": f"the host recorded an unknown state: {result.get('state')!r}"}
        state = "failed"
    code = _text(result.get("code"))
    plan = _dict(result.get("plan"))
    speculates = plan.get("decision") in (None, "speculate")
    row: dict[str, Any] = {"host": name, "state": state, "code": code, "text": _text(result.get("text"))}
    row["next"] = _text(result.get("next")) or _next(state, code, name)
    row["class"] = {key: _text(plan.get(key)) for key in ("family", "l4t")}
    row["runtime"] = _runtime(_dict(plan.get("runtime")))
    row["speculation"] = {
        "method": _text(plan.get("method")) if speculates else None,
        "draft": _text(plan.get("draft")) if speculates else None,
        "num_speculative_tokens": _count(plan.get("num_speculative_tokens")) if speculates else None,
        "slot": _text(result.get("slot")),
    }
    summary = _dict(result.get("summary"))
    row["baseline"] = _arm(_dict(summary.get("baseline")))
    row["candidate"] = _arm(_dict(summary.get("candidate")))
    row["effect"] = _effect(_dict(result.get("effect")))
    return row


def _arm(arm: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for level in ("low", "high"):
        figures = _dict(arm.get(level))
        found[level] = {key: number(figures.get(key), positive=True) for key in LEVEL_NUMBERS}
        found[level]["n"] = _count(figures.get("n"))
        found[level]["concurrency"] = _count(figures.get("concurrency"))
    for key in ("acceptance_length", "acceptance_rate"):
        found[key] = number(arm.get(key))
    return found


def _effect(effect: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {key: number(effect.get(key)) for key in EFFECT_NUMBERS}
    for key in INTERVALS:
        ends = effect.get(key)
        pair = [number(end) for end in ends] if isinstance(ends, (list, tuple)) and len(ends) == 2 else [None]
        found[key] = None if None in pair else pair
    found["n"], found["n_high"] = _count(effect.get("n")), _count(effect.get("n_high"))
    found["prompts_sha256"] = _text(effect.get("prompts_sha256"))
    return found


def _runtime(runtime: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {key: _text(runtime.get(key)) for key in ("type", "path", "image", "vllm_version")}
    found["operator_decision"] = runtime.get("operator_decision") is True
    found["validated_by"] = _text(runtime.get("validated_by"))
    return found


def _next(state: str, code: str | None, host: str) -> str | None:
    again = f"ansible-playbook rollout-specdec.yml -l {host}"
    if state in NEXT_BY_STATE:
        return NEXT_BY_STATE[state].format(again=again)
    return NEXT_BY_CODE.get(code or "") if state not in ("kept", "broken") else None


def _profile(run: Mapping[str, Any], results: Iterable[Mapping[str, Any]]) -> str | None:
    given = run.get("profile")
    if given:
        return _text(given.get("name")) if isinstance(given, Mapping) else _text(given)
    names = {_text(_dict(_dict(result.get("plan")).get("gate")).get("name")) for result in results}
    return ", ".join(sorted(name for name in names if name)) or None


def _halted(run: Mapping[str, Any], hosts: Sequence[Mapping[str, Any]]) -> str | None:
    given = run.get("halted")
    if given and given is not True:
        return _text(given)
    stopped = [row for row in hosts if row["state"] == "not_attempted"]
    if not stopped and not given:
        return None
    reasons = sorted({row["text"] for row in stopped if row["text"]})
    return f"{len(stopped)} not attempted: " + ("; ".join(reasons) or "no reason was recorded")


def _dict(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, (Mapping, list, tuple)):
        return None
    return " ".join(str(value).split()) or None


def _count(value: Any) -> int | None:
    found = number(value, positive=True)
    return None if found is None else int(found)
