# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The collection as a tarball, installed and used far from any checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import playbook_runs
import pytest

BIN = Path(sys.executable).parent


def run(*command: str, cwd: Path, **env: str) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, **playbook_runs.environment(), **env},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the installed collection."""
    folder = tmp_path_factory.mktemp("installed")
    run(str(BIN / "ansible-galaxy"), "collection", "build", "--output-path", str(folder), cwd=playbook_runs.ROOT)
    (tarball,) = folder.glob("jetson-specdec-*.tar.gz")
    target = folder / "here"
    run(
        str(BIN / "ansible-galaxy"),
        "collection",
        "install",
        str(tarball),
        "-p",
        str(target),
        cwd=folder,
        ANSIBLE_COLLECTIONS_PATH=str(target),  # else the checkout counts as installed
    )
    return target


def test_the_tarball_holds_what_users_run_and_nothing_else(installed: Path) -> None:
    names = {path.name for path in (installed / "ansible_collections" / "jetson" / "specdec").iterdir()}
    assert {"plugins", "roles", "playbooks", "data", "docs", "README.md", "LICENSE"} <= names
    assert not names & {"lab", "tests", "tools", "molecule", "Makefile", "ansible.cfg", ".ci", ".venv", "collections"}


@pytest.mark.lab
def test_the_playbook_runs_by_its_full_name(lab: Any, installed: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.cfg"  # the checkout has one of its own, a user has none
    empty.touch()
    printed = run(
        str(BIN / "ansible-playbook"),
        "jetson.specdec.rollout_specdec",
        "-i",
        str(playbook_runs.LAB_INVENTORY),
        "-l",
        "nano-01:plain-01",
        cwd=tmp_path,
        ANSIBLE_COLLECTIONS_PATH=str(installed),
        ANSIBLE_CONFIG=str(empty),
    )
    assert "2 hosts: 2 skipped" in printed
    (report,) = (tmp_path / "reports").glob("*/report.json")
    rows = json.loads(report.read_text(encoding="utf-8"))["hosts"]
    assert [(row["host"], row["code"]) for row in rows] == [("nano-01", "family"), ("plain-01", "not_a_jetson")]
