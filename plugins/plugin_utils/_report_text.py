# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The fleet report as text: a table for the console, Markdown for a ticket. PRIVATE to this collection."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

NOT_MEASURED = "-"
WIDTH = 120  # of the sentences under a row; the table itself is as wide as its columns
GAP = "  "


def console(report: dict[str, Any], path: str | None = None) -> list[tuple[str, str | None]]:
    """Lines for a terminal, each with the state of the host that it is about, None for the others.

    ``path``: where the files of the report lie, if anywhere.
    """
    lines: list[tuple[str, str | None]] = [("", None), (report["sentence"], None), (_about(report), None)]
    if report["run"]["check"]:
        lines.append(("check: nothing was changed", None))
    lines.append(("", None))
    rows, columns = report["hosts"], _shown(report["hosts"])
    cells = [[cell(row) for _title, cell in columns] for row in rows]
    titles = [title for title, _cell in columns]
    widths = [max(len(line[at]) for line in [titles, *cells]) for at in range(len(titles))]
    lines.append((_padded(titles, widths), None))
    for row, line in zip(rows, cells):
        lines.append((_padded(line, widths), row["state"]))
        for label, text in _notes(row):
            lines += [(wrapped, None) for wrapped in _wrapped(label, text)]
    lines.append(("", None))
    if report["run"]["halted"]:
        lines += [(line, None) for line in _wrapped("HALTED", report["run"]["halted"], indent="")]
    if report["failing"]:
        lines += [(line, None) for line in _wrapped("needs you", ", ".join(report["failing"]), indent="")]
    if path:
        lines.append((f"report: {path}", None))
    return lines


def markdown(report: dict[str, Any]) -> str:
    """The same for a ticket, a wiki or a mail."""
    run, rows, columns = report["run"], report["hosts"], _shown(report["hosts"])
    lines = [f"# {report['sentence']}", "", _about(report), ""]
    if run["check"]:
        lines += ["**check: nothing was changed**", ""]
    if run["halted"]:
        lines += [f"**Halted.** {_plain(run['halted'])}", ""]
    lines.append("| " + " | ".join(title for title, _cell in columns) + " |")
    lines.append("|" + " --- |" * len(columns))
    for row in rows:
        lines.append("| " + " | ".join(_plain(cell(row)) for _title, cell in columns) + " |")
    lines += ["", "## Why", ""]
    for row in rows:
        notes = "".join(f"\n  - {label}: {_plain(text)}" for label, text in _notes(row)[1:])
        lines.append(f"- **{_plain(row['host'])}** {_verdict(row)}, {_plain(_notes(row)[0][1])}{notes}")
    return "\n".join([*lines, "", _legend(), ""])


def _about(report: dict[str, Any]) -> str:
    run = report["run"]
    hashes = {row["effect"]["prompts_sha256"] for row in report["hosts"]} - {None}
    parts = [
        ("run", run["id"]),
        ("profile", run["profile"]),
        ("prompts", ", ".join(sorted(one[:8] for one in hashes))),
        ("started", run["started"]),
        ("by", run["owner"]),
    ]
    return GAP.join(f"{label} {text}" for label, text in parts if text)


def _legend() -> str:
    return (
        "c=1 is one request at a time; n is the number of requests in each arm, at c=1 and under concurrency. Gain is "
        "of output tokens per second of wall time, with its 95 % interval. TPOT p50 is the median time per token, "
        "CHANGE its change. ACCEPT is tokens per step, of the most that are possible. A dash was not measured."
    )


