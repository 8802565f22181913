# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Memory from ``/proc/meminfo``. PRIVATE to this collection.

CPU and GPU share one memory on every Jetson, and vLLM itself takes MemAvailable as free there. MemFree and the memory
of nvidia-smi are never used: the first leaves out the page cache, the second is not measured on these chips.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .errors import ProbeError, show

MEMINFO = "/proc/meminfo"
SWAPS = "/proc/swaps"

_FIELD = re.compile(rb"(MemTotal|MemAvailable|SwapTotal|SwapFree):[ \t]*([^\r\n]*)")
_VALUE = re.compile(rb"([0-9]{1,12}) kB")


class Memory(NamedTuple):
    """Sizes in KiB; swap sizes are None where the kernel gives none."""

    total_kib: int
    available_kib: int
    swap_total_kib: int | None
    swap_free_kib: int | None


def parse_meminfo(data: bytes) -> Memory:
    """Memory from the bytes of ``/proc/meminfo``.

    :raises ProbeError: ``meminfo_garbled``: a field is missing, doubled with another value, not in kB or impossible.
    """
    values: dict[bytes, int] = {}
    for line in data.split(b"\n"):
        field = _FIELD.match(line)
        if field is None:
            continue
        value = _VALUE.fullmatch(field[2].rstrip())
        if value is None:
            raise ProbeError("meminfo_garbled", f"{MEMINFO} has the line {show(line)}: not a number of kB.")
        number = int(value[1])
        if values.setdefault(field[1], number) != number:
            text = f"{MEMINFO} gives {show(field[1])} twice, with different values."
            raise ProbeError("meminfo_garbled", text)
    for name in (b"MemTotal", b"MemAvailable"):
        if name not in values:
            raise ProbeError("meminfo_garbled", f"{MEMINFO} has no {name.decode('ascii')}.")
    total, available = values[b"MemTotal"], values[b"MemAvailable"]
    if total == 0 or available > total:
        raise ProbeError("meminfo_garbled", f"{MEMINFO} says that {available} of {total} kB are available.")
    return Memory(total, available, values.get(b"SwapTotal"), values.get(b"SwapFree"))


def zram_kib(data: bytes) -> int:
    """Size in KiB of all swap on compressed memory, from the bytes of ``/proc/swaps``; other rows are left out."""
    total = 0
    for line in data.split(b"\n")[1:]:
        words = line.split()
        if len(words) == 5 and words[0].startswith(b"/dev/zram") and re.fullmatch(rb"[0-9]{1,12}", words[2]):
            total += int(words[2])
    return total
