# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests on real lab hosts: the lab, fresh hosts, and runs of playbooks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import playbook_runs
import pytest


def lab_command(*arguments: str, timeout_s: int = 600) -> str:
    """Run `lab/lab.py ...` and return what it printed; its output is the message when it fails."""
    done = subprocess.run(
        (sys.executable, "lab/lab.py", *arguments),
        cwd=playbook_runs.ROOT,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout_s,
    )
    assert done.returncode == 0, f"lab.py {' '.join(arguments)} failed:\n{done.stdout}"
    return done.stdout


@pytest.fixture(scope="session")
def lab() -> Callable[..., str]:
    """The lab is up; call it to run one of its commands: `lab("reset", "thor-01")`."""
    lab_command("up", timeout_s=1800)
    return lab_command


@pytest.fixture
def fresh(lab: Callable[..., str]) -> Callable[..., None]:
    """Call it with the names of hosts to have them as they were before anything was rolled out."""

    def reset(*hosts: str) -> None:
        for host in hosts:
            lab("reset", host)

    return reset


@pytest.fixture
def run_playbook(lab: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., playbook_runs.Run]:
    """Run a playbook on the lab: `run_playbook(limit="thor-01", check=True)`; see `playbook_runs.run_playbook`."""

    def run(**arguments: Any) -> playbook_runs.Run:
        private: Path = tmp_path_factory.mktemp("runner")
        return playbook_runs.run_playbook(private, **arguments)

    return run
