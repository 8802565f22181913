# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""systemd, as far as a switch needs it, and who serves on this host. PRIVATE to this collection."""

from __future__ import annotations

import os
import socket
import subprocess
from typing import Any

from . import disk
from .errors import SlotError

UNIT_DIR = "/etc/systemd/system"
SIGNATURE = "# Managed by the Ansible collection jetson.specdec."
COMMAND_LIMIT_S = 60.0  # a disk that is being flushed can hold systemd up for many seconds
STOP_LIMIT_S = 90.0  # more than the unit's TimeoutStopSec, after which systemd itself kills
PROPERTIES = (
    "LoadState",
    "ActiveState",
    "SubState",
    "MainPID",
    "InvocationID",
    "UnitFileState",
    "FragmentPath",
    "Result",
)


def systemctl(*arguments: str, limit_s: float = COMMAND_LIMIT_S) -> subprocess.CompletedProcess[str]:
    """Run systemctl under a time limit, its output in English, its failure left to the caller.

    Raises SlotError ``systemd_silent`` when it does not answer in time.
    """
    environment = dict(os.environ, LC_ALL="C", SYSTEMD_PAGER="", SYSTEMD_COLORS="0")
    try:
        return subprocess.run(
            ("systemctl",) + arguments,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=limit_s,
            env=environment,
            check=False,
        )
    except FileNotFoundError as exc:
        raise SlotError("no_systemd", "systemctl is not on this host; this collection needs systemd") from exc
    except subprocess.TimeoutExpired as exc:
        raise SlotError(
            "systemd_silent", "systemctl {} did not answer in {:.0f} s".format(" ".join(arguments), limit_s)
        ) from exc


def show(unit: str) -> dict[str, str]:
    """The properties of a unit that a switch decides on."""
    done = systemctl("show", unit, "--property={}".format(",".join(PROPERTIES)))
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def is_ours(properties: dict[str, str]) -> bool:
    """Does the unit's own file carry our signature? A unit that does not is never touched."""
    path = properties.get("FragmentPath") or ""
    return bool(path) and SIGNATURE in (disk.read_text(path) or "")


def running(unit: str) -> dict[str, Any]:
    """The process that a unit runs now: ``{main_pid: int, invocation_id: str}``, pid 0 for none."""
    properties = show(unit)
    active = properties.get("ActiveState") in ("active", "activating", "reloading")
    pid = properties.get("MainPID", "0")
    return {
        "main_pid": int(pid) if active and pid.isdigit() else 0,
        "invocation_id": properties.get("InvocationID", ""),
        "active_state": properties.get("ActiveState", "unknown"),
    }


def start(unit: str) -> dict[str, Any]:
    """Start a unit with its failure counters reset first; returns ``running(unit)``.

    Raises SlotError ``start_refused`` when systemd does not even execute it.
    """
    systemctl("reset-failed", unit)  # a used-up start limit must not outlive the setting that used it up
    done = systemctl("start", unit)
    if done.returncode != 0:
        raise SlotError("start_refused", f"systemd did not start {unit}: {done.stderr.strip()}")
    return running(unit)


def stop(unit: str) -> None:
    """Stop a unit; what does not go in time is killed by systemd.

    Raises SlotError ``stop_incomplete`` when it is still there.
    """
    try:
        systemctl("stop", unit, limit_s=STOP_LIMIT_S)
    except SlotError:
        systemctl("kill", "--signal=SIGKILL", unit)
        systemctl("stop", unit, limit_s=STOP_LIMIT_S)
    state = show(unit).get("ActiveState")
    if state not in ("inactive", "failed"):
        raise SlotError("stop_incomplete", f"{unit} is still {state} after being stopped")


def port_answers(host: str, port: int) -> bool:
    """Does something accept connections there? A wildcard address is asked on loopback."""
    address = "127.0.0.1" if host in ("", "0.0.0.0", "::") else host
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(2.0)
        return probe.connect_ex((address, port)) == 0


def who_serves(unit: str, host: str, port: int) -> dict[str, str]:
    """Whose server is on this host: ``{by: nothing|ours|foreign, text: one sentence}``."""
    properties = show(unit)
    state = properties.get("ActiveState", "unknown")
    if properties.get("LoadState") not in ("not-found", None):
        path = properties.get("FragmentPath") or properties.get("LoadState", "")
        if not is_ours(properties):
            return {"by": "foreign", "text": f"{unit} ({path}, {state}) was not made by this collection"}
        if state in ("active", "activating") or not port_answers(host, port):
            return {"by": "ours", "text": f"{unit} is ours and {state}"}
        return {
            "by": "foreign",
            "text": f"port {port} is answered although our {unit} is {state}: another server uses it",
        }
    if port_answers(host, port):
        return {"by": "foreign", "text": f"port {port} on {host} is answered by a server that is not ours"}
    return {"by": "nothing", "text": f"no {unit} and nothing on port {port}"}
