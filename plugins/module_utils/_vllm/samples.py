# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""From completions to the record of a level. PRIVATE to this collection.

Nothing here is ever 0 for "not measured": a figure that could not be taken is None.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Sequence

from .client import Completion

HEAD_CHARACTERS = 200
SHORTEST_JUDGED = 16  # words; less text can't be called repetitive
REPETITIVE_SHARE = 0.5
UNDECODABLE_SHARE = 0.05


def median(values: Sequence[float]) -> float | None:
    """The middle value, the mean of the two middle ones for an even count; None for none."""
    ordered = sorted(values)
    if not ordered:
        return None
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def milliseconds(seconds: float | None) -> float | None:
    """s to ms, to the microsecond."""
    return None if seconds is None else round(seconds * 1000.0, 3)


def text_flags(text: str) -> list[str]:
    """What is wrong with an output as text: ``empty``, ``undecodable``, ``repetitive``.

    ``undecodable``: more than 5 % replacement characters. ``repetitive``: one cycle of one to four words fills more
    than half of the text in one piece.
    """
    if not text.strip():
        return ["empty"]
    flags = []
    if text.count("\ufffd") > UNDECODABLE_SHARE * len(text):
        flags.append("undecodable")
    words = text.split()
    if len(words) >= SHORTEST_JUDGED and longest_cycle_share(words) > REPETITIVE_SHARE:
        flags.append("repetitive")
    return flags


def longest_cycle_share(words: Sequence[str], longest_period: int = 4) -> float:
    """Share of ``words`` in the longest unbroken stretch that repeats with a period of 1 to ``longest_period``."""
    best = 0
    for period in range(1, longest_period + 1):
        run = 0
        for at in range(period, len(words)):
            run = run + 1 if words[at] == words[at - period] else 0
            if run >= period:  # it came round once at least
                best = max(best, run + period)
    return best / len(words) if words else 0.0


def sample(prompt: dict[str, Any], done: Completion, window_begun_s: float) -> dict[str, Any]:
    """The record of one request, as a level holds it; the text itself stays out of it."""
    error = done.error
    return {
        "prompt": prompt["id"],
        "kind": prompt["kind"],
        "status": done.status,
        "sent_s": round(done.sent_s - window_begun_s, 4),
        "ttft_ms": milliseconds(done.ttft_s),
        "tpot_ms": milliseconds(done.tpot_s) if error is None else None,
        "e2e_ms": milliseconds(done.latency_s) if error is None else None,
        "chunks": len(done.chunk_times_s),
        "prompt_tokens": done.prompt_tokens,
        "output_tokens": done.output_tokens,
        "finish_reason": done.finish_reason,
        "error": error,
        "text_sha256": hashlib.sha256(done.text.encode("utf-8", "surrogatepass")).hexdigest(),
        "text_head": done.text[:HEAD_CHARACTERS],
        "text_flags": text_flags(done.text) if error is None else [],
    }


def summary(completions: Sequence[Completion], window_s: float) -> dict[str, Any]:
    """The figures of a level over its requests that completed; ``window_s`` is its wall time in s.

    throughput_tok_s = output tokens / wall time; ttft, tpot and e2e are medians over requests; itl is the median gap
    between chunks, which under speculation is not the gap between tokens.
    """
    good = [done for done in completions if done.error is None]
    tokens = sum(done.output_tokens or 0 for done in good)
    gaps = [b - a for done in good for a, b in zip(done.chunk_times_s, done.chunk_times_s[1:])]
    first = [done.ttft_s for done in good if done.ttft_s is not None]
    whole = [done.latency_s for done in good if done.latency_s is not None]
    each = [done.tpot_s for done in good if done.tpot_s is not None]
    return {
        "completed": len(good),
        "duration_s": round(window_s, 4),
        "output_tokens": tokens if good else None,
        "throughput_tok_s": round(tokens / window_s, 3) if good and window_s > 0 else None,
        "ttft_ms_p50": milliseconds(median(first)),
        "tpot_ms_p50": milliseconds(median(each)),
        "itl_ms_p50": milliseconds(median(gaps)),
        "e2e_ms_p50": milliseconds(median(whole)),
        "prefill_share": round(sum(first) / sum(whole), 4) if whole and sum(whole) > 0 else None,
    }


def prompts_sha256(prompts: Sequence[dict[str, Any]]) -> str:
    """Identity of a prompt set, order included."""
    canonical = json.dumps([[row["id"], row["kind"], row["text"]] for row in prompts], separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()
