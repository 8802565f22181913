# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The module as it runs on a host: a process of its own, arguments in, one JSON object out."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import yaml

from ansible_collections.jetson.specdec.plugins.modules import vllm_ready

MODULE = "ansible_collections.jetson.specdec.plugins.modules.vllm_ready"


@pytest.fixture
def run(tmp_path):
    """Run the module; returns its result."""

    def _run(check=False, **parameters):
        path = tmp_path / "arguments.json"
        path.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": dict(parameters, _ansible_check_mode=check)}))
        code = f"import sys; sys.path[:0] = {sys.path!r}; from {MODULE} import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60, check=False
        )
        assert "Traceback" not in done.stderr, done.stderr
        result = json.loads(done.stdout)
        assert bool(result.get("failed")) == (done.returncode != 0)
        return result

    return _run


@pytest.fixture
def wrong_model():
    """A server that serves another model than the one that is asked for."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = b'{"data": [{"id": "other"}]}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def test_nobody_there_is_an_outcome_and_no_failure(run):
    result = run(model="tiny", port=1, unit="", wait_s=1)
    assert result["changed"] is False
    assert (result["ready"], result["finished"], result["stage"]) == (False, False, "port")
    assert result["outcome"]["code"] == "waiting"
    assert result["failure"] is None
    assert result["server"]["version"] is None
    assert 0.3 < result["waited_s"] < 3
    assert 0 < result["cpu_s"] < 3


def test_a_failure_for_good(run, wrong_model):
    result = run(model="tiny", port=wrong_model, unit="", wait_s=5)
    assert (result["ready"], result["finished"], result["outcome"]["code"]) == (False, True, "wrong_model")
    assert result["waited_s"] < 2


def test_a_unit_that_is_not_there_is_an_outcome(run):
    """Also on a machine without systemd, where it has another name."""
    result = run(model="tiny", port=1, unit="jetson-specdec-not-there.service", wait_s=1)
    assert result["finished"] is True
    assert result["outcome"]["ok"] is False
    assert result["outcome"]["code"] in ("start_failed", "no_systemd", "systemd_silent")


def test_started_may_hold_more_than_is_needed(run):
    started = {"main_pid": 0, "invocation_id": "", "active_state": "active"}
    assert run(model="tiny", port=1, unit="", wait_s=1, started=started)["outcome"]["code"] == "waiting"


def armed(tmp_path):
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as handle:
        boot_id = handle.read().strip()
    marker = {
        "schema": 1,
        "state": "candidate",
        "candidate": "c" * 12,
        "baseline": "b" * 12,
        "armed": {"run_id": "r1", "boot_id": boot_id, "at_boottime_s": 0, "cap_boottime_s": 1e12},
    }
    (tmp_path / "state.json").write_text(json.dumps(marker))
    return {"state_dir": str(tmp_path), "run_id": "r1", "lease_s": 60}


def test_the_lease_is_renewed(run, tmp_path):
    run(model="tiny", port=1, unit="", wait_s=1, lease=armed(tmp_path))
    assert json.loads((tmp_path / "lease.json").read_text())["run_id"] == "r1"


def test_check_mode_renews_nothing(run, tmp_path):
    run(check=True, model="tiny", port=1, unit="", wait_s=1, lease=armed(tmp_path))
    assert not (tmp_path / "lease.json").exists()


@pytest.mark.parametrize(
    ("field", "value"), [("port", 0), ("num_speculative_tokens", -1), ("wait_s", 0), ("deadline_s", 0)]
)
def test_bad_input_names_the_field(run, field, value):
    result = run(**dict({"model": "tiny", "unit": ""}, **{field: value}))
    assert result["failed"] is True
    assert result["code"] == "bad_setting"
    assert field in result["msg"]


def test_the_documentation_is_whole():
    options = yaml.safe_load(vllm_ready.DOCUMENTATION)["options"]
    assert {"host", "port", "model", "num_speculative_tokens", "unit", "api_key", "wait_s", "started"} <= set(options)
    returned = yaml.safe_load(vllm_ready.RETURN)
    assert {"ready", "finished", "stage", "outcome", "failure", "server", "waited_s", "cpu_s"} == set(returned)
    for task in yaml.safe_load(vllm_ready.EXAMPLES):
        assert set(task["jetson.specdec.vllm_ready"]) <= set(options) | {"lease"}  # from the documentation fragment
