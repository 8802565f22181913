# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The module around the gate: its documented profile is the one that decides."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.jetson.specdec.plugins.module_utils._gate.profile import NUMBERS, normalise
from ansible_collections.jetson.specdec.plugins.modules import specdec_gate


def run_module(root: Path, args: dict[str, Any]) -> dict[str, Any]:
    """Run it as Ansible's module tests do: as a program of its own, with its arguments on standard input."""
    program = "from ansible_collections.jetson.specdec.plugins.modules.specdec_gate import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.path.insert(0, 'collections')\n" + program],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": args}),
        capture_output=True,
        text=True,
        timeout=60,
        cwd=root,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout)


def test_documented_defaults_are_those_that_decide() -> None:
    documented = yaml.safe_load(specdec_gate.DOCUMENTATION)["options"]["profile"]["suboptions"]
    defaults = normalise(None)
    assert {name: option["default"] for name, option in documented.items()} == defaults
    for name, (_default, _lowest, _highest, whole) in NUMBERS.items():
        assert documented[name]["type"] == ("int" if whole else "float")


def test_examples_are_tasks_with_known_options() -> None:
    options = yaml.safe_load(specdec_gate.DOCUMENTATION)["options"]
    for task in yaml.safe_load(specdec_gate.EXAMPLES):
        assert set(task["jetson.specdec.specdec_gate"]) <= set(options)


def test_nothing_measured_is_inconclusive_and_no_failure(root: Path) -> None:
    args = {"baseline": {}, "candidate": {}, "slot": "3f2c90ab11de", "num_speculative_tokens": 5}
    found = run_module(root, args)
    assert found["verdict"] == "inconclusive" and found["outcome"]["code"] == "invalid_missing"
    assert found["changed"] is False and "failed" not in found
    assert set(found) - {"invocation"} == {"changed", *yaml.safe_load(specdec_gate.RETURN)}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"profile": {"min_gian": 0.3}}, "min_gian"),
        ({"profile": {"prompts": 0}}, "profile.prompts"),
        ({"profile": {"rollback_below": 0.9}}, "profile.rollback_below"),
        ({"num_speculative_tokens": 0}, "num_speculative_tokens"),
        ({"slot": ""}, "slot"),
        ({"baseline": {"lwo": {}}}, "lwo"),
    ],
)
def test_bad_setting_fails_and_names_the_field(root: Path, change: dict[str, Any], named: str) -> None:
    args = {"baseline": {}, "candidate": {}, "slot": "3f2c90ab11de", "num_speculative_tokens": 5, **change}
    found = run_module(root, args)
    assert found["failed"] is True and named in found["msg"]
