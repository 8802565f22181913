# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The receipt of a verdict: what a confirm demands. PRIVATE to this collection."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

from .profile import sha256 as profile_sha256

RECEIPT_SCHEMA = "jetson.specdec/receipt/1"


def receipt(verdict: str, slot: str, baseline: Any, candidate: Any, profile: dict[str, Any]) -> dict[str, Any]:
    """Which slot was judged, on which measurement of which boot, by which thresholds.

    ``boot_id`` and ``finished_boottime_s`` (CLOCK_BOOTTIME of the host) are those of the candidate's last level,
    None where it has none. Works on any input: a verdict on a broken measurement has one, too, and it confirms nothing.
    """
    levels = [level for level in _levels(candidate) if isinstance(level, dict)]
    last = levels[-1] if levels else {}
    boot_id, finished = last.get("boot_id"), last.get("finished_boottime_s")
    if isinstance(finished, bool) or not isinstance(finished, (int, float)) or not 0 <= finished <= 1e15:
        finished = None
    return {
        "schema": RECEIPT_SCHEMA,
        "verdict": verdict,
        "slot": slot,
        "boot_id": boot_id if isinstance(boot_id, str) else None,
        "finished_boottime_s": None if finished is None else float(finished),
        "samples_sha256": _sha256([_levels(baseline), _levels(candidate)]),
        "profile_sha256": profile_sha256(profile),
    }


def _levels(arm: Any) -> list[Any]:
    return [arm.get("low"), arm.get("high")] if isinstance(arm, dict) else [arm]


def _sha256(value: Any) -> str:
    return hashlib.sha256(json.dumps(_canonical(value), separators=(",", ":")).encode("utf-8")).hexdigest()


def _canonical(value: Any) -> Any:
    """``value`` in one form that JSON can hold whatever it was: sorted pairs for dicts, text for the odd ones."""
    if isinstance(value, dict):
        return [[str(key), _canonical(value[key])] for key in sorted(value, key=str)]
    if isinstance(value, (list, tuple)):
        return [_canonical(item) for item in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return repr(value)
