# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""What lies in the state directory: marker, slots, link, history. PRIVATE to this collection.

::

    state.json            the marker: which slot serves, by what right, and what it falls back to
    lease.json            how long the armed candidate may still run
    slots/<digest>/       start, serve.yaml, slot.json: one complete setting each, never edited
    current -> slots/...  what the unit starts
    history.jsonl         the last transitions
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
from typing import Any

from . import clock, disk
from .errors import SlotError

DEFAULT_STATE_DIR = "/var/lib/jetson-specdec"
RUN_DIR = "/run/jetson-specdec"  # gone at boot: a permit does not survive one
EXIT_NO_PERMIT = 64  # named in the unit's RestartPreventExitStatus
HISTORY_LINES = 200
STATES = ("baseline", "candidate", "confirmed")


def slot_digest(spec: dict[str, Any]) -> str:
    """Name of the slot that holds ``spec``: 12 hex digits over all that decides what is served.

    Command, vLLM configuration, non-secret environment, runtime and revisions count; who asked for it does not.
    """
    decisive = {name: spec.get(name) for name in ("command", "config", "environment", "runtime", "revisions")}
    canonical = json.dumps(decisive, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()[:12]


def read_marker(state_dir: str) -> dict[str, Any] | None:
    """The marker in ``state_dir``, or None where this collection never installed a server."""
    return Store(state_dir).read_marker()


def target_slot(marker: dict[str, Any]) -> str:
    """The slot that the marker says must serve."""
    return str(marker[marker["state"]])


class Store:
    """The state directory of one host."""

    def __init__(self, state_dir: str = DEFAULT_STATE_DIR, run_dir: str = RUN_DIR) -> None:
        self.state_dir = state_dir
        self.run_dir = run_dir
        self.marker_path = os.path.join(state_dir, "state.json")
        self.lease_path = os.path.join(state_dir, "lease.json")
        self.lock_path = os.path.join(state_dir, "lock")
        self.current_link = os.path.join(state_dir, "current")
        self.history_path = os.path.join(state_dir, "history.jsonl")

    # -- marker ------------------------------------------------------------------------------------------------
    def read_marker(self) -> dict[str, Any] | None:
        """The marker, checked; None when there is none.

        Raises SlotError ``state_unreadable`` when it is there and makes no sense.
        """
        marker = disk.read_json(self.marker_path)
        if marker is None:
            return None
        state = marker.get("state")
        if marker.get("schema") != 1 or state not in STATES or not isinstance(marker.get(state), str):
            raise SlotError(
                "state_unreadable",
                f"{self.marker_path} does not name a slot for its state {state!r}; nothing was changed",
            )
        return marker

    def write_marker(self, marker: dict[str, Any]) -> None:
        """Make ``marker`` the truth. The start script greps this text, so its form is one key a line."""
        disk.write_durable(self.marker_path, json.dumps(marker, indent=1, sort_keys=True) + "\n")

    def record(self, event: str, **details: Any) -> None:
        """Add a line to the bounded history. A full disk must not stop a revert, so this never raises."""
        entry = {"event": event, "at": clock.wall_time(), "boottime_s": round(clock.boottime_s(), 1)}
        entry.update(details)
        with contextlib.suppress(OSError):
            disk.append_bounded(self.history_path, entry, HISTORY_LINES)

    # -- slots -------------------------------------------------------------------------------------------------
    def slot_dir(self, digest: str) -> str:
        """Folder of a slot."""
        return os.path.join(self.state_dir, "slots", digest)

    def slot_files(self, spec: dict[str, Any]) -> dict[str, str]:
        """The texts of a slot's files, by name: pure, so check mode and the real thing can't differ."""
        digest = slot_digest(spec)
        files = {"serve.yaml": json.dumps(spec["config"], indent=2, sort_keys=True) + "\n"}
        files["start"] = self._start_script(digest, spec)
        about = {"digest": digest, "spec": spec, "sha256": {name: _sha256(text) for name, text in files.items()}}
        files["slot.json"] = json.dumps(about, indent=1, sort_keys=True) + "\n"
        return files

    def _start_script(self, digest: str, spec: dict[str, Any]) -> str:
        lines = ["#!/bin/sh", f"# Slot {digest}, written by jetson.specdec. Do not edit.", "set -eu"]
        if spec["kind"] == "candidate":
            permit = shlex.quote(self.permit_path(digest))
            lines += [
                "# Until a gate has confirmed it, this slot is started once, by the run that armed it.",
                f'if ! grep -qs \'"confirmed": "{digest}"\' {shlex.quote(self.marker_path)}; then',
                f"    rm {permit} 2>/dev/null || {{",
                f"        echo 'slot {digest} is not confirmed and has no permit: not started' >&2",
                f"        exit {EXIT_NO_PERMIT}",
                "    }",
                "fi",
            ]
        lines += [
            f"mkdir -p {shlex.quote(self.run_dir)}",
            f'echo "{digest} $$" > {shlex.quote(self.running_path)}',
        ]
        for name, value in sorted(spec.get("environment", {}).items()):
            lines.append(f"export {name}={shlex.quote(value)}")
        command = list(spec["command"]) + ["--config", os.path.join(self.slot_dir(digest), "serve.yaml")]
        lines.append("exec {}".format(" ".join(shlex.quote(word) for word in command)))
        return "\n".join(lines) + "\n"

    def slot_on_disk(self, digest: str) -> dict[str, str]:
        """The texts of a slot's files as they lie on disk; missing ones are left out."""
        texts = {}
        for name in ("serve.yaml", "start", "slot.json"):
            text = disk.read_text(os.path.join(self.slot_dir(digest), name))
            if text is not None:
                texts[name] = text
        return texts

    def stage(self, spec: dict[str, Any]) -> bool:
        """Lay the slot of ``spec``; True when something had to be written. Nothing runs it yet."""
        digest = slot_digest(spec)
        files = self.slot_files(spec)
        if self.slot_on_disk(digest) == files:
            return False
        for name in ("serve.yaml", "start", "slot.json"):  # slot.json last: it vouches for the others
            path = os.path.join(self.slot_dir(digest), name)
            disk.write_durable(path, files[name], 0o755 if name == "start" else 0o644)
        return True

    def load_slot(self, digest: str) -> dict[str, Any]:
        """The spec of a staged slot, after checking that its files are what was staged.

        Raises SlotError ``slot_damaged``.
        """
        texts = self.slot_on_disk(digest)
        about = json.loads(texts["slot.json"]) if "slot.json" in texts else {}
        sums = about.get("sha256", {})
        if not sums or any(_sha256(texts.get(name, "")) != wanted for name, wanted in sums.items()):
            raise SlotError("slot_damaged", f"slot {digest} in {self.slot_dir(digest)} is incomplete or was edited")
        return about["spec"]

    # -- what serves -------------------------------------------------------------------------------------------
    def current_slot(self) -> str | None:
        """The slot that ``current`` points to."""
        try:
            return os.path.basename(os.readlink(self.current_link))
        except FileNotFoundError:
            return None

    def point_current(self, digest: str) -> None:
        """The switch: one rename."""
        disk.point_link(self.current_link, os.path.join("slots", digest))

    @property
    def running_path(self) -> str:
        """Where the start script notes slot and pid."""
        return os.path.join(self.run_dir, "running")

    def running_slot(self, main_pid: int) -> str | None:
        """The slot that process ``main_pid`` was started from, or None when that is not known."""
        words = (disk.read_text(self.running_path) or "").split()
        if len(words) == 2 and words[1] == str(main_pid):
            return words[0]
        return None

    def permit_path(self, digest: str) -> str:
        """The file whose removal allows one start of an unconfirmed slot."""
        return os.path.join(self.run_dir, f"permit-{digest}")

    def grant_permit(self, digest: str) -> None:
        """Allow one start of an unconfirmed slot, in this boot only."""
        os.makedirs(self.run_dir, exist_ok=True)
        with open(self.permit_path(digest), "w", encoding="ascii") as handle:
            handle.write(f"{digest}\n")

    def withdraw_permits(self) -> None:
        """Take back what was granted and not used."""
        if os.path.isdir(self.run_dir):
            for name in os.listdir(self.run_dir):
                if name.startswith("permit-"):
                    os.unlink(os.path.join(self.run_dir, name))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
