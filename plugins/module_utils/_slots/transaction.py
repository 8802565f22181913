# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The transaction on the host: baseline, armed candidate, confirmed candidate. PRIVATE to this collection.

Two steps make every transition. The marker says which slot must serve and is on disk first; ``reconcile`` then makes
it so. Whoever finds the two apart (the module, the guard, the boot check) can therefore finish the work of whoever
died between them, and finishing twice does no harm.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from typing import Any, Callable

from . import clock, disk, handover, lease, units
from .errors import SlotError
from .store import Store, slot_digest, target_slot

GUARD_UNIT = "jetson-specdec-guard.service"
BOOT_UNIT = "jetson-specdec-boot.service"
RECEIPT_AGE_S = 3600.0


class Transaction:
    """Everything that may change which server runs on this host.

    Every public method takes the host's lock, so that guard, boot check and module never switch at the same time.
    ``evidence`` is called with one sentence before each risky step: after a silent death it is the last word.
    """

    def __init__(self, store: Store, unit: str, evidence: Callable[[str], None] = lambda sentence: None) -> None:
        self.store = store
        self.unit = unit
        self.evidence = evidence

    # -- transitions -------------------------------------------------------------------------------------------
    def baseline(self, spec: dict[str, Any]) -> dict[str, Any]:
        """Serve ``spec`` as the baseline, from whatever was there before, short of an armed candidate.

        Returns ``{changed, started, ...}`` as ``reconcile`` does. Raises SlotError.
        """
        digest = slot_digest(spec)
        with disk.locked(self.store.lock_path):
            marker = self.store.read_marker()
            if marker is not None and marker["state"] == "candidate":
                raise SlotError("unconfirmed", self._armed_text(marker))
            staged = self.store.stage(spec)
            wanted = {
                "schema": 1,
                "state": "baseline",
                "baseline": digest,
                "candidate": None,
                "confirmed": None,
                "fallback": None,
                "armed": None,
                "unit": self.unit,
            }
            moved = marker is None or target_slot(marker) != digest or marker["state"] != "baseline"
            if moved:
                self.store.write_marker(wanted)
                self.store.record("baseline", slot=digest)
            result = self._reconcile()
            enabled = self._enable()
            result["changed"] = staged or moved or enabled or result["changed"]
            return result

    def arm(self, digest: str, run_id: str, owner: str, lease_s: float, cap_s: float) -> dict[str, Any]:
        """Start the staged candidate ``digest`` on a lease of ``lease_s`` seconds, ``cap_s`` at the very most.

        A start that fails is taken back before this returns. Raises SlotError; its text says what serves then.
        """
        with disk.locked(self.store.lock_path):
            marker = self.store.read_marker()
            if marker is None:
                raise SlotError("no_baseline", "no baseline is recorded on this host, so there is no way back")
            if marker["state"] == "candidate":
                raise SlotError("unconfirmed", self._armed_text(marker))
            spec = self.store.load_slot(digest)
            back_to = target_slot(marker)
            self.store.load_slot(back_to)  # the way back is looked at before the first step on the way there
            if self.store.running_slot(units.running(self.unit)["main_pid"]) != back_to:
                raise SlotError("not_serving", "the recorded {} does not run".format(marker["state"]))
            self._check_way_back()
            now = clock.boottime_s()
            armed = dict(marker, state="candidate", candidate=digest, confirmed=None)
            armed["fallback"] = {"state": marker["state"], "slot": back_to}
            armed["armed"] = {
                "run_id": run_id,
                "owner": owner,
                "boot_id": clock.boot_id(),
                "at_boottime_s": now,
                "cap_boottime_s": now + cap_s,
            }
            lease.write(self.store, run_id, lease_s)
            self.store.write_marker(armed)
            self.store.record("armed", slot=digest, run_id=run_id, owner=owner)
            try:
                units.start(GUARD_UNIT)
                self.store.grant_permit(digest)
                self.evidence(
                    "about to stop slot {} and start the unconfirmed candidate {}, MemAvailable {} MiB".format(
                        back_to, digest, (handover.mem_kib("MemAvailable") or 0) // 1024
                    )
                )
                result = self._reconcile()
            except SlotError as exc:
                taken_back = self._revert(f"start_failed: {exc.code}")
                raise SlotError(exc.code, "{}; {}".format(exc.text, taken_back["text"])) from exc
            result["client"] = spec["client"]
            return result

    def confirm(self, receipt: dict[str, Any]) -> dict[str, Any]:
        """Make the armed candidate permanent on the strength of ``receipt``.

        The receipt must be of a passed gate, for this slot, in this boot, not older than an hour. Raises SlotError.
        """
        with disk.locked(self.store.lock_path):
            marker = self.store.read_marker()
            if marker is not None and marker["state"] == "confirmed" and marker["confirmed"] == receipt.get("slot"):
                return {"changed": False, "text": "slot {} is confirmed already".format(marker["confirmed"])}
            if marker is None or marker["state"] != "candidate":
                raise SlotError("nothing_armed", "no candidate is armed on this host, so nothing can be confirmed")
            self._check_receipt(marker, receipt)
            late = lease.overdue(marker, self.store)
            if late:
                raise SlotError(late, "the candidate has no right to run any longer; the guard takes it back")
            digest = marker["candidate"]
            if self.store.running_slot(units.running(self.unit)["main_pid"]) != digest:
                raise SlotError("not_serving", f"slot {digest} passed its gate but does not run now")
            confirmed = dict(marker, state="confirmed", confirmed=digest, candidate=None, armed=None)
            self.store.write_marker(confirmed)
            disk.remove_durable(self.store.lease_path)
            self.store.record("confirmed", slot=digest, receipt=receipt)
            return {"changed": True, "text": f"slot {digest} is confirmed"}

    def revert(self, reason: str) -> dict[str, Any]:
        """Take an armed candidate back to what it fell from. Harmless when there is none, and when done twice."""
        with disk.locked(self.store.lock_path):
            return self._revert(reason)

    def to_baseline(self, reason: str) -> dict[str, Any]:
        """Serve the recorded baseline, also from a confirmed candidate."""
        with disk.locked(self.store.lock_path):
            marker = self.store.read_marker()
            if marker is not None and marker["state"] == "confirmed":
                self.store.load_slot(marker["baseline"])
                self.store.write_marker(
                    dict(marker, state="baseline", confirmed=None, fallback=None, last_revert=self._why(marker, reason))
                )
                self.store.record("to_baseline", slot=marker["baseline"], reason=reason)
            return self._revert(reason)

    # -- used by the device alone --------------------------------------------------------------------------------
    def boot_check(self) -> str | None:
        """Before the server starts: an unconfirmed candidate does not survive a boot.

        Only the marker and the link are touched. Starting the server here, or waiting for it, would deadlock the
        boot transaction that this runs in. Returns the reason of a revert, or None.
        """
        with disk.locked(self.store.lock_path):
            marker = self.store.read_marker()
            if marker is None:
                return None
            reason = None
            if marker["state"] == "candidate":
                reason = "rebooted"
                marker = self._fall_back(marker, reason)
            if self.store.current_slot() != target_slot(marker):
                self.store.point_current(target_slot(marker))
            return reason

    def watch(self) -> tuple[bool, str | None]:
        """One look of the guard: ``(still needed, reason of a revert that it did)``."""
        marker = self.store.read_marker()
        if marker is None or marker["state"] != "candidate":
            with contextlib.suppress(SlotError), disk.locked(self.store.lock_path, wait=False):
                self._reconcile()  # finishes a switch whose author died after writing the marker
                return False, None
            return True, None
        late = lease.overdue(marker, self.store)
        if late is None:
            return True, None
        return False, self._revert_if_still_due(late)

    def _revert_if_still_due(self, late: str) -> str | None:
        with disk.locked(self.store.lock_path):
            marker = self.store.read_marker()
            if marker is None or marker["state"] != "candidate" or lease.overdue(marker, self.store) is None:
                return None
            self._revert(late)
            return late

    # -- parts -------------------------------------------------------------------------------------------------
    def _revert(self, reason: str) -> dict[str, Any]:
        marker = self.store.read_marker()
        if marker is None:
            return {"changed": False, "text": "nothing was ever applied on this host", "started": None}
        moved = marker["state"] == "candidate"
        if moved:
            self.evidence("taking slot {} back: {}".format(marker["candidate"], reason))
            marker = self._fall_back(marker, reason)
        result = self._reconcile()
        result["changed"] = result["changed"] or moved
        result["text"] = "{} slot {} serves".format(marker["state"], target_slot(marker))
        return result

    def _fall_back(self, marker: dict[str, Any], reason: str) -> dict[str, Any]:
        """Write the marker of the recorded fallback; what runs is not touched yet."""
        fallback = marker["fallback"]
        back = dict(marker, state=fallback["state"], candidate=None, armed=None, fallback=None)
        back[fallback["state"]] = fallback["slot"]
        back["last_revert"] = self._why(marker, reason)
        self.store.write_marker(back)
        disk.remove_durable(self.store.lease_path)
        self.store.withdraw_permits()
        self.store.record("reverted", slot=marker["candidate"], to=fallback["slot"], reason=reason)
        return back

    @staticmethod
    def _why(marker: dict[str, Any], reason: str) -> dict[str, Any]:
        return {
            "reason": reason,
            "slot": target_slot(marker),
            "run_id": (marker.get("armed") or {}).get("run_id"),
            "at": clock.wall_time(),
        }

    def _reconcile(self) -> dict[str, Any]:
        """Make the host serve what the marker says; nothing happens when it does already.

        Returns ``{changed, slot, started: {main_pid, invocation_id}, down_s, handover}``; ``down_s`` is the time
        from the stop to the start in s, None when the server was not stopped. Raises SlotError.
        """
        marker = self.store.read_marker()
        if marker is None:
            return {"changed": False, "slot": None, "started": None, "down_s": None, "handover": None}
        digest = target_slot(marker)
        now = units.running(self.unit)
        if self.store.current_slot() == digest and self.store.running_slot(now["main_pid"]) == digest:
            return {"changed": False, "slot": digest, "started": now, "down_s": None, "handover": None}
        spec = self.store.load_slot(digest)
        old = handover.remember(handover.processes_of(self.unit)) if now["main_pid"] else {}
        begun = time.monotonic()
        if now["active_state"] not in ("inactive", "failed"):
            units.stop(self.unit)
        settled = handover.settle(
            spec["client"]["host"],
            spec["client"]["port"],
            old,
            handover.memory_need_kib(spec),
            bool(spec.get("facts", {}).get("drop_caches")),
        )
        self.store.point_current(digest)
        started = units.start(self.unit)
        return {
            "changed": True,
            "slot": digest,
            "started": started,
            "down_s": round(time.monotonic() - begun, 2) if old else None,
            "handover": settled,
        }

    def _enable(self) -> bool:
        if units.show(self.unit).get("UnitFileState") == "enabled":
            return False
        done = units.systemctl("enable", self.unit)
        if done.returncode != 0:
            raise SlotError("not_enabled", f"{self.unit} could not be enabled: {done.stderr.strip()}")
        return True

    def _check_way_back(self) -> None:
        """The host must be able to take itself back before it is asked to leave: interpreter, package, boot unit."""
        runner = os.path.join(self.store.state_dir, "device", "run")
        try:
            done = subprocess.run(
                (runner, "self-check"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                timeout=20,
                check=False,
            )
            problem = None if done.returncode == 0 else done.stdout.strip()[-300:]
        except (OSError, subprocess.TimeoutExpired) as exc:
            problem = str(exc)
        if problem is None and units.show(BOOT_UNIT).get("UnitFileState") != "enabled":
            problem = f"{BOOT_UNIT} is not enabled"
        if problem is not None:
            raise SlotError("no_way_back", f"the device could not take itself back: {problem}; nothing was changed")

    @staticmethod
    def _check_receipt(marker: dict[str, Any], receipt: dict[str, Any]) -> None:
        finished = receipt.get("finished_boottime_s")
        if receipt.get("verdict") != "kept":
            problem = "its verdict is {!r}, not 'kept'".format(receipt.get("verdict"))
        elif receipt.get("slot") != marker["candidate"]:
            problem = "it is for slot {}, armed is {}".format(receipt.get("slot"), marker["candidate"])
        elif receipt.get("boot_id") != clock.boot_id():
            problem = "it was measured in another boot"
        elif not isinstance(finished, (int, float)) or not 0 <= clock.boottime_s() - finished <= RECEIPT_AGE_S:
            problem = f"it is older than {RECEIPT_AGE_S / 60:.0f} min or has no time"
        elif finished < marker["armed"]["at_boottime_s"]:
            problem = "it was measured before this candidate was armed"
        else:
            return
        raise SlotError("receipt_refused", f"the receipt does not allow a confirm: {problem}; nothing was changed")

    def _armed_text(self, marker: dict[str, Any]) -> str:
        armed = marker.get("armed") or {}
        return (
            "slot {} is armed by {} (run {}, {:.0f} s ago) and not decided yet; it takes itself back when its lease "
            "runs out. Nothing was changed"
        ).format(
            marker["candidate"],
            armed.get("owner", "unknown"),
            armed.get("run_id", "unknown"),
            max(0.0, clock.boottime_s() - float(armed.get("at_boottime_s", 0.0))),
        )
