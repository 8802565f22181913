# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The device package runs on its own, with each Python that a Jetson may have."""

from __future__ import annotations

import glob
import os
import subprocess

import pytest

from ansible_collections.jetson.specdec.plugins.module_utils._device import entry, package
from ansible_collections.jetson.specdec.plugins.module_utils._slots import store

INTERPRETERS = sorted(
    path
    for pattern in ("/usr/bin/python3.*", os.path.expanduser("~/.*/versions/3.*/bin/python3.*"))
    for path in glob.glob(pattern)
    if path.rsplit("python3.", 1)[1] in ("8", "9", "10", "11", "12", "13")
)


def run(state_dir, *arguments):
    return subprocess.run(
        [os.path.join(state_dir, "device", "run"), *arguments], capture_output=True, text=True, check=False
    )


@pytest.fixture
def laid(tmp_path):
    state_dir = str(tmp_path)
    assert package.lay(state_dir) is True
    return state_dir


def test_laid_twice_changes_nothing(laid):
    assert package.lay(laid) is False


def test_check_lays_nothing(tmp_path):
    assert package.lay(str(tmp_path), check=True) is True
    assert os.listdir(tmp_path) == []


def test_an_edited_file_is_laid_again(laid):
    with open(os.path.join(laid, "device", "current", "entry.py"), "a") as handle:
        handle.write("# edited\n")
    assert package.lay(laid, check=True) is True


@pytest.mark.parametrize("interpreter", INTERPRETERS)
def test_it_runs_without_the_collection(laid, interpreter):
    with open(os.path.join(laid, "device", "interpreter"), "w") as handle:
        handle.write(interpreter + "\n")
    done = run(laid, "self-check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert run(laid, "guard").returncode == 0  # nothing is armed, so there is nothing to watch
    assert run(laid, "boot-check").returncode == 0
    assert run(laid, "verify").returncode == 0
    assert not glob.glob(os.path.join(laid, "device", "*", "**", "__pycache__"), recursive=True)


def test_a_marker_without_sense_is_said_and_not_acted_on(laid):
    with open(store.Store(laid).marker_path, "w") as handle:
        handle.write("{")
    done = run(laid, "boot-check")
    assert done.returncode == 1
    assert "state_unreadable" in done.stdout


def test_a_wrong_call_is_told_so(laid):
    done = run(laid, "nonsense")
    assert done.returncode == 2 and entry.USAGE in done.stderr
