# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""`make lab`: bring the lab up, roll out to it as a user would, and say how long each part took.

Exit status 0 means that the rollout ended well and every host ended as the lab is built to end. The report lies in
`reports/`, the lab stays up.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "reports"
EXPECTED = {
    "thor-01": "kept",
    "thor-02": "rolled_back",
    "agx-01": "kept",
    "agx-02": "skipped",
    "nano-01": "skipped",
    "plain-01": "skipped",
}


def timed(name: str, command: list[str], env: dict[str, str], times: dict[str, float]) -> int:
    """Run a command with its output passed on, note its seconds under `name`, and return its exit status."""
    print(f"== {name}: {' '.join(command)}", flush=True)
    begun = time.monotonic()
    status = subprocess.run(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, check=False).returncode
    times[name] = time.monotonic() - begun
    return status


def newest_report(since: float) -> Path | None:
    """The report that was written last, unless it is older than this run (`since`, seconds of the epoch)."""
    found = sorted(REPORTS.glob("*/report.json"), key=lambda path: path.stat().st_mtime)
    return found[-1] if found and found[-1].stat().st_mtime >= since else None


def differences(report: Path) -> list[str]:
    """One sentence for each host that did not end as the lab is built to end."""
    rows = json.loads(report.read_text(encoding="utf-8"))["hosts"]
    states = {row["host"]: row["state"] for row in rows}
    return [
        f"{host} ended {states.get(host, 'without a result')}, expected {state}"
        for host, state in EXPECTED.items()
        if states.get(host) != state
    ]


def main() -> int:
    """Return the exit status of `make lab`."""
    times: dict[str, float] = {}
    began = time.time()
    env = dict(os.environ)
    status = timed("lab up", [sys.executable, "lab/lab.py", "up"], env, times)
    if status == 0:
        # Counts module executions and seconds of each host, servers and measuring apart; see lab/callback.
        env["ANSIBLE_CALLBACK_PLUGINS"] = str(ROOT / "lab" / "callback")
        env["ANSIBLE_CALLBACKS_ENABLED"] = "rollout_cost"
        command = ["ansible-playbook", "rollout-specdec.yml", "-e", f"specdec_report_dest={REPORTS}"]
        status = timed("rollout", command, env, times)

    report = newest_report(began)
    if report is not None:
        print(f"== report: {report.parent.relative_to(ROOT)}/")
        for sentence in differences(report):
            print(f"== not as expected: {sentence}")
            status = status or 1
    elif status == 0:
        print("== the rollout left no report in reports/")
        status = 1
    print("== " + ", ".join(f"{name} {took:.0f} s" for name, took in times.items()), flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
