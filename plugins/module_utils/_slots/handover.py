# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""What must be true between "old server stopped" and "new server started". PRIVATE to this collection.

An engine process that outlives its server keeps the memory, and the next start then looks like a draft that is too
big. So the start waits, for a bounded time, until the port is free, no process of the old server is left and the
memory that the new one asks for is there.
"""

from __future__ import annotations

import math
import os
import time
from typing import Any

from . import disk, units
from .errors import SlotError

WAIT_S = 60.0
STEP_S = 0.2
DROP_CACHES_PATH = "/proc/sys/vm/drop_caches"


def mem_kib(field: str) -> int | None:
    """A field of /proc/meminfo in KiB, or None when it is not there."""
    for line in (disk.read_text("/proc/meminfo") or "").splitlines():
        name, _colon, rest = line.partition(":")
        if name == field and rest.split()[1:] == ["kB"] and rest.split()[0].isdigit():
            return int(rest.split()[0])
    return None


def memory_need_kib(spec: dict[str, Any]) -> int | None:
    """What vLLM demands to be free when it starts: ceil(total x gpu_memory_utilization).

    Source: vLLM ``request_memory`` (v1/worker/utils.py, 0.20.2). None when total or utilisation is not known.
    """
    total = mem_kib("MemTotal")
    share = spec.get("config", {}).get("gpu-memory-utilization")
    if total is None or not isinstance(share, (int, float)):
        return None
    return math.ceil(total * share)


def processes_of(unit: str) -> list[int]:
    """All pids in the control group of a unit, the engine's workers among them."""
    group = units.systemctl("show", unit, "--property=ControlGroup", "--value").stdout.strip()
    if not group:
        return []
    for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"):
        text = disk.read_text(f"{root}{group}/cgroup.procs")
        if text is not None:
            return [int(word) for word in text.split() if word.isdigit()]
    return []


def _start_ticks(pid: int) -> str | None:
    """Field 22 of /proc/PID/stat, which tells a process from a later one with the same pid."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as handle:
            text = handle.read()
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()
    return None if fields[0] == "Z" else fields[19]


def remember(pids: list[int]) -> dict[int, str]:
    """The processes to see gone: pid to start time."""
    return {pid: ticks for pid, ticks in ((pid, _start_ticks(pid)) for pid in pids) if ticks is not None}


def settle(host: str, port: int, old: dict[int, str], need_kib: int | None, drop_caches: bool) -> dict[str, Any]:
    """Wait until the host is ready for the next server.

    ``old`` maps pids of the stopped server to their start times. Returns ``{waited_s, mem_available_mib,
    dropped_caches}``; raises SlotError ``stop_incomplete`` with what is missing after 60 s.
    """
    begun = time.monotonic()
    dropped = False
    while True:
        left = [pid for pid, ticks in old.items() if _start_ticks(pid) == ticks]
        available = mem_kib("MemAvailable")
        missing = []
        if left:
            missing.append(f"processes {left} of the old server are still alive")
        if units.port_answers(host, port):
            missing.append(f"port {port} is still answered")
        if not missing and drop_caches and not dropped:
            # Before L4T r39 the driver keeps freed pages in a pool that only this returns, in both arms alike.
            os.sync()
            with open(DROP_CACHES_PATH, "w", encoding="ascii") as handle:
                handle.write("3\n")
            dropped = True
            available = mem_kib("MemAvailable")
        if need_kib is not None and available is not None and available < need_kib:
            missing.append(
                f"MemAvailable is {available / 1048576.0:.1f} GiB, the start asks for {need_kib / 1048576.0:.1f} GiB"
            )
        if not missing:
            return {
                "waited_s": round(time.monotonic() - begun, 2),
                "mem_available_mib": None if available is None else available // 1024,
                "dropped_caches": dropped,
            }
        if time.monotonic() - begun > WAIT_S:
            raise SlotError("stop_incomplete", "{} s after the stop {}".format(int(WAIT_S), "; ".join(missing)))
        time.sleep(STEP_S)
