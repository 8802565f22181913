# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever dies while a candidate is armed, the host goes back by itself to its baseline and serves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Iterator

import playbook_runs
import pytest

pytestmark = pytest.mark.lab
HOST = "thor-01"
STATE = "/var/lib/jetson-specdec"
ARM_LIMIT_S = 240
BACK_LIMIT_S = 180
COMPLETE = """
import json, urllib.request as u
body = json.dumps({"model": "target-a", "prompt": "The quick brown fox", "max_tokens": 8}).encode()
request = u.Request("http://127.0.0.1:8000/v1/completions", body, {"Content-Type": "application/json"})
print(json.load(u.urlopen(request, timeout=30))["usage"]["completion_tokens"])
print(u.urlopen("http://127.0.0.1:8000/metrics", timeout=30).read().decode().count("vllm:spec_decode"))
"""


def marker(lab: Callable[..., str]) -> dict[str, Any]:
    """The marker on the host, {} while there is none."""
    text = lab("exec", HOST, "--", "sh", "-c", f"cat {STATE}/state.json 2>/dev/null || echo '{{}}'")
    found: dict[str, Any] = json.loads(text)
    return found


def history(lab: Callable[..., str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lab("exec", HOST, "--", "cat", f"{STATE}/history.jsonl").splitlines()]


def wait_for(condition: Callable[[], bool], what: str, limit_s: float) -> float:
    """Poll until it is so; returns the seconds that it took."""
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < limit_s, f"waited {limit_s:.0f} s for {what}"
        time.sleep(0.5)
    return time.monotonic() - begun


@pytest.fixture
def armed(lab: Callable[..., str], tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A rollout whose candidate has just been armed on a lease of 20 s; its controller is the process returned."""
    extra = tmp_path / "extra.json"
    # A gate that is still measuring when the test cuts in.
    settings = playbook_runs.quick_settings(lease_s=20)
    extra.write_text(json.dumps({"specdec_rollout_settings": settings}), encoding="utf-8")
    controller = subprocess.Popen(
        (str(Path(sys.executable).parent / "ansible-playbook"), "rollout-specdec.yml", "-l", HOST, "-e", f"@{extra}"),
        cwd=playbook_runs.ROOT,
        env={**os.environ, **playbook_runs.environment()},
        stdin=subprocess.DEVNULL,
        stdout=(tmp_path / "controller.log").open("wb"),
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )

    def is_armed() -> bool:
        assert controller.poll() is None, (tmp_path / "controller.log").read_text(encoding="utf-8")[-3000:]
        return marker(lab).get("state") == "candidate"

    try:
        wait_for(is_armed, f"{HOST} to be armed", ARM_LIMIT_S)
        yield controller
    finally:
        if controller.poll() is None:
            os.killpg(controller.pid, signal.SIGKILL)
            controller.wait()


def assert_serves_its_baseline(lab: Callable[..., str], reason: str) -> None:
    wait_for(lambda: marker(lab).get("last_revert", {}).get("verified") is True, "a verified revert", BACK_LIMIT_S)
    found = marker(lab)
    assert found["state"] == "baseline"
    assert found["last_revert"]["reason"] == reason
    tokens, counters = map(int, lab("exec", HOST, "--", "python3", "-c", COMPLETE).split())
    assert tokens > 0
    assert counters == 0, "the baseline speculates"
    events = [entry["event"] for entry in history(lab)]
    assert events[-3:] == ["armed", "reverted", "verified"]


def test_the_controller_is_killed(lab: Any, fresh: Any, request: Any) -> None:
    fresh(HOST)
    controller = request.getfixturevalue("armed")
    os.killpg(controller.pid, signal.SIGKILL)
    controller.wait()
    took = wait_for(lambda: marker(lab)["state"] == "baseline", "the lease to run out", 60)
    assert took > 5, "taken back long before the lease ran out"
    assert_serves_its_baseline(lab, "lease_expired")


def test_the_host_loses_power(lab: Any, armed: subprocess.Popen[bytes]) -> None:
    os.killpg(armed.pid, signal.SIGKILL)
    armed.wait()
    lab("power-cycle", HOST)
    assert marker(lab)["state"] == "baseline", "an unconfirmed candidate survived a boot"
    assert_serves_its_baseline(lab, "rebooted")


def test_the_next_rollout_completes(lab: Any, run_playbook: Any) -> None:
    run = run_playbook(limit=HOST, extra_vars={"specdec_rollout_settings": playbook_runs.quick_settings()})
    state, code = run.ends()[HOST]
    assert state in ("kept", "rolled_back", "inconclusive"), run.tail()
    found = marker(lab)
    assert found["state"] == ("confirmed" if state == "kept" else "baseline"), code
