# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""A measurement that outlives its caller: real files and a real process, with systemd played by two small scripts."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from ansible_collections.jetson.specdec.plugins.module_utils._vllm import benchmark, detached
from ansible_collections.jetson.specdec.plugins.module_utils._vllm.errors import VllmError

SYSTEMD_RUN = """\
#!/bin/sh
echo "$@" >> {folder}/systemd-run.calls
[ -e {folder}/refuse ] && {{ echo "Failed to start transient service unit"; exit 1; }}
while [ "$1" != "--" ]; do shift; done
shift
( "$@" & echo $! > {folder}/pid ) > {folder}/output 2>&1
"""
SYSTEMCTL = """\
#!/bin/sh
echo LoadState=loaded
if [ -e {folder}/pid ] && kill -0 "$(cat {folder}/pid)" 2>/dev/null; then
    echo ActiveState=active
else
    echo ActiveState=inactive
fi
"""
JOURNALCTL = "#!/bin/sh\n[ -e {folder}/output ] && cat {folder}/output\nexit 0\n"
ENTRY = """\
import json, os, sys, time
command, spec_path, out_path = sys.argv[1:]
spec = json.load(open(spec_path))
with open(out_path.replace(".json", ".progress.json"), "w") as handle:
    json.dump({{"phase": "measure", "done": 1, "total": spec["requests"], "tok_s": 9.5}}, handle)
time.sleep({seconds})
{end}
level = {{"outcome": {{"ok": True, "code": "measured", "text": "done"}}, "requests": spec["requests"]}}
with open(out_path + ".new", "w") as handle:
    json.dump(level, handle)
os.replace(out_path + ".new", out_path)
"""


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A state directory with a device package, and a systemd of two scripts; ``host(seconds, end)`` lays the entry."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in (("systemd-run", SYSTEMD_RUN), ("systemctl", SYSTEMCTL), ("journalctl", JOURNALCTL)):
        path = tools / name
        path.write_text(text.format(folder=tools))
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setattr(detached, "ASK_SYSTEMD_S", 0.2)
    monkeypatch.setattr(detached, "LOOK_S", 0.02)
    state = tmp_path / "state"
    entry = state / "device" / "current" / "entry.py"
    entry.parent.mkdir(parents=True)
    (state / "device" / "interpreter").write_text(sys.executable + "\n")

    def lay(seconds=0.0, end=""):
        entry.write_text(ENTRY.format(seconds=seconds, end=end))
        return state

    lay.tools = tools
    return lay


def spec(**more):
    return dict(
        {
            "arm": "candidate",
            "run_id": "r1",
            "concurrency": 8,
            "requests": 3,
            "prompts": [{"id": "a", "kind": "k", "text": "t"}],
            "max_tokens": 4,
            "client": {"host": "127.0.0.1", "port": 1, "model": "tiny"},
            "deadline_s": 100,
        },
        **more,
    )


def starts(host):
    calls = host.tools / "systemd-run.calls"
    return calls.read_text().splitlines() if calls.exists() else []


def test_started_once_polled_and_found_again(host):
    state = str(host(seconds=0.6))
    first = detached.Detached(state, spec()).poll(0.1)
    assert first["finished"] is False
    assert first["outcome"]["code"] == "running"
    assert first["outcome"]["ok"] is True
    second = detached.Detached(state, spec()).poll(5.0)
    assert second["finished"] is True
    assert second["level"]["requests"] == 3
    assert second["outcome"]["code"] == "measured"
    assert second["progress"] == {"phase": "measure", "done": 1, "total": 3, "tok_s": 9.5}
    third = detached.Detached(state, spec()).poll(5.0)
    assert third["level"] == second["level"]
    assert len(starts(host)) == 1
    call = starts(host)[0]
    assert "--unit=jetson-specdec-bench-r1-candidate-c8.service" in call
    assert "--property=RuntimeMaxSec=190" in call
    assert "--collect" in call
    assert f"-I {state}/device/current/entry.py benchmark {state}/runs/r1/candidate-c8.spec.json" in call


def test_a_poll_ends_as_soon_as_there_is_a_result(host):
    state = str(host(seconds=0.2))
    begun = time.monotonic()
    assert detached.Detached(state, spec()).poll(10.0)["finished"]
    assert time.monotonic() - begun < 3


