# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The lease that an armed candidate lives on. PRIVATE to this collection.

The controller's polls renew it; the guard on the device reads it. A dead controller therefore leaves a few
untested minutes, and no clock but CLOCK_BOOTTIME has a say in it.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from typing import Any, Iterator

from . import clock, disk
from .errors import SlotError
from .store import Store


def write(store: Store, run_id: str, lease_s: float) -> None:
    """Grant ``lease_s`` seconds from now to ``run_id``."""
    record = {"run_id": run_id, "boot_id": clock.boot_id(), "deadline_boottime_s": clock.boottime_s() + lease_s}
    disk.write_durable(store.lease_path, json.dumps(record, sort_keys=True) + "\n")


def renew(state_dir: str, run_id: str, lease_s: float) -> bool:
    """Extend the lease of the candidate that ``run_id`` armed; the marker's cap still ends it.

    Returns False, and changes nothing, when no candidate of this run is armed (any more).
    """
    store = Store(state_dir)
    if not os.path.isdir(state_dir):
        return False
    marker = store.read_marker()
    armed = (marker or {}).get("armed")
    if not armed or armed.get("run_id") != run_id or armed.get("boot_id") != clock.boot_id():
        return False
    write(store, run_id, lease_s)
    return True


@contextlib.contextmanager
def kept(wanted: dict[str, Any] | None) -> Iterator[None]:
    """Renew a lease now and at each third of its time while the body waits; None is no lease.

    ``wanted`` is ``{state_dir, run_id, lease_s}``. Where it can't be renewed the device takes itself back, which is
    what a lease is for, so that is no error here.
    """
    done = threading.Event()

    def keep() -> None:
        while wanted is not None:
            with contextlib.suppress(OSError, SlotError):
                renew(wanted["state_dir"], wanted["run_id"], wanted["lease_s"])
            if done.wait(max(1.0, wanted["lease_s"] / 3.0)):
                return

    keeper = threading.Thread(target=keep, daemon=True)
    keeper.start()
    try:
        yield
    finally:
        done.set()
        keeper.join(1.0)


def overdue(marker: dict[str, Any], store: Store) -> str | None:
    """Why the armed candidate of ``marker`` has no right to run any longer, or None while it has.

    A lease that is missing, unreadable or of another run or boot is no lease.
    """
    armed = marker.get("armed") or {}
    now = clock.boottime_s()
    if armed.get("boot_id") != clock.boot_id():
        return "rebooted"
    cap = armed.get("cap_boottime_s")
    if not isinstance(cap, (int, float)) or now > cap:
        return "cap_reached"
    try:
        lease = disk.read_json(store.lease_path) or {}
    except Exception:  # whatever is wrong with the file, it does not extend anything
        return "lease_unreadable"
    deadline = lease.get("deadline_boottime_s")
    if lease.get("run_id") != armed.get("run_id") or lease.get("boot_id") != armed.get("boot_id"):
        return "lease_missing"
    if not isinstance(deadline, (int, float)) or now > deadline:
        return "lease_expired"
    return None
