# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Are two arms comparable, and what is the effect between them? PRIVATE to this collection."""

from __future__ import annotations

from typing import Any

from . import statistics
from .errors import InvalidMeasurement
from .levels import Level, Outline, Sample, Speculation

FEWEST = 8  # answers in a level; an interval from fewer says nothing
UNEQUAL_TOKENS = 0.10
AGREEMENT = 0.05  # gain by wall time and gain by request time, at one request at a time
EQUAL = ("prompts_sha256", "max_tokens", "temperature")


def check_arms(outlines: dict[str, dict[str, Outline]], profile: dict[str, Any], slot: str) -> None:
    """Are these the two arms of one comparison on one boot of one host? Raises InvalidMeasurement."""
    everything = [outline for arm in ("baseline", "candidate") for outline in outlines[arm].values()]
    for arm, levels in outlines.items():
        for level, outline in levels.items():
            if outline.arm != arm:
                raise _unequal(outline.where + ".arm", outline.arm, arm)
            expected = 1 if level == "low" else profile["concurrency_high"]
            if outline.concurrency != expected:
                raise _unequal(outline.where + ".concurrency", outline.concurrency, expected)
            if arm == "candidate" and outline.slot != slot:
                raise _unequal(outline.where + ".slot", outline.slot, slot)
            if arm == "baseline" and outline.slot == slot:
                text = f"{outline.where}.slot is {outline.slot}, the candidate's own"
                raise InvalidMeasurement("invalid_same_server", text)
            if outline.slot != levels["low"].slot:
                raise _unequal(outline.where + ".slot", outline.slot, levels["low"].slot)
    boots = sorted(set(outline.boot_id for outline in everything))
    if len(boots) > 1:
        text = "the host was rebooted between the measurements (boots {})".format(", ".join(boot[:8] for boot in boots))
        raise InvalidMeasurement("invalid_rebooted", text)
    for arm, levels in outlines.items():
        if len(set(outline.server for outline in levels.values())) > 1:
            text = f"the server of the {arm} was restarted between low and high"
            raise InvalidMeasurement("invalid_restarted", text)
    before, after = outlines["baseline"]["low"], outlines["candidate"]["low"]
    if before.server == after.server:
        text = f"process {before.server[1]} answered in both arms, so nothing was compared"
        raise InvalidMeasurement("invalid_same_server", text)
    ordered = sorted(everything, key=lambda outline: (outline.started_s, outline.finished_s))
    for first, second in zip(ordered, ordered[1:]):
        if first.arm != second.arm and second.started_s < first.finished_s:
            text = f"{first.where} and {second.where} were measured at the same time"
            raise InvalidMeasurement("invalid_contended", text)


def check_numbers(
    outlines: dict[str, dict[str, Outline]], profile: dict[str, Any], expected_k: int
) -> tuple[dict[str, tuple[Level, Level]], float | None, float | None]:
    """The figures of both arms by level, with the candidate's acceptance length and rate. Raises InvalidMeasurement."""
    length = rate = None
    for level, outline in outlines["baseline"].items():
        if Speculation(outline).present and (Speculation(outline).active or Speculation(outline).seen):
            text = f"{outline.where} counted speculation in the baseline"
            raise InvalidMeasurement("invalid_speculation", text)
        found = Speculation(outlines["candidate"][level])
        if not found.present or not found.drafts or not found.draft_tokens:
            raise InvalidMeasurement("invalid_speculation", f"{found.where} shows no speculation at all")
        if found.seen != expected_k:
            text = f"{found.where}.num_speculative_tokens_seen is {found.seen}, it should be {expected_k}"
            raise InvalidMeasurement("invalid_speculation", text)
        if found.draft_tokens > found.drafts * expected_k:
            text = (
                f"{found.where}.draft_tokens is {found.draft_tokens}, more than {found.drafts} drafts of {expected_k}"
            )
            raise InvalidMeasurement("invalid_arithmetic", text)
        if level == "low":
            length, rate = found.length, found.rate
    levels = {}
    for level, outline in outlines["baseline"].items():
        wanted = profile["prompts"] if level == "low" else profile["c8_requests"]
        pair = (Level(outline), Level(outlines["candidate"][level]))
        _check_pair(pair, profile, wanted)
        levels[level] = pair
    return levels, length, rate


