# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The statistics against known values and against what an interval promises."""

from __future__ import annotations

import random
import statistics as reference

import pytest

from ansible_collections.jetson.specdec.plugins.module_utils._gate import statistics as ours


def unit(kind: str, before: float, after: float) -> ours.Unit:
    """One prompt of 100 tokens that takes ``before`` and ``after`` seconds."""
    return ours.Unit(kind, (100.0, 100.0), (before, after), ([before * 10], [after * 10]))


@pytest.mark.parametrize("size", [1, 2, 3, 8, 31])
def test_median_is_that_of_the_standard_library(size: int) -> None:
    values = [random.Random(size).random() for _n in range(size)]
    assert ours.median(values) == pytest.approx(reference.median(values))


def test_quantiles_interpolate() -> None:
    assert ours.quantile([1.0, 2.0, 3.0, 4.0], 0.25) == pytest.approx(1.75)
    assert ours.quantile([5.0], 0.975) == 5.0
    with pytest.raises(ValueError, match="no values"):
        ours.quantile([], 0.5)


def test_estimators() -> None:
    units = [unit("a", 4.0, 2.0), unit("b", 2.0, 1.0)]
    assert ours.service_gain(units) == pytest.approx(1.0)
    assert ours.tpot_drop(units) == pytest.approx(0.5)


def test_pairing_removes_what_differs_between_prompts() -> None:
    dice = random.Random(1)
    units = [unit("a", seconds, seconds / 1.4) for seconds in (dice.uniform(1.0, 10.0) for _n in range(16))]
    low, high = ours.interval(units, ours.service_gain, 300)
    assert low == pytest.approx(0.4) and high == pytest.approx(0.4)


def test_kinds_keep_their_share_in_each_draw() -> None:
    # Two kinds that are constant within: drawn within kinds nothing varies, drawn over all it would.
    units = [unit("fast", 1.0, 0.2)] * 8 + [unit("slow", 1.0, 1.2)] * 8
    low, high = ours.interval(units, ours.service_gain, 300)
    assert high - low < 1e-9
    mixed = [unit("all", *one.seconds) for one in units]
    low, high = ours.interval(mixed, ours.service_gain, 300)
    assert high - low > 0.2


def test_same_seed_same_interval() -> None:
    dice = random.Random(2)
    units = [unit("a", 1.0, dice.uniform(0.5, 1.0)) for _n in range(16)]
    assert ours.interval(units, ours.service_gain, 200) == ours.interval(units, ours.service_gain, 200)
    assert ours.interval(units, ours.service_gain, 200) != ours.interval(units, ours.service_gain, 200, seed=1)


def test_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    # True gain 0.5; the candidate's time varies by 20 % from prompt to prompt.
    dice = random.Random(3)
    inside = 0
    for _host in range(100):
        units = [unit("a", 1.0, dice.gauss(1.0, 0.2) / 1.5) for _n in range(32)]
        low, high = ours.interval(units, ours.service_gain, 200)
        inside += low <= 0.5 <= high
    assert 85 <= inside <= 100


def test_session_term_widens_and_moves_the_centre() -> None:
    assert ours.widened(0.5, (0.4, 0.4), 0.4, +1, session=0.0) == pytest.approx((0.5, 0.5))
    low, high = ours.widened(0.0, (0.0, 0.0), 0.0, +1)
    assert (low, high) == pytest.approx((-0.0294, 0.0294), abs=1e-4)
    low, high = ours.widened(0.5, (0.5 - 0.0588, 0.5 + 0.0588), 0.5, +1)
    assert high - 0.5 == pytest.approx((0.0588**2 + 0.0441**2) ** 0.5, abs=1e-4)
    low, high = ours.widened(0.4, (0.4, 0.4), 0.4, -1)
    assert high - 0.4 == pytest.approx(0.0294 * 0.6, abs=1e-4)
