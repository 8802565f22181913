# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Two measured arms in, one verdict out: the decision table. PRIVATE to this collection.

Pure: no clock, no file, no chance but the seeded one of the bootstrap. The order of the steps matters, the first that
matches decides:

====  ==============================================================================  ==================================
step  condition                                                                       verdict and code
====  ==============================================================================  ==================================
 1    not the two arms of one comparison: fields missing, other slot, rebooted,       inconclusive, ``invalid_*``
      one server for both
 2    requests of the candidate failed while all of the baseline's were answered      rolled_back, ``request_errors``
 3    answers of the candidate are empty, undecodable or repetitive, the baseline's   rolled_back, ``output_broken``
      are not
 4    figures missing, zero or at odds with each other; arms asked unequal things     inconclusive, ``invalid_*``
      or answered unequal amounts; speculation off in the candidate or on in the
      baseline; gain >= min_gain with a TPOT drop more than 5 points short of it
 5    high level: gain below -high_margin, or its whole interval below 0              rolled_back, ``c8_regression``
 6    gain >= min_gain, TPOT drop >= min_tpot_drop, lower end of the gain above       kept
      min_gain - 5 points, lower end of the drop above 0
 7    gain < rollback_below and its upper end < min_gain                              rolled_back, ``below_10``
 8    anything else                                                                   inconclusive, ``band_10_30``,
                                                                                      ``tpot_short``, ``interval_wide``
====  ==============================================================================  ==================================

