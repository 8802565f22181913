# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""What the device does alone: watch the lease, check at boot, verify what serves. PRIVATE to this collection."""

from __future__ import annotations

import sys
import time

from .._slots import disk
from .._slots.store import Store, target_slot
from .._slots.transaction import Transaction
from .._vllm import ready

STEP_S = 1.0
VERIFY_LIMIT_S = 1800.0


def say(sentence: str) -> None:
    """One line in the journal, at once: after a dead host it may be the last one."""
    sys.stdout.write(f"jetson.specdec: {sentence}\n")
    sys.stdout.flush()


def transaction(store: Store) -> Transaction:
    """The transaction of this host, for the unit that its marker names."""
    marker = store.read_marker() or {}
    return Transaction(store, str(marker.get("unit", "vllm.service")), say)


def guard(store: Store) -> int:
    """Run while a candidate is armed: when its lease runs out, take it back and verify what serves then."""
    needed = True
    reason = None
    while needed:
        needed, reason = transaction(store).watch()
        if needed:
            time.sleep(STEP_S)
    if reason is None:
        return 0
    say(f"took the candidate back: {reason}")
    return verify(store)


def boot_check(store: Store) -> int:
    """Before the server starts: no unconfirmed candidate survives a boot."""
    reason = transaction(store).boot_check()
    if reason is not None:
        say("the host rebooted with an unconfirmed candidate: switched back before the server starts")
    return 0


def verify(store: Store) -> int:
    """After a revert that nobody watched: prove by a completion that the fallback serves, and record it.

    Returns 0 when there was nothing to verify or it serves, else 1.
    """
    marker = store.read_marker()
    last = (marker or {}).get("last_revert") or {}
    if marker is None or not last or last.get("verified") is not None or marker["state"] == "candidate":
        return 0
    digest = target_slot(marker)
    spec = store.load_slot(digest)
    speculation = spec["config"].get("speculative-config") or {}
    result = ready.wait(
        ready.ReadySettings(
            host=spec["client"]["host"],
            port=spec["client"]["port"],
            model=spec["client"]["model"],
            num_speculative_tokens=int(speculation.get("num_speculative_tokens", 0)),
            unit=str(marker.get("unit", "vllm.service")),
        ),
        VERIFY_LIMIT_S,
    )
    with disk.locked(store.lock_path):
        marker = store.read_marker()
        if marker is not None and marker.get("last_revert") == last:
            store.write_marker(dict(marker, last_revert=dict(last, verified=result.ready)))
    store.record("verified", slot=digest, ready=result.ready, code=result.code, text=result.text)
    say(f"slot {digest} after the revert: {result.text}")
    return 0 if result.ready else 1
