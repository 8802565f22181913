# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Runs playbooks for tests through ansible-runner's Python interface, and answers questions about their events."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path
from typing import Any, Iterator, Sequence

import ansible_runner
import yaml

ROOT = Path(__file__).resolve().parents[2]
LAB_INVENTORY = ROOT / "inventories" / "lab"
REPORT_ACTION = "jetson.specdec.specdec_report"
TASK_ENDS = ("runner_on_ok", "runner_on_failed", "runner_on_unreachable", "runner_on_skipped")


@dataclasses.dataclass(frozen=True)
class Run:
    """One finished run of a playbook: exit status, runner's status, the events in their order, and what was printed."""

    rc: int
    status: str
    events: list[dict[str, Any]]
    stdout: str

    def results(self, action: str | None = None, host: str | None = None) -> Iterator[dict[str, Any]]:
        """The results of tasks, in order; of one action (its full name) and one host, when they are named."""
        for event in self.events:
            data = event.get("event_data", {})
            if event["event"] not in TASK_ENDS or "res" not in data:
                continue
            if action in (None, data.get("resolved_action"), data.get("task_action")) and host in (None, data["host"]):
                yield data["res"]

    def report(self) -> dict[str, Any]:
        """The fleet's report, as the last task of a rollout returns it."""
        reports = [result["report"] for result in self.results(REPORT_ACTION) if "report" in result]
        assert reports, f"the run ended without a report; its last lines were:\n{self.tail()}"
        return reports[-1]

    def ends(self) -> dict[str, tuple[str, str]]:
        """State and code of each host in the report."""
        return {row["host"]: (row["state"], row["code"]) for row in self.report()["hosts"]}

    def changed(self) -> dict[str, list[str]]:
        """The names of the tasks that reported a change, by host."""
        found: dict[str, list[str]] = {}
        for event in self.events:
            data = event.get("event_data", {})
            if event["event"] == "runner_on_ok" and data.get("res", {}).get("changed"):
                found.setdefault(data["host"], []).append(data["task"])
        return found

    def stats(self) -> dict[str, Any]:
        """The event that ends a run: counts by host, and `artifact_data` of set_stats."""
        return next(event["event_data"] for event in self.events if event["event"] == "playbook_on_stats")

    def tail(self, lines: int = 40) -> str:
        """The last lines that were printed."""
        return "\n".join(self.stdout.splitlines()[-lines:])


def finished(runner: Any) -> Run:
    """Collect a finished ansible-runner run."""
    events = list(runner.events)
    stdout = "\n".join(event["stdout"] for event in events if event.get("stdout"))
    return Run(rc=runner.rc, status=runner.status, events=events, stdout=stdout)


def environment() -> dict[str, str]:
    """What a run needs beyond the environment it inherits: the tools of this interpreter, and no colours."""
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_FORCE_COLOR": "0",
    }


def run_playbook(
    private: Path,
    name: str = "rollout-specdec.yml",
    limit: str | None = None,
    extra_vars: dict[str, Any] | None = None,
    check: bool = False,
    inventories: Sequence[Path] = (LAB_INVENTORY,),
    timeout_s: int = 1200,
) -> Run:
    """Run a playbook of the checkout as typed at its root, and return what happened.

    `private` is an empty folder for ansible-runner's own files. A run longer than `timeout_s` is ended, and its status
    is `timeout`.
    """
    return finished(
        ansible_runner.run(
            private_data_dir=str(private),
            project_dir=str(ROOT),
            playbook=name,
            inventory=[str(path) for path in inventories],
            limit=limit,
            extravars=extra_vars or {},
            cmdline="--check --diff" if check else "",
            envvars={
                **environment(),
                "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
                "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
            },
            timeout=timeout_s,
            quiet=True,
        )
    )


def quick_settings(**changes: Any) -> dict[str, Any]:
    """The lab's own rollout settings with the shortest measurement that the gate accepts, and with ``changes``."""
    text = (LAB_INVENTORY / "group_vars" / "all" / "serving.yml").read_text(encoding="utf-8")
    settings: dict[str, Any] = yaml.safe_load(text)["specdec_rollout_settings"]
    settings["gate"].update(prompts=8, max_tokens=16, c8_requests=8, warmup_min=1, warmup_max=2)
    settings.update(changes)
    return settings


def as_json(value: Any) -> str:
    """Text of a value for messages of assertions."""
    return json.dumps(value, indent=2, sort_keys=True, default=str)