An early look has no high level of the candidate yet. It may only say rolled_back (2, 3, 7) or inconclusive (1, 4), else
``continue``.
"""

from __future__ import annotations

from typing import Any

from . import profile as profiles
from .comparison import Comparison, check_arms, check_numbers
from .errors import GateError, InvalidMeasurement
from .levels import Outline, missing
from .receipt import receipt

ALLOWANCE = 0.05  # median TPOT and total throughput may differ by this much on skewed answers
PREFILL_BOUND = 0.30  # share of a request before its first token, above which speculation has little to speed up
BROKEN_SHARE = 0.5
VERDICTS = ("kept", "rolled_back", "inconclusive", "continue")


def decide(
    baseline: dict[str, Any],
    candidate: dict[str, Any],
    profile: dict[str, Any] | None,
    slot: str,
    num_speculative_tokens: int,
) -> dict[str, Any]:
    """The verdict on ``candidate`` against ``baseline``, each ``{"low": level, "high": level or None}``.

    ``profile``: thresholds, see ``profile.normalise``. ``slot``: digest that the candidate must have been measured as.
    ``num_speculative_tokens``: K that it must have speculated with.

    Returns ``{verdict, outcome: {ok, code, text}, effect, summary, warnings, receipt}``. Gains and drops are ratios
    (0.3 is 30 %), throughput is in tokens/s, times are in ms; what could not be measured is None.
    Raises GateError only for a wrong ``profile``, ``slot`` or K. A bad measurement is a verdict: ``inconclusive``.
    """
    settled = profiles.normalise(profile)
    if not isinstance(slot, str) or not slot:
        raise GateError("bad_slot", f"slot must be the digest of the candidate, not {slot!r}; nothing was decided")
    if (
        isinstance(num_speculative_tokens, bool)
        or not isinstance(num_speculative_tokens, int)
        or num_speculative_tokens < 1
    ):
        raise GateError(
            "bad_num_speculative_tokens",
            f"num_speculative_tokens must be a whole number from 1 up, not {num_speculative_tokens!r}; "
            "nothing was decided",
        )
    judge = _Judge(baseline, candidate, settled, slot, num_speculative_tokens)
    try:
        verdict, code, text = judge.steps()
    except InvalidMeasurement as error:
        verdict, code, text = "inconclusive", error.code, f"the measurement decides nothing: {error.text}"
    comparison = judge.comparison
    return {
        "verdict": verdict,
        "outcome": {"ok": verdict in ("kept", "continue"), "code": code, "text": text},
        "effect": comparison.effect() if comparison else None,
        "summary": comparison.summary() if comparison else None,
        "warnings": judge.warnings,
        "receipt": None if verdict == "continue" else receipt(verdict, slot, baseline, candidate, settled),
    }


class _Judge:
    """The steps of the table over one pair of arms."""

    def __init__(self, baseline: Any, candidate: Any, profile: dict[str, Any], slot: str, expected_k: int) -> None:
        self.arms = {"baseline": baseline, "candidate": candidate}
        self.profile = profile
        self.slot = slot
        self.expected_k = expected_k
        self.warnings = []  # type: list[dict[str, str]]
        self.comparison = None  # type: Comparison | None

    def steps(self) -> tuple[str, str, str]:
        """(verdict, code, sentence). Raises InvalidMeasurement."""
        outlines = self._outlines()
        early = "high" not in outlines["candidate"]
        for levels in outlines.values():
            for outline in levels.values():
                self.warnings += outline.warnings()
        check_arms(outlines, self.profile, self.slot)
        return self._failed_requests(outlines) or self._broken_output(outlines) or self._numbers(outlines, early)

    def _outlines(self) -> dict[str, dict[str, Outline]]:
        outlines = {}  # type: dict[str, dict[str, Outline]]
        for arm, levels in self.arms.items():
            if not isinstance(levels, dict):
                raise missing(arm, f"is {levels!r:.60}, not a dict with low and high")
            outlines[arm] = {"low": Outline(levels.get("low"), arm + ".low")}
            if levels.get("high") is not None:
                outlines[arm]["high"] = Outline(levels["high"], arm + ".high")
        if "high" in outlines["candidate"] and "high" not in outlines["baseline"]:
            raise missing("baseline.high", "is missing, candidate.high has nothing to be compared with")
        if "high" not in outlines["candidate"]:
            outlines["baseline"].pop("high", None)
        return outlines

    @staticmethod
    def _failed_requests(outlines: dict[str, dict[str, Outline]]) -> tuple[str, str, str] | None:
        for outline in outlines["baseline"].values():
            if outline.failed or outline.errors:
                text = "{} of {} requests failed in {}: {:.160}".format(
                    max(outline.failed, outline.errors),
                    outline.requests,
                    outline.where,
                    outline.first_error or "no text",
                )
                raise InvalidMeasurement("invalid_baseline_errors", text)
        for outline in outlines["candidate"].values():
            if outline.failed or outline.errors:
                text = "{} of {} requests at c={} failed with the candidate, none with the baseline: {:.160}".format(
                    max(outline.failed, outline.errors),
                    outline.requests,
                    outline.concurrency,
                    outline.first_error or "no text",
                )
                return "rolled_back", "request_errors", text
        return None

    def _broken_output(self, outlines: dict[str, dict[str, Outline]]) -> tuple[str, str, str] | None:
        for level, outline in outlines["candidate"].items():
            before = outlines["baseline"][level].flagged()
            for flag, share in outline.flagged().items():
                if share > BROKEN_SHARE >= before[flag]:
                    text = (
                        f"{share:.0%} of the candidate's answers at c={outline.concurrency} are {flag}, "
                        f"{before[flag]:.0%} of the baseline's"
                    )
                    return "rolled_back", "output_broken", text
                if before[flag] > BROKEN_SHARE and level == "low":
                    self._warn("baseline_" + flag, f"{before[flag]:.0%} of the baseline's answers are {flag}")
        return None

    def _numbers(self, outlines: dict[str, dict[str, Outline]], early: bool) -> tuple[str, str, str]:
        levels, length, rate = check_numbers(outlines, self.profile, self.expected_k)
        comparison = Comparison(levels, self.profile["resamples"], length, rate)
        self.comparison = comparison
        share = comparison.prefill_share
        if share > PREFILL_BOUND:
            self._warn(
                "prefill_bound",
                f"{share:.0%} of a baseline request passes before its first token; speculation speeds up the rest only",
            )
        self._shape(comparison)
        return self._early(comparison) if early else self._final(comparison)

    def _shape(self, found: Comparison) -> None:
        """A gain that the time per token doesn't explain came from elsewhere: first token, cache, other answers."""
        if found.gain < self.profile["min_gain"]:
            return
        # With the time to the first token unchanged, a gain needs at least this drop, more with a long prefill.
        implied = min(self.profile["min_tpot_drop"], 1.0 - 1.0 / (1.0 + found.gain))
        if round(found.drop - (implied - ALLOWANCE), 9) < 0:
            text = f"a gain of {found.gain:+.1%} needs a TPOT drop of {implied:.1%}, measured is {found.drop:.1%}"
            raise InvalidMeasurement("invalid_arithmetic", text)

    def _early(self, found: Comparison) -> tuple[str, str, str]:
        if self._plainly_bad(found):
            return "rolled_back", "below_10", self._below(found)
        return "continue", "continue", f"{found.low_text()}: measuring goes on"

    def _final(self, found: Comparison) -> tuple[str, str, str]:
        gain, drop, high, profile = found.gain, found.drop, found.high_gain, self.profile
        if high is None or found.high_ci is None:
            raise InvalidMeasurement("invalid_missing", "nothing was measured under concurrency")
        if high < -profile["high_margin"] or found.high_ci[1] < 0:
            text = "{}: that is a loss of more than {:.1%}, or of more than chance. {}".format(
                found.high_text(), profile["high_margin"], found.low_text()
            )
            return "rolled_back", "c8_regression", text
        fast = gain >= profile["min_gain"]
        needed_low = profile["min_gain"] - ALLOWANCE
        if fast and drop >= profile["min_tpot_drop"] and found.gain_ci[0] > needed_low and found.drop_ci[0] > 0:
            return "kept", "kept", f"{found.low_text()}; {found.high_text()}"
        if self._plainly_bad(found):
            return "rolled_back", "below_10", self._below(found)
        if fast and drop < profile["min_tpot_drop"]:
            text = "{}: TPOT had to drop by {:.1%}".format(found.low_text(), profile["min_tpot_drop"])
            return "inconclusive", "tpot_short", text
        if fast or gain < profile["rollback_below"]:
            text = f"{found.low_text()}: the interval is too wide to keep it or to dismiss it"
            return "inconclusive", "interval_wide", text
        text = "{}: between the {:.0%} that rolls back and the {:.0%} that keeps".format(
            found.low_text(), profile["rollback_below"], profile["min_gain"]
        )
        return "inconclusive", "band_10_30", text

    def _plainly_bad(self, found: Comparison) -> bool:
        return found.gain < self.profile["rollback_below"] and found.gain_ci[1] < self.profile["min_gain"]

    def _below(self, found: Comparison) -> str:
        return "{}: below the {:.0%} under which it rolls back".format(found.low_text(), self.profile["rollback_below"])

    def _warn(self, code: str, text: str) -> None:
        self.warnings.append({"code": code, "text": text})
