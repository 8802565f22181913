# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Bounded files and commands: the only place where the probe touches the host. PRIVATE to this collection.

Every file has a size limit and must be a regular file, every command a time limit and an output limit, so that
neither a FIFO, nor an endless file, nor a hanging ``nvidia-smi`` can hold the probe.
"""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import signal
import stat
import subprocess
import time
from typing import Callable, NamedTuple, Sequence

from .errors import ProbeError, show

_MISSING = (errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO)
_BIN_DIRS = ("usr/sbin", "usr/bin", "sbin", "bin")
_FILE_LIMIT = 256 * 1024
_OUTPUT_LIMIT = 256 * 1024
_REAP_S = 0.5


class Unreadable(ProbeError):
    """A file is there but cannot be read (permission, I/O error, not a regular file, too large)."""

    def __init__(self, text: str) -> None:
        super().__init__("file_unreadable", text)


class Result(NamedTuple):
    """What a command gave. ``rc`` is None when it is missing or was stopped; ``stopped`` then says why."""

    rc: int | None
    out: bytes = b""
    err: bytes = b""
    missing: bool = False
    stopped: str = ""


class _Running:
    """One started command: its pipes, what they have said so far, and its deadline."""

    def __init__(self, process: subprocess.Popen[bytes], deadline: float) -> None:
        self.process = process
        self.deadline = deadline
        self.chunks: dict[str, bytearray] = {"out": bytearray(), "err": bytearray()}
        self.open_pipes = 2

    def end(self, kill: bool) -> None:
        """Close the pipes; kill the whole session first where asked. An unkillable process (state D) is left behind."""
        if kill:
            with contextlib.suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=_REAP_S)


class Reader:
    """Reads one host.

    :param root: the directory taken as ``/``; another one only in tests.
    :param machine: machine name as in ``uname -m``; None reads the kernel's.
    :param clock: wall clock, seconds since 1970.
    :param command_timeout_s: time limit of each command, in seconds.
    """

    def __init__(
        self,
        root: str = "/",
        machine: str | None = None,
        clock: Callable[[], float] = time.time,
        command_timeout_s: float = 5.0,
    ) -> None:
        self.root = root
        self.machine = machine or os.uname().machine
        self.clock = clock
        self.command_timeout_s = command_timeout_s

    def _path(self, path: str) -> str:
        return os.path.join(self.root, path.lstrip("/"))

    def read(self, path: str, limit: int = _FILE_LIMIT) -> bytes | None:
        """The bytes of a file, None when there is none.

        :raises Unreadable: the file is there but cannot be read whole within ``limit`` bytes.
        """
        try:
            # O_NONBLOCK: opening a FIFO must not wait for a writer.
            fd = os.open(self._path(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as exc:
            if exc.errno in _MISSING:
                return None
            raise Unreadable(f"{path} cannot be opened: {exc.strerror}.") from exc
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise Unreadable(f"{path} is not a regular file.")
            data = bytearray()
            while len(data) <= limit:
                chunk = os.read(fd, limit + 1 - len(data))
                if not chunk:
                    return bytes(data)
                data += chunk
        except OSError as exc:
            raise Unreadable(f"{path} cannot be read: {exc.strerror}.") from exc
        finally:
            os.close(fd)
        raise Unreadable(f"{path} is larger than {limit} bytes.")

    def exists(self, path: str) -> bool:
        """Whether the path is there, whatever it is."""
        return os.path.lexists(self._path(path))

    def find_command(self, name: str) -> str | None:
        """Full path of a command. PATH is not used: a login-less shell often lacks /usr/sbin, and PATH is not ours."""
        for folder in _BIN_DIRS:
            path = os.path.join(self.root, folder, name)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
        return None

    def run_all(self, commands: Sequence[Sequence[str]]) -> list[Result]:
        """Run commands side by side; results in the order of the commands. Never raises for what a command does.

        A hanging command costs its time limit once, however many others run beside it.
        """
        results: dict[int, Result] = {}
        running: dict[int, _Running] = {}
        with selectors.DefaultSelector() as selector:
            for index, argv in enumerate(commands):
                path = self.find_command(argv[0])
                if path is None:
                    results[index] = Result(None, missing=True)
                    continue
                try:
                    process = self._start([path, *argv[1:]])
                except OSError as exc:
                    results[index] = Result(127, b"", os.fsencode(exc.strerror or "cannot be started"))
                    continue
                running[index] = _Running(process, time.monotonic() + self.command_timeout_s)
                for pipe, stream in ((process.stdout, "out"), (process.stderr, "err")):
                    if pipe is not None:
                        selector.register(pipe, selectors.EVENT_READ, (index, stream))
            while running:
                self._pump(selector, running)
                for index in list(running):
                    result = self._ended(selector, running[index])
                    if result is not None:
                        results[index] = result
                        del running[index]
        return [results[index] for index in range(len(commands))]

    @staticmethod
    def _start(argv: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"},
            cwd="/",
            start_new_session=True,
        )

    @staticmethod
    def _pump(selector: selectors.BaseSelector, running: dict[int, _Running]) -> None:
        wait = max(0.0, min(one.deadline for one in running.values()) - time.monotonic())
        # Closed pipes of a process that has not ended yet give no event: look again soon.
        if any(one.open_pipes == 0 for one in running.values()):
            wait = min(wait, 0.005)
        for key, _event in selector.select(wait):
            index, stream = key.data
            chunk = os.read(key.fd, 65536)
            room = _OUTPUT_LIMIT - len(running[index].chunks[stream])
            running[index].chunks[stream] += chunk[:room]
            if not chunk:
                selector.unregister(key.fileobj)
                running[index].open_pipes -= 1

    @staticmethod
    def _ended(selector: selectors.BaseSelector, one: _Running) -> Result | None:
        """The result of a command that has ended or ran out of time or of output, else None."""
        late = time.monotonic() >= one.deadline
        # A grandchild may hold the pipes open after the command has ended: then its status counts at the deadline.
        rc = one.process.poll() if one.open_pipes == 0 or late else None
        stopped = ""
        if any(len(chunk) >= _OUTPUT_LIMIT for chunk in one.chunks.values()):
            rc, stopped = None, f"wrote more than {_OUTPUT_LIMIT} bytes"
        elif rc is None and late:
            stopped = "did not end within its time limit"
        if rc is None and not stopped:
            return None
        for pipe in (one.process.stdout, one.process.stderr):
            with contextlib.suppress(KeyError, ValueError):
                selector.unregister(pipe)  # type: ignore[arg-type]
        one.end(kill=bool(stopped) or one.open_pipes > 0)
        return Result(rc, bytes(one.chunks["out"]), bytes(one.chunks["err"]), stopped=stopped)


def text_of(reader: Reader, path: str) -> str | None:
    """First line of a small text file for display: printable ASCII, None when missing or unreadable."""
    try:
        data = reader.read(path, limit=4096)
    except Unreadable:
        return None
    if data is None:
        return None
    text = show(data.split(b"\n")[0].rstrip(b"\0\r"))[1:-1]
    return text or None