def _check_pair(pair: tuple[Level, Level], profile: dict[str, Any], wanted: int) -> None:
    for level in pair:
        where = level.outline.where
        if level.foreign:
            text = f"{where}: {level.foreign} requests of somebody else were answered meanwhile"
            raise InvalidMeasurement("invalid_contended", text)
        fewest = max(FEWEST, wanted)
        if len(level.samples) < fewest:
            text = f"{where} has {len(level.samples)} answers, it takes at least {fewest}"
            raise InvalidMeasurement("invalid_too_few", text)
        for key in ("max_tokens", "temperature"):
            if getattr(level, key) != profile[key]:
                raise _unequal(f"{where}.{key}", getattr(level, key), profile[key])
    for key in EQUAL:
        if getattr(pair[0], key) != getattr(pair[1], key):
            raise _unequal(f"{pair[1].outline.where}.{key}", getattr(pair[1], key), getattr(pair[0], key))
    if _asked(pair[0]) != _asked(pair[1]):
        text = f"{pair[0].outline.where} and {pair[1].outline.where} answered different prompts"
        raise InvalidMeasurement("invalid_unequal_setup", text)
    change = pair[1].tokens / pair[0].tokens - 1.0
    if round(abs(change), 9) > UNEQUAL_TOKENS:
        before, after = pair
        text = (
            f"{before.outline.where} has {before.tokens} output tokens, {after.outline.where} has {after.tokens} "
            f"({change:+.1%}, allowed is {UNEQUAL_TOKENS:.0%})"
        )
        raise InvalidMeasurement("invalid_unequal_tokens", text)


def _asked(level: Level) -> list[tuple[str, str]]:
    return sorted((sample.kind, sample.prompt) for sample in level.samples)


def _unequal(field: str, value: Any, expected: Any) -> InvalidMeasurement:
    return InvalidMeasurement("invalid_unequal_setup", f"{field} is {value!r}, it should be {expected!r}")


