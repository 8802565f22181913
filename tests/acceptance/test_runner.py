# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""A rollout as an AWX job: its private data folder, its environment, its inventory script, and no terminal.

AWX checks the repository out as `project`, installs what `collections/requirements.yml` names, writes the inventory as
a script, passes what a launch gives as untrusted extra variables, and takes the result from the events. Its callback
replaces every other one, so a result that is only printed is lost there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import ansible_runner
import playbook_runs
import pytest

# One host that measures and falls back, and three that end without measuring.
LIMIT = "thor-02:agx-02:nano-01:plain-01"
EXPECTED = {
    "thor-02": "rolled_back",
    "agx-02": "skipped",
    "nano-01": "skipped",
    "plain-01": "skipped",
}
EXTRA_VARS = {
    "awx_job_id": 7,
    "awx_job_launch_type": "manual",
    "awx_job_template_id": 3,
    "awx_job_template_name": "Roll out speculative decoding",
    "awx_inventory_id": 2,
    "awx_inventory_name": "lab",
    "awx_project_revision": "0" * 40,
    "awx_project_scm_branch": "main",
    "awx_execution_node": "awx-1",
    "awx_user_id": 5,
    "awx_user_name": "operator",
}


def check_out(project: Path) -> None:
    """Lay the files that git knows or would add, as a clone would."""
    listed = subprocess.run(
        ("git", "ls-files", "-coz", "--exclude-standard"),
        cwd=playbook_runs.ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        source = playbook_runs.ROOT / name
        if os.path.lexists(source):
            target = project / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)


def install_requirements(project: Path, target: Path) -> None:
    """What the project sync of AWX does with collections/requirements.yml."""
    # The link in the checkout would count as installed; the sync looks at its target only.
    paths = {"ANSIBLE_COLLECTIONS_PATH": str(target), "ANSIBLE_CONFIG": str(project / "ansible.cfg")}
    done = subprocess.run(
        ("ansible-galaxy", "collection", "install", "-r", "collections/requirements.yml", "-p", str(target)),
        cwd=project,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **playbook_runs.environment(), **paths},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (target / "ansible_collections" / "jetson" / "specdec" / "MANIFEST.json").exists(), done.stdout


def lab_inventory() -> dict[str, Any]:
    """The lab's inventory as `ansible-inventory --list` tells it, with what AWX adds to each host."""
    listed = subprocess.run(
        ("ansible-inventory", "-i", str(playbook_runs.LAB_INVENTORY), "--list"),
        cwd=playbook_runs.ROOT,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **playbook_runs.environment()},
    ).stdout
    inventory: dict[str, Any] = json.loads(listed)
    for number, variables in enumerate(inventory["_meta"]["hostvars"].values(), start=1):
        variables.update(remote_tower_enabled="true", remote_tower_id=number)
    return inventory


def private_data(folder: Path) -> None:
    """Lay the folder that AWX hands to ansible-runner."""
    project, env = folder / "project", folder / "env"
    check_out(project)
    install_requirements(project, folder / "requirements_collections")
    (folder / "inventory").mkdir()
    env.mkdir()

    script = folder / "inventory" / "hosts"
    script.write_text(
        f"#!{sys.executable}\n# -*- coding: utf-8 -*-\nprint({json.dumps(lab_inventory())!r})\n", encoding="utf-8"
    )
    script.chmod(0o700)

    # What a launch passes as text is untrusted: it never becomes a template.
    lines = [
        f"{key}: {'!unsafe ' if isinstance(value, str) else ''}{json.dumps(value)}" for key, value in EXTRA_VARS.items()
    ]
    (env / "extravars").write_text("---\n" + "\n".join(lines) + "\n", encoding="utf-8")
    (env / "cmdline").write_text(f"-l {LIMIT} --forks=5", encoding="utf-8")
    settings = {"job_timeout": 1500, "suppress_ansible_output": True, "suppress_output_file": False}
    (env / "settings").write_text(json.dumps(settings), encoding="utf-8")
    paths = [folder / "requirements_collections", project / "collections"]
    (env / "envvars").write_text(
        json.dumps(
            {
                **playbook_runs.environment(),
                "ANSIBLE_COLLECTIONS_PATH": ":".join(map(str, paths)),
                "ANSIBLE_HOST_KEY_CHECKING": "False",
                "ANSIBLE_RETRY_FILES_ENABLED": "False",
                "ANSIBLE_INVENTORY_UNPARSED_FAILED": "True",
                "ANSIBLE_PARAMIKO_RECORD_HOST_KEYS": "False",
                "ANSIBLE_FORCE_COLOR": "True",
                "AWX_HOST": "https://awx.example",
                "INVENTORY_ID": "2",
                "JOB_ID": "7",
                "PROJECT_REVISION": "0" * 40,
            }
        ),
        encoding="utf-8",
    )


@pytest.fixture(scope="module")
def job(lab: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> playbook_runs.Run:
    """One job over part of the lab."""
    folder = tmp_path_factory.mktemp("awx")
    lab("reset", "thor-02")
    private_data(folder)
    return playbook_runs.finished(
        ansible_runner.run(
            private_data_dir=str(folder), playbook="playbooks/rollout_specdec.yml", ident="7", quiet=True
        )
    )


@pytest.mark.lab
def test_the_job_is_successful(job: playbook_runs.Run) -> None:
    assert (job.rc, job.status) == (0, "successful"), job.tail()


@pytest.mark.lab
def test_the_fleet_is_in_the_events(job: playbook_runs.Run) -> None:
    states = {host: state for host, (state, _code) in job.ends().items()}
    assert states == EXPECTED, playbook_runs.as_json(job.report())


@pytest.mark.lab
def test_the_artifacts_tell_the_states(job: playbook_runs.Run) -> None:
    """What AWX keeps of a job and hands to the next node of a workflow."""
    assert job.stats()["artifact_data"]["specdec_report"]["hosts"] == EXPECTED


@pytest.mark.lab
def test_the_verdict_has_its_numbers(job: playbook_runs.Run) -> None:
    row = next(row for row in job.report()["hosts"] if row["host"] == "thor-02")
    assert row["effect"]["gain"] < 0.10, playbook_runs.as_json(row)
    assert row["text"]


@pytest.mark.lab
def test_the_job_names_who_launched_it(job: playbook_runs.Run) -> None:
    assert job.report()["run"]["owner"] == "operator"


@pytest.mark.lab
def test_no_event_is_too_large_for_awx(job: playbook_runs.Run) -> None:
    """AWX cuts what is longer than 700,000 characters out of an event's result."""
    longest = max(len(json.dumps(event.get("event_data", {}).get("res", {}))) for event in job.events)
    assert longest < 700_000