def _columns(rows: Sequence[dict[str, Any]]) -> list[tuple[str, Callable[[dict[str, Any]], str], bool]]:
    """(title, cell of a row, shown only where a host has it)."""
    return [
        ("HOST", lambda row: row["host"], False),
        ("CLASS, L4T", _class, False),
        ("vLLM", lambda row: row["runtime"]["vllm_version"] or NOT_MEASURED, True),
        ("METHOD", _method, True),
        ("c=1 tok/s", lambda row: _change(row, "throughput_tok_s", 1), True),
        ("GAIN [95 %]", _gain, True),
        ("TPOT p50 ms", lambda row: _change(row, "tpot_ms_p50", 1), True),
        ("CHANGE", lambda row: _percent(_negative(row["effect"]["tpot_drop"])), True),
        (_high_title(rows), lambda row: _percent(row["effect"]["high_gain"]), True),
        ("ACCEPT", _acceptance, True),
        ("n", _requests, True),
        ("VERDICT", _verdict, False),
    ]


def _shown(rows: Sequence[dict[str, Any]]) -> list[tuple[str, Callable[[dict[str, Any]], str]]]:
    """The columns that some host has something for."""
    return [
        (title, cell)
        for title, cell, optional in _columns(rows)
        if not optional or any(cell(row) != NOT_MEASURED for row in rows)
    ]


def _high_title(rows: Sequence[dict[str, Any]]) -> str:
    found = {row["baseline"]["high"]["concurrency"] for row in rows} - {None}
    return f"c={found.pop()}" if len(found) == 1 else "c=high"


def _class(row: dict[str, Any]) -> str:
    return " ".join(part for part in (row["class"]["family"], row["class"]["l4t"]) if part) or NOT_MEASURED


def _method(row: dict[str, Any]) -> str:
    speculation = row["speculation"]
    if not speculation["method"]:
        return NOT_MEASURED
    k = speculation["num_speculative_tokens"]
    return f"{speculation['method']} K={k}" if k else speculation["method"]


def _change(row: dict[str, Any], key: str, digits: int) -> str:
    values = [row[arm]["low"][key] for arm in ("baseline", "candidate")]
    if values == [None, None]:
        return NOT_MEASURED
    return " -> ".join(NOT_MEASURED if value is None else f"{value:.{digits}f}" for value in values)


def _gain(row: dict[str, Any]) -> str:
    gain, ends = row["effect"]["gain"], row["effect"]["gain_ci"]
    if gain is None:
        return NOT_MEASURED
    return _percent(gain) + (f" [{100 * ends[0]:+.0f},{100 * ends[1]:+.0f}]" if ends else "")


def _percent(value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{100 * value:+.1f}%"


def _negative(value: float | None) -> float | None:
    return None if value is None else -value


def _acceptance(row: dict[str, Any]) -> str:
    length, k = row["candidate"]["acceptance_length"], row["speculation"]["num_speculative_tokens"]
    if length is None:
        return NOT_MEASURED
    return f"{length:.2f}" + (f"/{k + 1}" if k else "")


def _requests(row: dict[str, Any]) -> str:
    counts = [row["effect"][key] for key in ("n", "n_high")]
    return "/".join(NOT_MEASURED if count is None else str(count) for count in counts) if any(counts) else NOT_MEASURED


def _verdict(row: dict[str, Any]) -> str:
    return row["state"].replace("_", " ").upper()


def _notes(row: dict[str, Any]) -> list[tuple[str, str]]:
    """What stands under a row: the reason always, then what there is."""
    text = row["text"] or "no reason was recorded"
    notes = [(row["code"] or row["state"], text)]
    runtime = row["runtime"]
    if runtime["operator_decision"]:
        what = " ".join(part for part in (runtime["type"], runtime["path"] or runtime["image"]) if part)
        who = f", validated by {runtime['validated_by']}" if runtime["validated_by"] else ""
        notes.append(("runtime", f"{what or 'named'}: the operator's decision, from the inventory{who}"))
    if row["next"]:
        notes.append(("next", row["next"]))
    return notes


def _padded(cells: Sequence[str], widths: Sequence[int]) -> str:
    return GAP.join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip()


def _wrapped(label: str, text: str, indent: str = "    ") -> list[str]:
    first = f"{indent}{label}: "
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _plain(text: str) -> str:
    """Text that Markdown shows as it is, in one line."""
    for sign in "\\`*_|<>[]#":
        text = text.replace(sign, "\\" + sign)
    return " ".join(text.split())
