# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The report action and its role, run by ansible-playbook as a user does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.jetson.specdec.plugins.action.specdec_report import failure, machine_readable, write
from ansible_collections.jetson.specdec.plugins.modules import specdec_report as documented
from ansible_collections.jetson.specdec.plugins.plugin_utils._report import FAIL_ON, STATES, build

RESULTS = {
    "thor-01": {"state": "kept", "code": "kept", "text": "it pays"},
    "thor-02": {"state": "rolled_back", "code": "below_10", "text": "it does not pay; the baseline serves"},
    "nano-01": {"state": "skipped", "code": "family", "text": "too small"},
}
LOST = {"state": "unreachable", "code": "lost", "text": "no answer; nothing was changed"}
PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.set_fact:
        specdec_rollout_result: "{{ results[inventory_hostname] | combine({'host': inventory_hostname}) }}"
      when: inventory_hostname in results
- hosts: all
  gather_facts: false
  become: true
  ignore_unreachable: true
  tasks:
    - ansible.builtin.include_role:
        name: jetson.specdec.specdec_report
      vars:
        specdec_report_run: {id: run-7, owner: ops, check: "{{ ansible_check_mode }}"}
"""
CALLBACK = '''
from __future__ import annotations
DOCUMENTATION = """
name: jsonl
type: stdout
short_description: one line of JSON a task result
description: [for a test]
"""
import json
from ansible.plugins.callback import CallbackBase
class CallbackModule(CallbackBase):
    CALLBACK_VERSION, CALLBACK_TYPE, CALLBACK_NAME = 2.0, "stdout", "jsonl"
    def v2_runner_on_ok(self, result, **kwargs):
        print(json.dumps({"host": result._host.get_name()}))
'''


def play(
    root: Path, folder: Path, results: dict[str, Any], *options: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    (folder / "ansible.cfg").write_text("[defaults]\n")
    (folder / "play.yml").write_text(PLAY)
    (folder / "vars.json").write_text(json.dumps({"results": results}))
    playbook = Path(sys.executable).parent / "ansible-playbook"
    return subprocess.run(
        [str(playbook), "-i", ",".join(results) + ",", "-e", "@vars.json", *options, "play.yml"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
        env={
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(root / "collections"),
            "ANSIBLE_CONFIG": str(folder / "ansible.cfg"),
            "ANSIBLE_LOCALHOST_WARNING": "false",
            **environment,
        },
        check=False,
    )


def test_role_prints_writes_and_ends_well(root: Path, tmp_path: Path) -> None:
    done = play(root, tmp_path, RESULTS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 hosts: 1 kept, 1 rolled back, 1 skipped" in done.stdout
    assert "it does not pay; the baseline serves" in done.stdout
    report = json.loads((tmp_path / "reports" / "run-7" / "report.json").read_text())
    assert report["schema"] == "jetson.specdec/report/1"
    assert [row["host"] for row in report["hosts"]] == list(RESULTS)
    assert "# 3 hosts" in (tmp_path / "reports" / "run-7" / "report.md").read_text()


def test_only_the_hosts_that_did_not_end_well_fail_and_the_table_is_last(root: Path, tmp_path: Path) -> None:
    done = play(root, tmp_path, {**RESULTS, "yard-03": LOST})
    assert done.returncode == 2
    recap = done.stdout.partition("PLAY RECAP")[2]
    assert {line.split()[0]: "failed=1" in line for line in recap.splitlines() if "failed=" in line} == {
        "thor-01": False,
        "thor-02": False,
        "nano-01": False,
        "yard-03": True,
    }
    assert done.stdout.index("4 hosts: 1 kept") > done.stdout.rindex("fatal: [yard-03]")
    assert "needs you: yard-03" in done.stdout


def test_table_comes_also_when_every_host_failed(root: Path, tmp_path: Path) -> None:
    done = play(root, tmp_path, {"yard-03": LOST, "yard-04": LOST})
    assert done.returncode == 2
    assert "2 hosts: 2 unreachable" in done.stdout


def test_check_mode_prints_and_writes_nothing(root: Path, tmp_path: Path) -> None:
    done = play(root, tmp_path, {"thor-01": {"state": "planned", "code": "check_mode", "text": "would"}}, "--check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "check: nothing was changed" in done.stdout and "1 host: 1 planned" in done.stdout
    assert not (tmp_path / "reports").exists()


def test_awx_has_no_file_and_its_job_gets_a_summary(root: Path, tmp_path: Path) -> None:
    done = play(root, tmp_path, RESULTS, "-e", "awx_job_id=7", ANSIBLE_SHOW_CUSTOM_STATS="1")
    assert done.returncode == 0
    assert not (tmp_path / "reports").exists()
    assert "sentence" in done.stdout.partition("CUSTOM STATS")[2]


def test_silent_where_programs_read(root: Path, tmp_path: Path) -> None:
    (tmp_path / "callbacks").mkdir()
    (tmp_path / "callbacks" / "jsonl.py").write_text(CALLBACK)
    done = play(
        root,
        tmp_path,
        RESULTS,
        ANSIBLE_CALLBACK_PLUGINS=str(tmp_path / "callbacks"),
        ANSIBLE_STDOUT_CALLBACK="jsonl",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.strip()]
    assert {"host": "thor-01"} in lines
    assert (tmp_path / "reports" / "run-7" / "report.json").exists()


def test_unwritable_folder_is_a_warning(root: Path, tmp_path: Path) -> None:
    (tmp_path / "reports").write_text("a file is in the way")
    done = play(root, tmp_path, RESULTS)
    assert done.returncode == 0
    assert "could not be written" in done.stdout + done.stderr
    assert "3 hosts: 1 kept" in done.stdout


def test_wrong_state_in_the_policy_is_an_error_that_names_it(root: Path, tmp_path: Path) -> None:
    done = play(root, tmp_path, RESULTS, "-e", '{"specdec_report_fail_on": ["rolledback"]}')
    assert done.returncode == 2
    assert "specdec_report_fail_on" in done.stdout + done.stderr


def test_stricter_policy_fails_the_rolled_back(root: Path, tmp_path: Path) -> None:
    done = play(root, tmp_path, RESULTS, "-e", '{"specdec_report_fail_on": ["rolled_back"]}')
    assert done.returncode == 2
    assert "fatal: [thor-02]" in done.stdout and "fatal: [thor-01]" not in done.stdout


@pytest.mark.parametrize(
    ("callback", "silent"),
    [("default", False), ("awx_display", False), ("json", True), ("ansible.posix.jsonl", True), ("yaml", False)],
)
def test_machine_readable(callback: str, silent: bool) -> None:
    assert machine_readable(callback) is silent


@pytest.mark.parametrize("name", ["../../etc", "..", "", None, "a b/c"])
def test_a_run_id_cannot_leave_the_folder(tmp_path: Path, name: str | None) -> None:
    report = build([], {"id": name})
    folder = Path(write(report, str(tmp_path / "reports")))
    assert folder.parent == tmp_path / "reports" and (folder / "report.json").exists()
    assert sorted(path.name for path in folder.iterdir()) == ["report.json", "report.md"]


def test_failure_names_host_and_state() -> None:
    report = build([{"host": "a", **LOST}, {"host": "b", "state": "kept"}], {})
    assert failure(report) == "2 hosts: 1 kept, 1 unreachable; not as it should be: a unreachable"


def test_documentation_knows_all_states() -> None:
    options = yaml.safe_load(documented.DOCUMENTATION)["options"]
    assert options["fail_on"]["choices"] == list(STATES)
    assert options["fail_on"]["default"] == list(FAIL_ON)


def test_role_spec_and_defaults_agree(root: Path) -> None:
    role = root / "roles" / "specdec_report"
    spec = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
    defaults = yaml.safe_load((role / "defaults" / "main.yml").read_text())
    assert {name: option["default"] for name, option in spec.items()} == defaults
    assert spec["specdec_report_fail_on"]["choices"] == list(STATES)
    readme = (role / "README.md").read_text()
    assert all(f"`{name}`" in readme for name in spec)
