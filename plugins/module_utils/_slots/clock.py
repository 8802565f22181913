# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Time on a device whose wall clock lies. PRIVATE to this collection.

A Jetson without an RTC battery boots in 1970 and jumps by decades when NTP answers, so nothing that decides reads
the wall clock: leases use CLOCK_BOOTTIME, which also counts suspend, together with the boot id that it belongs to.
"""

from __future__ import annotations

import time

BOOT_ID_PATH = "/proc/sys/kernel/random/boot_id"


def boot_id() -> str:
    """The kernel's id of this boot."""
    with open(BOOT_ID_PATH, encoding="ascii") as handle:
        return handle.read().strip()


def boottime_s() -> float:
    """Seconds since boot, suspend included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def wall_time() -> str:
    """The device's wall clock in UTC, for people to read; never compared."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
