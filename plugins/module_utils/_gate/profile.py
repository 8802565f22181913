# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The thresholds of a gate, as data. PRIVATE to this collection."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

from .errors import GateError

# name: (default, lowest, highest, whole number). The defaults of the four thresholds are those of NVIDIA's skill for
# speculative decoding on Jetson, but for high_margin, which is our reading of "regresses" (0 is the literal one).
NUMBERS = {
    "prompts": (32, 1, 10000, True),
    "max_tokens": (256, 2, 1000000, True),
    "c8_requests": (64, 1, 100000, True),
    "concurrency_high": (8, 2, 1024, True),
    "warmup_min": (8, 0, 10000, True),
    "warmup_max": (24, 0, 10000, True),
    "warmup_tolerance": (0.03, 0.0, 1.0, False),
    "min_gain": (0.30, 0.0, 10.0, False),
    "min_tpot_drop": (0.20, 0.0, 1.0, False),
    "rollback_below": (0.10, -1.0, 10.0, False),
    "high_margin": (0.03, 0.0, 1.0, False),
    "temperature": (0.0, 0.0, 10.0, False),
    "resamples": (2000, 1, 100000, True),
}  # type: dict[str, tuple[float, float, float, bool]]
BAND_POLICIES = ("rollback",)


def normalise(settings: dict[str, Any] | None) -> dict[str, Any]:
    """A complete profile from ``settings``, with every default filled in.

    Raises GateError ``bad_profile`` that names the field: an unknown one, a wrong type, a value out of its range.
    """
    given = dict(settings or {})
    profile = {
        "name": given.pop("name", None) or "default",
        "band_policy": given.pop("band_policy", None) or "rollback",
    }
    for name in ("name", "band_policy"):
        if not isinstance(profile[name], str):
            raise _bad(name, profile[name], "must be text")
    if profile["band_policy"] not in BAND_POLICIES:
        raise _bad("band_policy", profile["band_policy"], "must be one of " + ", ".join(BAND_POLICIES))
    for name, (default, lowest, highest, whole) in NUMBERS.items():
        value = given.pop(name, None)
        profile[name] = default if value is None else _number(name, value, lowest, highest, whole)
    if given:
        name = sorted(str(key) for key in given)[0]
        raise _bad(name, given.get(name), "is not a field of a gate profile")
    if profile["rollback_below"] > profile["min_gain"]:
        raise _bad("rollback_below", profile["rollback_below"], "must not be above min_gain, else the band is empty")
    return profile


def sha256(profile: dict[str, Any]) -> str:
    """Digest of a normalised profile, so that a receipt tells which thresholds were passed."""
    canonical = json.dumps(profile, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()


def _number(name: str, value: Any, lowest: float, highest: float, whole: bool) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _bad(name, value, "must be a number")
    if isinstance(value, float) and not math.isfinite(value):
        raise _bad(name, value, "must be a finite number")
    if not lowest <= value <= highest:
        raise _bad(name, value, f"must be between {lowest:g} and {highest:g}")
    if whole and value != int(value):
        raise _bad(name, value, "must be a whole number")
    return int(value) if whole else float(value)


def _bad(name: str, value: Any, problem: str) -> GateError:
    return GateError("bad_profile", f"profile.{name} {problem}, not {value!r}; nothing was decided")