def test_a_process_that_dies_leaves_its_last_words(host):
    state = str(host(end="sys.exit('no space left')"))
    result = detached.Detached(state, spec()).poll(5.0)
    assert result["finished"] is True
    assert result["level"] is None
    assert result["outcome"]["ok"] is False
    assert result["outcome"]["code"] == "benchmark_died"
    assert "no space left" in result["outcome"]["text"]
    again = detached.Detached(state, spec()).poll(5.0)
    assert again["outcome"]["code"] == "benchmark_died"
    assert len(starts(host)) == 1  # not tried again behind the caller's back


def test_a_reboot_is_said(host):
    state = host(end="sys.exit(1)")
    detached.Detached(str(state), spec()).poll(5.0)
    started = state / "runs" / "r1" / "candidate-c8.started.json"
    assert json.loads(started.read_text())["boot_id"] == benchmark.boot_id()
    started.write_text(json.dumps({"boot_id": "another"}))
    assert "rebooted" in detached.Detached(str(state), spec()).poll(5.0)["outcome"]["text"]


def test_a_caller_that_died_before_the_start_is_taken_over(host):
    state = host()
    folder = state / "runs" / "r1"
    folder.mkdir(parents=True)
    (folder / "candidate-c8.spec.json").write_text(json.dumps(spec()))
    assert detached.Detached(str(state), spec()).poll(5.0)["outcome"]["code"] == "measured"


def test_other_settings_under_the_same_name_are_refused(host):
    state = str(host())
    detached.Detached(state, spec()).poll(5.0)
    with pytest.raises(VllmError) as caught:
        detached.Detached(state, spec(requests=4)).poll(5.0)
    assert caught.value.code == "spec_changed"
    assert "requests" in caught.value.text
    assert detached.Detached(state, spec(deadline_s=7)).poll(5.0)["finished"]  # how long to wait is no setting


def test_levels_and_arms_do_not_mix(host):
    state = str(host())
    names = {
        detached.Detached(state, spec(arm=arm, concurrency=c)).result_path for arm in ("baseline", "x") for c in (1, 8)
    }
    assert len(names) == 4


@pytest.mark.parametrize("run_id", ["", "../up", "a/b", "a b", "x" * 65, "-x"])
def test_a_run_id_names_files(host, run_id):
    with pytest.raises(VllmError) as caught:
        detached.Detached(str(host()), spec(run_id=run_id))
    assert caught.value.code == "bad_spec"
    assert "run_id" in caught.value.text


def test_without_the_device_package(tmp_path, host):
    host()
    with pytest.raises(VllmError) as caught:
        detached.Detached(str(tmp_path / "elsewhere"), spec()).poll(1.0)
    assert caught.value.code == "no_device_package"


def test_systemd_refuses(host):
    state = str(host())
    (host.tools / "refuse").touch()
    with pytest.raises(VllmError) as caught:
        detached.Detached(state, spec()).poll(1.0)
    assert caught.value.code == "not_started"
    assert "Failed to start" in caught.value.text
    (host.tools / "refuse").unlink()
    assert detached.Detached(state, spec()).poll(5.0)["finished"]  # nothing of the failed attempt is in the way


def test_a_systemd_too_busy_to_answer_ends_no_measurement(host, monkeypatch):
    state = str(host(seconds=2))
    assert detached.Detached(state, spec()).poll(0.2)["outcome"]["code"] == "running"

    def silent(_name):
        raise VllmError("systemd_silent", "systemctl did not answer in 10 s")

    monkeypatch.setattr(detached.process, "unit", silent)
    monkeypatch.setattr(detached, "ASK_SYSTEMD_S", 0.1)
    assert detached.Detached(state, spec()).poll(0.5)["outcome"]["code"] == "running"
    assert detached.Detached(state, spec()).poll(10.0)["outcome"]["code"] == "measured"


def test_a_state_directory_that_can_not_be_written(host, monkeypatch):
    state = host()

    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(detached.tempfile, "mkstemp", full)
    with pytest.raises(VllmError) as caught:
        detached.Detached(str(state), spec()).poll(1.0)
    assert caught.value.code == "not_writable"
    assert "No space left" in caught.value.text


def test_half_a_result_is_no_result(host):
    state = host()
    folder = state / "runs" / "r1"
    folder.mkdir(parents=True)
    Path(folder / "candidate-c8.json").write_text('{"outcome": ')
    with pytest.raises(VllmError) as caught:
        detached.Detached(str(state), spec()).poll(1.0)
    assert caught.value.code == "result_unreadable"
