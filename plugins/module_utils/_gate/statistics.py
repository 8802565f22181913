# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Paired bootstrap over prompts, standard library only. PRIVATE to this collection.

Both arms answer the same prompts, so a prompt is drawn with both its answers: what differs between prompts (a factor of
three with speculation) cancels, and only what differs between the arms is left. Prompts are drawn within their kind.
The draw is seeded: the same samples give the same interval, on every machine.
"""

from __future__ import annotations

import math
import random
from typing import Callable, Sequence

SEED = 20260
CONFIDENCE = 0.95
Z = 1.959964  # two-sided 95 % of the normal distribution
SESSION = 0.015  # standard deviation of a throughput ratio between two starts of the same server, nothing else changed


class Unit:
    """All that was measured for one prompt: what both arms answered, once or several times.

    ``tokens``, ``seconds``: (baseline, candidate) sums. ``tpots``: (baseline, candidate) lists in ms.
    """

    __slots__ = ("kind", "tokens", "seconds", "tpots")

    def __init__(
        self,
        kind: str,
        tokens: tuple[float, float],
        seconds: tuple[float, float],
        tpots: tuple[list[float], list[float]],
    ) -> None:
        self.kind = kind
        self.tokens = tokens
        self.seconds = seconds
        self.tpots = tpots


def median(values: Sequence[float]) -> float:
    """Middle of ``values``, the mean of the two middle ones for an even number. Raises ValueError when empty."""
    return quantile(values, 0.5)


def quantile(values: Sequence[float], share: float) -> float:
    """Linear interpolation between order statistics (Hyndman and Fan, type 7). Raises ValueError when empty."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(math.floor(place))
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def service_gain(units: Sequence[Unit]) -> float:
    """Relative change of tokens per second of request time, candidate over baseline, minus 1."""
    rates = [sum(unit.tokens[arm] for unit in units) / sum(unit.seconds[arm] for unit in units) for arm in (0, 1)]
    return rates[1] / rates[0] - 1.0


def tpot_drop(units: Sequence[Unit]) -> float:
    """1 minus the ratio of the median TPOT of the arms; positive is faster."""
    medians = [median([tpot for unit in units for tpot in unit.tpots[arm]]) for arm in (0, 1)]
    return 1.0 - medians[1] / medians[0]


def interval(
    units: Sequence[Unit], estimator: Callable[[Sequence[Unit]], float], resamples: int, seed: int = SEED
) -> tuple[float, float]:
    """Percentile interval (95 %) of ``estimator`` over prompts drawn with replacement within their kind."""
    strata = {}  # type: dict[str, list[Unit]]
    for unit in units:
        strata.setdefault(unit.kind, []).append(unit)
    groups = [strata[kind] for kind in sorted(strata)]
    # random() alone is promised to give the same sequence in every Python, choice() and the like are not.
    draw = random.Random(seed).random
    values = []
    for _round in range(resamples):
        values.append(estimator([group[int(draw() * len(group))] for group in groups for _unit in group]))
    tail = (1.0 - CONFIDENCE) / 2.0
    return quantile(values, tail), quantile(values, 1.0 - tail)


def widened(
    point: float, found: tuple[float, float], centre: float, sign: int, session: float = SESSION
) -> tuple[float, float]:
    """``found`` moved from ``centre`` to ``point`` and widened by what two starts of one server differ.

    ``centre`` is what the estimator says for all prompts, ``point`` the figure that is reported (from wall time).
    ``sign`` +1 for a gain (ratio - 1), -1 for a drop (1 - ratio): the session term is relative to the ratio.
    Both parts are half-widths of independent errors, so they add in quadrature.
    """
    term = Z * session * abs(1.0 + sign * point)
    low = math.hypot(max(0.0, centre - found[0]), term)
    high = math.hypot(max(0.0, found[1] - centre), term)
    return point - low, point + high
