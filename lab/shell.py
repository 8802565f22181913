# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Running commands and saying what the lab is doing."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path


class LabError(Exception):
    """The lab cannot do what was asked; the text says what, why and what to do."""


def say(text: str) -> None:
    """One line of progress. Flushed, because a build log is read while it grows."""
    print(f"lab: {text}", flush=True)


@contextlib.contextmanager
def step(text: str) -> Iterator[None]:
    """Announce a step that may take long, and how many seconds it took."""
    say(f"{text} ...")
    begun = time.monotonic()
    yield
    say(f"{text}: done in {time.monotonic() - begun:.1f} s")


def run(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    check: bool = True,
    timeout_s: float = 600.0,
) -> subprocess.CompletedProcess[str]:
    """Run a command, its output captured.

    Raises LabError with the end of the output if it fails (unless `check` is false) or runs longer than `timeout_s`.
    """
    whole = {**os.environ, **env} if env else None
    # Without a file of its own as standard input, a command could wait for somebody who is not there.
    source = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
    try:
        done = subprocess.run(
            list(command), env=whole, capture_output=True, text=True, check=False, timeout=timeout_s, **source
        )
    except FileNotFoundError as exc:
        raise LabError(f"{command[0]} is not installed: run `python3 lab/lab.py setup`") from exc
    except subprocess.TimeoutExpired as exc:
        raise LabError(f"`{' '.join(command[:6])} ...` did not end within {timeout_s:.0f} s") from exc
    if check and done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
        raise LabError(f"`{' '.join(command[:6])} ...` ended with {done.returncode}:\n{tail}")
    return done


def write_whole(path: Path, data: bytes | str, mode: int = 0o644) -> None:
    """Write a file that is either there whole or not at all, also if we are killed on the way."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_bytes(data.encode() if isinstance(data, str) else data)
    fresh.chmod(mode)
    os.replace(fresh, path)


def write_in_place(path: Path, data: bytes) -> None:
    """Write a file without giving it a new inode: a running host has this very inode mounted."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "r+b" if path.exists() else "wb") as file:
        file.write(data)
        file.truncate()


def fail(text: str) -> None:
    """An error line, apart from the progress."""
    print(f"lab: error: {text}", file=sys.stderr, flush=True)
