# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Which process serves: unit, listening socket, log. PRIVATE to this collection.

"The port answers" proves little: after a restart that failed, the old process may still hold the port. So the
listening socket is traced to a pid, the pid to the unit's cgroup, and the unit to its invocation.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
from dataclasses import dataclass
from typing import Iterator

from .errors import VllmError

COMMAND_LIMIT_S = 10.0
LOG_LINES = 600
LOG_CHARACTERS = 256 * 1024
LISTEN = "0A"  # state column of /proc/net/tcp
CGROUP_ROOT = "/sys/fs/cgroup"
PROPERTIES = (
    "LoadState,ActiveState,SubState,Result,MainPID,InvocationID,ControlGroup,ExecMainStatus,ExecMainCode,"
    "ExecMainStartTimestampMonotonic,NRestarts"
)


@dataclass(frozen=True)
class Unit:
    """What systemd says of a unit; ``main_pid`` is 0 when nothing runs, times are s of CLOCK_MONOTONIC."""

    name: str
    load_state: str
    active_state: str
    sub_state: str
    result: str
    main_pid: int
    invocation_id: str
    control_group: str
    exit_status: int | None  # of the process that ended last; the signal's number when it was killed
    killed: bool
    started_s: float | None

    @property
    def running(self) -> bool:
        """A main process is there."""
        return self.main_pid > 0 and self.active_state in ("active", "activating", "reloading")

    @property
    def will_restart(self) -> bool:
        """systemd waits to start it again."""
        return self.active_state == "activating" and self.sub_state == "auto-restart"