class Comparison:
    """The effect between two comparable arms.

    ``levels``: {"low": (baseline, candidate), "high": the same or absent}. Ratios are rounded to 9 digits, so that a
    threshold that is met exactly is met.
    """

    def __init__(
        self, levels: dict[str, tuple[Level, Level]], resamples: int, length: float | None, rate: float | None
    ) -> None:
        self.levels = levels
        self.length, self.rate = length, rate
        resamples = max(200, resamples)  # the 2.5 % tail of fewer is a handful of values
        low = levels["low"]
        units = _units(low)
        self.n = len(low[0].samples)
        self.gain = round(low[1].throughput / low[0].throughput - 1.0, 9)
        by_request = statistics.service_gain(units)
        if abs(by_request - self.gain) > AGREEMENT * (1.0 + self.gain):
            text = (
                f"candidate.low: gain is {self.gain:+.1%} by wall time, {by_request:+.1%} by the time of its requests"
            )
            raise InvalidMeasurement("invalid_arithmetic", text)
        found = statistics.interval(units, statistics.service_gain, resamples)
        self.gain_ci = _rounded(statistics.widened(self.gain, found, by_request, +1))
        self.drop = round(1.0 - low[1].tpot_ms / low[0].tpot_ms, 9)
        timed = [unit for unit in units if unit.tpots[0] and unit.tpots[1]]
        if len(timed) < FEWEST:
            text = f"candidate.low: only {len(timed)} prompts have two tokens or more in both arms, it takes {FEWEST}"
            raise InvalidMeasurement("invalid_too_few", text)
        found = statistics.interval(timed, statistics.tpot_drop, resamples)
        self.drop_ci = _rounded(statistics.widened(self.drop, found, statistics.tpot_drop(timed), -1))
        self.prefill_share = sum(s.ttft_ms for s in low[0].samples) / sum(s.e2e_ms for s in low[0].samples)
        self.high_gain = None  # type: float | None
        self.high_ci = None  # type: tuple[float, float] | None
        self.n_high = None  # type: int | None
        if "high" in levels:
            high = levels["high"]
            units = _units(high)
            self.n_high = len(high[0].samples)
            self.high_gain = round(high[1].throughput / high[0].throughput - 1.0, 9)
            found = statistics.interval(units, statistics.service_gain, resamples)
            self.high_ci = _rounded(statistics.widened(self.high_gain, found, statistics.service_gain(units), +1))

    def low_text(self) -> str:
        """The effect at one request at a time, in one clause."""
        before, after = self.levels["low"]
        return (
            f"c=1 throughput {self.gain:+.1%} ({before.throughput:.1f} -> {after.throughput:.1f} tok/s, "
            f"95 % interval {self.gain_ci[0]:+.1%} to {self.gain_ci[1]:+.1%}, n={self.n}), "
            f"TPOT p50 {-self.drop:+.1%} ({before.tpot_ms:.2f} -> {after.tpot_ms:.2f} ms)"
        )

    def high_text(self) -> str:
        """The effect under concurrency, in one clause. Only where that was measured."""
        before, after = self.levels["high"]
        if self.high_gain is None:
            return "not measured under concurrency"
        return (
            f"c={before.outline.concurrency} throughput {self.high_gain:+.1%} "
            f"({before.throughput:.1f} -> {after.throughput:.1f} tok/s, n={self.n_high})"
        )

    def effect(self) -> dict[str, Any]:
        """The effect as data: ratios, and the number of requests in each arm."""
        return {
            "gain": self.gain,
            "gain_ci": list(self.gain_ci),
            "tpot_drop": self.drop,
            "tpot_drop_ci": list(self.drop_ci),
            "high_gain": self.high_gain,
            "high_gain_ci": list(self.high_ci) if self.high_ci else None,
            "n": self.n,
            "n_high": self.n_high,
            "prefill_share": round(self.prefill_share, 4),
            "prompts_sha256": self.levels["low"][0].prompts_sha256,
        }

    def summary(self) -> dict[str, Any]:
        """The figures of each arm and level that decided."""
        arms = {}  # type: dict[str, dict[str, Any]]
        for number, arm in enumerate(("baseline", "candidate")):
            arms[arm] = {"low": None, "high": None}
            for level, pair in self.levels.items():
                one = pair[number]
                arms[arm][level] = {
                    "throughput_tok_s": one.throughput,
                    "tpot_ms_p50": one.tpot_ms,
                    "ttft_ms_p50": one.ttft_ms,
                    "n": len(one.samples),
                    "concurrency": one.outline.concurrency,
                }
        arms["candidate"]["acceptance_length"] = self.length
        arms["candidate"]["acceptance_rate"] = self.rate
        return arms


def _units(pair: tuple[Level, Level]) -> list[statistics.Unit]:
    """What both arms measured, prompt by prompt, in the order of the names."""
    rows = {}  # type: dict[tuple[str, str], list[list[Sample]]]
    for number, level in enumerate(pair):
        for sample in level.samples:
            rows.setdefault((sample.kind, sample.prompt), [[], []])[number].append(sample)
    units = []
    for (kind, _prompt), (before, after) in sorted(rows.items()):
        tokens = (float(sum(one.tokens for one in before)), float(sum(one.tokens for one in after)))
        seconds = (sum(one.e2e_ms for one in before) / 1000.0, sum(one.e2e_ms for one in after) / 1000.0)
        units.append(statistics.Unit(kind, tokens, seconds, (_tpots(before), _tpots(after))))
    return units


def _tpots(samples: list[Sample]) -> list[float]:
    return [one.tpot_ms for one in samples if one.tpot_ms is not None]


def _rounded(interval: tuple[float, float]) -> tuple[float, float]:
    return round(interval[0], 9), round(interval[1], 9)
