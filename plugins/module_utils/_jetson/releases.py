# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""L4T releases: their JetPack and the chips that they run on, as data. PRIVATE to this collection.

A release that is not in the table has no JetPack here: the nearest row is never taken. Several L4T releases may carry
one JetPack, so rules compare L4T, and JetPack is for people. Sources, one per row:

JTOP
    the table of jetson-stats 7.2.2 (facts only).
BOTH
    jetson-stats 7.2.2, and a device or package of that release seen in a public log.
"""

from __future__ import annotations

JTOP = "jetson-stats 7.2.2"
BOTH = "jetson-stats 7.2.2, seen on a device or in a package"

#: (major, minor, patch) -> (JetPack, source)
JETPACK: dict[tuple[int, int, int], tuple[str, str]] = {
    (39, 2, 2): ("7.2.2", JTOP),
    (39, 2, 1): ("7.2.1", BOTH),
    (39, 2, 0): ("7.2", BOTH),
    (39, 0, 0): ("7.2 EA", JTOP),
    (38, 4, 0): ("7.1", BOTH),
    (38, 2, 2): ("7.0", BOTH),
    (38, 2, 1): ("7.0", JTOP),
    (38, 2, 0): ("7.0", BOTH),
    (38, 1, 0): ("7.0 EA", "jetson-containers, l4t_version.py at dd206bf"),
    (36, 5, 2): ("6.2.3", JTOP),
    (36, 5, 0): ("6.2.2", BOTH),
    (36, 4, 7): ("6.2.1", BOTH),
    (36, 4, 4): ("6.2.1", BOTH),
    (36, 4, 3): ("6.2", BOTH),
    (36, 4, 2): ("6.1 (rev. 1)", JTOP),
    (36, 4, 0): ("6.1", BOTH),
    (36, 3, 0): ("6.0", JTOP),
    (36, 2, 0): ("6.0 DP", BOTH),
    (36, 0, 0): ("6.0 EA", JTOP),
    (35, 6, 5): ("5.1.7", JTOP),
    (35, 6, 4): ("5.1.6", JTOP),
    (35, 6, 3): ("5.1.5", JTOP),
    (35, 6, 2): ("5.1.5", JTOP),
    (35, 6, 1): ("5.1.5", JTOP),
    (35, 6, 0): ("5.1.4", JTOP),
    (35, 5, 0): ("5.1.3", JTOP),
    (35, 4, 1): ("5.1.2", JTOP),
    (35, 3, 1): ("5.1.1", BOTH),
    (35, 3, 0): ("5.1.1 PRE", JTOP),
    (35, 2, 1): ("5.1", BOTH),
    (35, 1, 0): ("5.0.2", JTOP),
    (34, 1, 1): ("5.0.1 DP", BOTH),
    (34, 1, 0): ("5.0 DP", BOTH),
    (34, 0, 1): ("5.0 PRE-DP", JTOP),
    (32, 7, 6): ("4.6.6", BOTH),
    (32, 7, 5): ("4.6.5", JTOP),
    (32, 7, 4): ("4.6.4", BOTH),
    (32, 7, 3): ("4.6.3", BOTH),
    (32, 7, 2): ("4.6.2", BOTH),
    (32, 7, 1): ("4.6.1", BOTH),
    (32, 6, 1): ("4.6", JTOP),
    (32, 5, 2): ("4.5.1", JTOP),
    (32, 5, 1): ("4.5.1", JTOP),
    (32, 5, 0): ("4.5", JTOP),
    (32, 4, 4): ("4.4.1", BOTH),
    (32, 4, 3): ("4.4", JTOP),
    (32, 4, 2): ("4.4 DP", JTOP),
    (32, 3, 1): ("4.3", JTOP),
    (32, 2, 3): ("4.2.3", JTOP),
    (32, 2, 1): ("4.2.2", JTOP),
    (32, 2, 0): ("4.2.1", JTOP),
    (32, 1, 0): ("4.2", JTOP),
    (31, 1, 0): ("4.1.1", JTOP),
    (28, 4, 0): ("3.3.3", JTOP),
    # 28.2.1 carried both JetPack 3.2.1 and 3.3, so it names neither.
    (28, 2, 0): ("3.2", JTOP),
    (28, 1, 0): ("3.1", JTOP),
}

#: The newest major release that the rules of this collection were written for.
NEWEST_MAJOR = 39


class Majors:
    """The L4T majors that run on one generation: first, last (None: not known to have ended), and gaps."""

    def __init__(self, first: int, last: int | None = None, without: tuple[int, ...] = ()) -> None:
        self.first = first
        self.last = last
        self.without = without

    def allow(self, major: int) -> bool:
        """Whether this major is known or may be expected to run there."""
        return major >= self.first and (self.last is None or major <= self.last) and major not in self.without


#: Generation -> majors. Source: NVIDIA's release lines; R38 is Thor only, R39 runs on Thor and Orin.
MAJORS: dict[str, Majors] = {
    "thor": Majors(38),
    "orin": Majors(34, without=(38,)),
    "xavier": Majors(31, 35),
    "tx2": Majors(27, 32),
    "tegra210": Majors(23, 32),
}
