# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""A measurement that outlives whoever asked for it: a transient unit, polled. PRIVATE to this collection.

::

    runs/<run id>/<arm>-c<N>.spec.json      what is to be measured, laid first
    runs/<run id>/<arm>-c<N>.started.json   that a unit was started for it
    runs/<run id>/<arm>-c<N>.progress.json  how far it is
    runs/<run id>/<arm>-c<N>.json           the level, there whole or not at all

A lost connection neither ends nor spoils the measurement, and asking again finds its result.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from typing import Any

from . import benchmark, process
from .errors import VllmError

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}")
COMMAND_LIMIT_S = 20.0
LOOK_S = 0.2  # for the result file
ASK_SYSTEMD_S = 2.0  # costs a process each time
GRACE_S = 90.0  # beyond the arm's own deadline, before systemd ends the unit
LAST_LINES = 5


class Detached:
    """One level of one arm on this host."""

    def __init__(self, state_dir: str, spec: dict[str, Any]) -> None:
        """``spec`` is what ``benchmark.run`` takes. Raises VllmError ``bad_spec``."""
        benchmark.check_spec(spec)
        if not RUN_ID.fullmatch(str(spec["run_id"])):
            raise VllmError(
                "bad_spec",
                f"run_id {spec['run_id']!r} names files and a unit: letters, digits and _ . : - only, 64 at most",
            )
        self.spec = spec
        self.state_dir = state_dir
        name = f"{spec['arm']}-c{spec['concurrency']}"
        self.folder = os.path.join(state_dir, "runs", spec["run_id"])
        self.spec_path = os.path.join(self.folder, name + ".spec.json")
        self.started_path = os.path.join(self.folder, name + ".started.json")
        self.progress_path = os.path.join(self.folder, name + ".progress.json")
        self.result_path = os.path.join(self.folder, name + ".json")
        self.unit = f"jetson-specdec-bench-{spec['run_id']}-{name}.service"

    # -- polling -----------------------------------------------------------------------------------------------
    def poll(self, wait_s: float) -> dict[str, Any]:
        """Start the measurement if nobody did, then wait for its end, ``wait_s`` seconds at most.

        Returns ``{finished, level, outcome, progress}``. Raises VllmError
        ``spec_changed``, ``no_device_package``, ``not_started``, ``not_writable`` or ``result_unreadable``.
        """
        until = time.monotonic() + wait_s
        self._check_same_spec()
        level = self._level()
        if level is None and not self._runs() and not os.path.exists(self.started_path):
            self._start()
        asked_s = time.monotonic()
        while level is None:
            now = time.monotonic()
            if now >= asked_s + ASK_SYSTEMD_S or now >= until:
                asked_s = now
                if not self._runs():
                    level = self._level()  # it may have ended between the two looks
                    if level is None:
                        return self._answer(None, self._death())
            level = level or self._level()
            if level is not None or time.monotonic() >= until:
                break
            time.sleep(LOOK_S)
        if level is None:
            progress = self.progress()
            text = f"{progress['phase']} {progress['done']} of {progress['total']}"
            return self._answer(None, {"ok": True, "code": "running", "text": text})
        return self._answer(level, level["outcome"])

    def _answer(self, level: dict[str, Any] | None, outcome: dict[str, Any]) -> dict[str, Any]:
        return {
            "finished": level is not None or outcome["code"] != "running",
            "level": level,
            "outcome": outcome,
            "progress": self.progress(),
        }

    def progress(self) -> dict[str, Any]:
        """Phase, done, total and tok/s as last written; phase ``starting`` before that."""
        state = {"phase": "starting", "done": 0, "total": self.spec["requests"], "tok_s": None}
        with contextlib.suppress(OSError, ValueError, TypeError), open(self.progress_path, encoding="utf-8") as handle:
            state.update(json.load(handle))
        return state

    def _level(self) -> dict[str, Any] | None:
        try:
            with open(self.result_path, encoding="utf-8") as handle:
                level = json.load(handle)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as exc:
            raise VllmError("result_unreadable", f"{self.result_path} can't be read: {exc}") from exc
        if not isinstance(level, dict) or not isinstance(level.get("outcome"), dict):
            raise VllmError("result_unreadable", f"{self.result_path} is no level; measure again under another run_id")
        return level

    def _check_same_spec(self) -> None:
        """A run id names one measurement: another one under its name would be taken for it."""
        try:
            with open(self.spec_path, encoding="utf-8") as handle:
                laid = json.load(handle)
        except FileNotFoundError:
            return
        except (OSError, ValueError) as exc:
            raise VllmError("result_unreadable", f"{self.spec_path} can't be read: {exc}") from exc
        differing = sorted(name for name in self.spec if name != "deadline_s" and laid.get(name) != self.spec[name])
        if differing:
            raise VllmError(
                "spec_changed",
                f"run {self.spec['run_id']} measures this arm with other settings ({', '.join(differing)}); "
                "use another run_id",
            )

    def _runs(self) -> bool:
        """Does systemd run it? A systemd too busy to answer says nothing of a measurement, which goes on meanwhile."""
        try:
            state = process.unit(self.unit).active_state
        except VllmError as exc:
            if exc.code != "systemd_silent":
                raise
            return True
        return state in ("active", "activating", "deactivating", "reloading")

    def _death(self) -> dict[str, Any]:
        lines = [line for line in process.log(self.unit, None).splitlines() if line.strip()][-LAST_LINES:]
        text = "the measuring process ended without a result"
        with contextlib.suppress(OSError, ValueError), open(self.started_path, encoding="utf-8") as handle:
            if json.load(handle).get("boot_id") != benchmark.boot_id():
                text = "the host was rebooted while it was measured"
        if lines:
            text += "; its last lines: " + " | ".join(line[:200] for line in lines)
        return {"ok": False, "code": "benchmark_died", "text": text}

    # -- starting ----------------------------------------------------------------------------------------------
    def command(self) -> list[str]:
        """What measures: the device package under the interpreter that was recorded with it."""
        entry = os.path.join(self.state_dir, "device", "current", "entry.py")
        if not os.path.exists(entry):
            raise VllmError(
                "no_device_package",
                f"{entry} is not there: lay the device package with specdec_slot (action: install) first",
            )
        interpreter = sys.executable
        recorded = os.path.join(self.state_dir, "device", "interpreter")
        with contextlib.suppress(OSError), open(recorded, encoding="utf-8") as handle:
            interpreter = handle.read().strip() or interpreter
        return [interpreter, "-B", "-I", entry, "benchmark", self.spec_path, self.result_path]

    def _start(self) -> None:
        limit_s = float(self.spec.get("deadline_s") or benchmark.DEADLINE_S) + GRACE_S
        command = [
            "systemd-run",
            "--quiet",
            "--collect",
            f"--unit={self.unit}",
            f"--description=jetson.specdec: measure {self.spec['arm']} at concurrency {self.spec['concurrency']}",
            f"--property=RuntimeMaxSec={limit_s:.0f}",
            "--",
        ]
        command += self.command()
        try:
            os.makedirs(self.folder, mode=0o755, exist_ok=True)
            _write(self.spec_path, self.spec)
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                timeout=COMMAND_LIMIT_S,
                check=False,
            )
            if done.returncode != 0:
                raise VllmError("not_started", f"systemd did not start the measurement: {done.stdout.strip()[-300:]}")
            _write(self.started_path, {"boot_id": benchmark.boot_id(), "unit": self.unit})
        except FileNotFoundError as exc:
            raise VllmError("no_systemd", f"{exc.filename} is not on this host; this needs systemd") from exc
        except subprocess.TimeoutExpired as exc:
            raise VllmError("not_started", f"systemd-run did not answer in {COMMAND_LIMIT_S:.0f} s") from exc
        except OSError as exc:
            raise VllmError("not_writable", f"{exc.filename or self.folder}: {exc.strerror}") from exc


def _write(path: str, content: dict[str, Any]) -> None:
    """Replace a file whole. What a power cut takes from it is measured again, so nothing waits for the disk here."""
    descriptor, temporary = tempfile.mkstemp(prefix=".", dir=os.path.dirname(path))
    with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
        json.dump(content, handle, sort_keys=True)
    os.replace(temporary, path)
