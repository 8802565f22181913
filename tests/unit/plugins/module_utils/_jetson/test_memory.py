# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Memory: MemAvailable or an error, never MemFree."""

from __future__ import annotations

import pytest

from ansible_collections.jetson.specdec.plugins.module_utils._jetson.errors import ProbeError
from ansible_collections.jetson.specdec.plugins.module_utils._jetson.memory import Memory, parse_meminfo, zram_kib

GOOD = (
    b"MemTotal:       128790528 kB\nMemFree:         1048576 kB\nMemAvailable:   120586240 kB\n"
    b"Buffers:           10000 kB\nSwapTotal:       8388608 kB\nSwapFree:        8388600 kB\nHugePages_Total:       0\n"
)


@pytest.mark.parametrize(
    "data", [GOOD, GOOD.replace(b"\n", b"\r\n"), GOOD + GOOD, GOOD.rstrip(b"\n"), b"\xff\n" + GOOD]
)
def test_good(data: bytes) -> None:
    assert parse_meminfo(data) == Memory(128790528, 120586240, 8388608, 8388600)


def test_no_swap_lines_is_unknown_not_zero() -> None:
    memory = parse_meminfo(b"MemTotal: 2000 kB\nMemAvailable: 1000 kB\n")
    assert (memory.swap_total_kib, memory.swap_free_kib) == (None, None)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        GOOD[: GOOD.index(b"MemAvailable")],
        GOOD.replace(b"MemAvailable", b"MemAvail"),
        GOOD[: GOOD.index(b" kB", GOOD.index(b"MemAvailable"))],
        GOOD.replace(b"128790528 kB", b"128790528 MB"),
        GOOD.replace(b"128790528 kB", b"128790528"),
        GOOD.replace(b"120586240", b"128790529"),
        GOOD.replace(b"120586240", b"-1"),
        GOOD.replace(b"120586240", b"0x12"),
        GOOD.replace(b"120586240", b"1" * 30),
        GOOD.replace(b"128790528", b"0").replace(b"120586240", b"0"),
        GOOD + b"MemAvailable: 5 kB\n",
        b"\xef\xbb\xbf" + GOOD,
        GOOD.decode().encode("utf-16"),
    ],
)
def test_bad(data: bytes) -> None:
    with pytest.raises(ProbeError) as caught:
        parse_meminfo(data)
    assert caught.value.code == "meminfo_garbled"


def test_zram() -> None:
    head = b"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
    assert zram_kib(head) == 0
    rows = b"/dev/zram0 partition\t1000\t0\t5\n/dev/zram1 partition 500 0 5\n/swapfile file 9000 0 -2\n"
    rows += b"/dev/zram2 partition x 0 5\n"
    assert zram_kib(head + rows) == 1500
