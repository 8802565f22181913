# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Writing so that a power cut leaves the old or the new, never a mix. PRIVATE to this collection."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
from typing import Any, Iterator

from .errors import SlotError


def sync_directory(path: str) -> None:
    """Force the entries of a directory to disk: without it a finished rename can be lost with the power."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directory(path: str, mode: int = 0o755) -> None:
    """Create a directory and its parents, each one durable before the next is used."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    make_directory(parent)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, mode)
    sync_directory(parent)


def write_durable(path: str, text: str, mode: int = 0o644) -> None:
    """Replace a file by temp file, fsync, rename and fsync of the directory."""
    directory = os.path.dirname(path)
    make_directory(directory)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=directory)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
            handle.write(text)
            handle.flush()
            os.fchmod(handle.fileno(), mode)
            os.fsync(handle.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    sync_directory(directory)


def point_link(link: str, target: str) -> None:
    """Make ``link`` point to ``target`` by one rename(2): readers see the old target or the new one."""
    temporary = f"{link}.new"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)
    os.symlink(target, temporary)
    os.replace(temporary, link)
    sync_directory(os.path.dirname(link))


def remove_durable(path: str) -> None:
    """Remove a file if it is there, durably."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
        sync_directory(os.path.dirname(path))


def read_text(path: str) -> str | None:
    """The text of a file, or None when it does not exist."""
    try:
        with open(path, encoding="utf-8") as handle:
            return handle.read()
    except FileNotFoundError:
        return None


def read_json(path: str) -> dict[str, Any] | None:
    """A JSON object from a file, or None when there is no file.

    Raises SlotError ``state_unreadable`` for anything else than an object: a marker that cannot be read is
    never taken for "nothing here".
    """
    text = read_text(path)
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as exc:
        raise SlotError("state_unreadable", f"{path} is not JSON ({exc}); nothing was changed") from exc
    if not isinstance(value, dict):
        raise SlotError("state_unreadable", f"{path} does not hold a JSON object; nothing was changed")
    return value


def append_bounded(path: str, record: dict[str, Any], keep: int) -> None:
    """Append a record to a JSON-lines file that keeps its last ``keep`` lines."""
    lines = (read_text(path) or "").splitlines()[-(keep - 1) :]
    lines.append(json.dumps(record, sort_keys=True))
    write_durable(path, "\n".join(lines) + "\n")


@contextlib.contextmanager
def locked(path: str, wait: bool = True) -> Iterator[None]:
    """Hold the host's transaction lock: module, guard and boot check never switch at the same time."""
    make_directory(os.path.dirname(path))
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as exc:
            raise SlotError("busy", "another switch is under way on this host; nothing was changed") from exc
        yield
    finally:
        os.close(descriptor)
