# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The module as it runs on a host: a process of its own, arguments in, one JSON object out."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import yaml

from ansible_collections.jetson.specdec.plugins.modules import vllm_benchmark

MODULE = "ansible_collections.jetson.specdec.plugins.modules.vllm_benchmark"
ENTRY = """\
import json, sys, time
time.sleep({seconds})
spec = json.load(open(sys.argv[2]))
level = {{"outcome": {{"ok": True, "code": "measured", "text": "done"}}, "requests": spec["requests"], "spec": spec}}
open(sys.argv[3], "w").write(json.dumps(level))
"""
# Plays systemd for a measurement that runs in the background of this test.
SYSTEMD_RUN = '#!/bin/sh\ntouch "$0.called"\nwhile [ "$1" != "--" ]; do shift; done\nshift\n"$@" >/dev/null 2>&1 &\n'
SYSTEMCTL = """\
#!/bin/sh
[ -e "$(dirname "$0")/systemd-run.called" ] && echo ActiveState=active || echo ActiveState=inactive
"""


@pytest.fixture
def run(tmp_path):
    """Run the module on a host whose device package is a stub; returns its result."""
    entry = tmp_path / "state" / "device" / "current" / "entry.py"
    entry.parent.mkdir(parents=True)
    entry.write_text(ENTRY.format(seconds=0))
    for name, text in (("systemd-run", SYSTEMD_RUN), ("systemctl", SYSTEMCTL)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)

    def _run(check=False, **parameters):
        arguments = {
            "arm": "candidate",
            "run_id": "r1",
            "slot": "0123456789ab",
            "state_dir": str(tmp_path / "state"),
            "client": {"model": "tiny"},
            "prompts": [{"id": "a", "text": "one"}, {"id": "b", "kind": "code", "text": "two"}],
            "requests": 4,
            "wait_s": 5,
        }
        arguments.update(parameters, _ansible_check_mode=check)
        path = tmp_path / "arguments.json"
        path.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": arguments}))
        code = f"import sys; sys.path[:0] = {sys.path!r}; from {MODULE} import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=dict(os.environ, PATH=f"{tmp_path}:{os.environ['PATH']}"),
        )
        assert "Traceback" not in done.stderr, done.stderr
        result = json.loads(done.stdout)
        assert bool(result.get("failed")) == (done.returncode != 0)
        return result

    _run.entry = entry
    _run.runs = tmp_path / "state" / "runs"
    return _run


def test_a_level_comes_back(run):
    result = run()
    assert result["changed"] is False
    assert (result["finished"], result["outcome"]["code"]) == (True, "measured")
    spec = result["arm"]["spec"]
    assert spec["client"] == {"host": "127.0.0.1", "port": 8000, "model": "tiny"}
    assert [row["kind"] for row in spec["prompts"]] == ["site", "code"]
    assert (spec["temperature"], spec["ignore_eos"], spec["max_tokens"]) == (0.0, False, 256)
    assert result["cpu_s"] > 0
    assert run()["arm"] == result["arm"]


def test_a_poll_that_ends_before_the_measurement(run):
    run.entry.write_text(ENTRY.format(seconds=2))
    result = run(wait_s=1)
    assert (result["finished"], result["outcome"]["code"], result["arm"]) == (False, "running", None)
    assert result["outcome"]["ok"] is True
    assert result["progress"] == {"phase": "starting", "done": 0, "total": 4, "tok_s": None}
    assert run()["finished"] is True


def test_check_mode_does_nothing_and_says_so(run):
    result = run(check=True)
    assert (result["changed"], result["finished"], result["outcome"]["code"]) == (False, False, "check_mode")
    assert not run.runs.exists()


@pytest.mark.parametrize(
    ("parameters", "words", "code"),
    [
        ({"concurrency": 0}, "concurrency", "bad_spec"),
        ({"requests": -1}, "requests", "bad_spec"),
        ({"run_id": "../../etc"}, "run_id", "bad_spec"),
        ({"prompts": []}, "prompts", "bad_spec"),
        ({"warmup_min": 9, "warmup_max": 3}, "warmup_min", "bad_spec"),
        ({"state_dir": "/nonexistent/state"}, "device package", "no_device_package"),
    ],
)
def test_bad_input_names_the_field(run, parameters, words, code):
    result = run(**parameters)
    assert result["failed"] is True
    assert result["code"] == code
    assert words in result["msg"]


def test_other_settings_under_the_same_name(run):
    run()
    result = run(max_tokens=8)
    assert (result["failed"], result["code"]) == (True, "spec_changed")
    assert "max_tokens" in result["msg"]


def test_a_foreseen_bad_end_is_an_outcome(run):
    run()
    (run.runs / "r1" / "candidate-c1.json").write_text("{")
    result = run()
    assert "failed" not in result
    assert (result["finished"], result["outcome"]["ok"]) == (True, False)
    assert result["outcome"]["code"] == "result_unreadable"


def test_the_documentation_is_whole():
    options = yaml.safe_load(vllm_benchmark.DOCUMENTATION)["options"]
    assert set(vllm_benchmark.SPEC_NAMES) <= set(options)
    returned = yaml.safe_load(vllm_benchmark.RETURN)
    assert {"finished", "outcome", "arm", "progress", "cpu_s"} == set(returned)
    for task in yaml.safe_load(vllm_benchmark.EXAMPLES):
        assert set(task["jetson.specdec.vllm_benchmark"]) <= set(options)