def _run(command: list[str], limit_s: float) -> str:
    """Output of a command, English, bounded in time; raises VllmError ``systemd_silent`` or ``no_systemd``."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=limit_s,
            env=dict(os.environ, LC_ALL="C", SYSTEMD_PAGER="", SYSTEMD_COLORS="0"),
            check=False,
        )
    except FileNotFoundError as exc:
        raise VllmError("no_systemd", f"{command[0]} is not on this host; this needs systemd") from exc
    except subprocess.TimeoutExpired as exc:
        raise VllmError("systemd_silent", f"{command[0]} did not answer in {limit_s:.0f} s") from exc
    return done.stdout.decode("utf-8", "replace")


def unit(name: str) -> Unit:
    """Ask systemd about a unit; one that it does not know has load state ``not-found``."""
    text = _run(["systemctl", "show", name, "--property=" + PROPERTIES], COMMAND_LIMIT_S)
    return parse_unit(name, text)


def parse_unit(name: str, text: str) -> Unit:
    """A Unit from the ``key=value`` lines of ``systemctl show``."""
    values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    exit_status = values.get("ExecMainStatus", "")
    # ExecMainCode 0 means that no process has ended yet, so the status beside it is no exit status.
    ended = values.get("ExecMainCode", "0") not in ("0", "") and exit_status.isdigit()
    started = values.get("ExecMainStartTimestampMonotonic", "0")
    return Unit(
        name=name,
        load_state=values.get("LoadState", "not-found"),
        active_state=values.get("ActiveState", "unknown"),
        sub_state=values.get("SubState", "unknown"),
        result=values.get("Result", ""),
        main_pid=int(values.get("MainPID") or 0),
        invocation_id=values.get("InvocationID", ""),
        control_group=values.get("ControlGroup", ""),
        exit_status=int(exit_status) if ended else None,
        killed=values.get("ExecMainCode") in ("2", "3"),  # CLD_KILLED, CLD_DUMPED
        started_s=int(started) / 1e6 if started.isdigit() and started != "0" else None,
    )


def log(name: str, invocation_id: str | None) -> str:
    """The last lines that one start of a unit wrote; without an invocation id those since boot. May be empty."""
    command = ["journalctl", "--quiet", "--no-pager", "--output=cat", f"--lines={LOG_LINES}", "--unit=" + name]
    command.append("_SYSTEMD_INVOCATION_ID=" + invocation_id if invocation_id else "--boot")
    with contextlib.suppress(VllmError):
        return _run(command, COMMAND_LIMIT_S)[-LOG_CHARACTERS:]
    return ""


# -- sockets -----------------------------------------------------------------------------------------------------
def listening_inodes(host: str, port: int) -> set[int]:
    """Inodes of the sockets that accept connections made to ``host:port``."""
    wanted = _addresses(host)
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(FileNotFoundError), open(table, encoding="ascii") as handle:
            found |= parse_listeners(handle.read(), wanted, port)
    return found


def parse_listeners(table: str, addresses: set[str], port: int) -> set[int]:
    """Inodes of listeners in the text of /proc/net/tcp or tcp6 at ``port``, on one of ``addresses`` or on all."""
    found = set()
    for line in table.splitlines()[1:]:
        words = line.split()
        if len(words) < 10 or words[3] != LISTEN:
            continue
        address, _colon, number = words[1].partition(":")
        if int(number, 16) != port:
            continue
        if set(address) == {"0"} or address in addresses:
            found.add(int(words[9]))
    return found


def _addresses(host: str) -> set[str]:
    """``host`` in the notations of /proc/net/tcp and tcp6: 32-bit words in the byte order of this machine."""
    found = set()
    with contextlib.suppress(OSError):
        for family, _kind, _protocol, _name, address in socket.getaddrinfo(host, None, 0, socket.SOCK_STREAM):
            packed = socket.inet_pton(family, str(address[0]).partition("%")[0])
            found.add(_kernel_hex(packed))
            if len(packed) == 4:  # a v6 listener that was bound to the mapped v4 address
                found.add(_kernel_hex(b"\0" * 10 + b"\xff\xff" + packed))
    return found


def _kernel_hex(packed: bytes) -> str:
    words = [packed[at : at + 4][::-1] for at in range(0, len(packed), 4)]  # every Jetson is little-endian
    return "".join(word.hex() for word in words).upper()


def holders(inodes: set[int], pids: Iterator[int]) -> set[int]:
    """Those of ``pids`` that hold one of the sockets. Raises VllmError ``not_permitted`` when none may be looked at."""
    wanted = {f"socket:[{inode}]" for inode in inodes}
    found = set()
    refused = False
    for pid in pids:
        folder = f"/proc/{pid}/fd"
        try:
            names = os.listdir(folder)
        except PermissionError:
            refused = True
            continue
        except OSError:
            continue  # it ended meanwhile
        for name in names:
            with contextlib.suppress(OSError):
                if os.readlink(os.path.join(folder, name)) in wanted:
                    found.add(pid)
                    break
    if refused and not found:
        raise VllmError("not_permitted", "which process holds the port can only be seen as root")
    return found


def all_pids() -> Iterator[int]:
    """Every process of this machine."""
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def cgroup_pids(control_group: str) -> Iterator[int]:
    """The processes of a unit's cgroup and those below it, for cgroup v2 and for systemd's own v1 hierarchy."""
    for base in (CGROUP_ROOT, os.path.join(CGROUP_ROOT, "systemd"), os.path.join(CGROUP_ROOT, "unified")):
        top = base + control_group
        if not control_group or not os.path.isdir(top):
            continue
        for folder, _folders, _files in os.walk(top):
            with contextlib.suppress(OSError), open(os.path.join(folder, "cgroup.procs"), encoding="ascii") as handle:
                for line in handle:
                    yield int(line)
        return


def server_pid(host: str, port: int) -> int | None:
    """The process that listens at ``host:port``; None when there is none or it can't be seen."""
    inodes = listening_inodes(host, port)
    if not inodes:
        return None
    with contextlib.suppress(VllmError):
        return min(holders(inodes, all_pids()), default=None)
    return None


def start_ticks(pid: int | None) -> int | None:
    """Start of a process in clock ticks since boot: with the pid it names one process for good within a boot."""
    if pid is None:
        return None
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as handle:
            return int(handle.read().rpartition(")")[2].split()[19])  # the name in brackets may hold anything
    except (OSError, IndexError, ValueError):
        return None
