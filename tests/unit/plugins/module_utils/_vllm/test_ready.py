# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The ladder: a real socket and a real /proc, with systemd's answers scripted."""

from __future__ import annotations

import dataclasses
import os
import time

import pytest

from ansible_collections.jetson.specdec.plugins.module_utils._vllm import process, ready
from ansible_collections.jetson.specdec.plugins.module_utils._vllm.errors import VllmError

INVOCATION = "9f0c1d2e3a4b5c6d7e8f901234567890"


class Systemd:
    """Answers for one unit, whose main process is this very test unless changed."""

    def __init__(self, monkeypatch):
        self.unit = process.parse_unit(
            "vllm.service",
            "LoadState=loaded\nActiveState=active\nSubState=running\nResult=success\nControlGroup=/x\n"
            f"MainPID={os.getpid()}\nInvocationID={INVOCATION}\nExecMainCode=0\n"
            f"ExecMainStartTimestampMonotonic={int(time.monotonic() * 1e6)}\n",
        )
        self.then = None  # what systemd says from the second question on
        self.log = ""
        self.asked = 0
        self.pids = [os.getpid()]
        monkeypatch.setattr(process, "unit", self._unit)
        monkeypatch.setattr(process, "log", lambda name, invocation: self.log)
        monkeypatch.setattr(process, "cgroup_pids", lambda group: iter(self.pids))

    def _unit(self, name):
        self.asked += 1
        return self.then if self.then is not None and self.asked > 1 else self.unit

    def now(self, **changes):
        self.unit = dataclasses.replace(self.unit, **changes)

    def later(self, **changes):
        self.then = dataclasses.replace(self.unit, **changes)

    def died(self, status=1, result="exit-code", state="failed"):
        return {"main_pid": 0, "active_state": state, "sub_state": state, "result": result, "exit_status": status}


@pytest.fixture
def systemd(monkeypatch):
    monkeypatch.setattr(ready, "LAST_WORDS_S", 0.3)
    monkeypatch.setattr(ready, "STEP_S", 0.05)
    monkeypatch.setattr(ready, "COUNTERS_S", 0.2)
    return Systemd(monkeypatch)


def look(server, budget_s=1.5, **settings):
    port = server if isinstance(server, int) else server.port
    return ready.wait(ready.ReadySettings("127.0.0.1", port, "tiny", **settings), budget_s)


def test_a_baseline_is_ready(serve, systemd):
    result = look(serve(tokens=64), invocation_id=INVOCATION, main_pid=os.getpid())
    assert (result.ready, result.finished, result.stage, result.code) == (True, True, "ready", "ready")
    assert result.server == {
        "version": "0.0.0+scripted",
        "model": "tiny",
        "max_model_len": 1024,
        "num_speculative_tokens_seen": 0,
        "main_pid": os.getpid(),
        "invocation_id": INVOCATION,
        "started_monotonic_s": systemd.unit.started_s,
    }
    assert "without speculation" in result.text
    assert result.outcome() == {"ok": True, "code": "ready", "text": result.text}


def test_a_systemd_too_busy_to_answer_is_waited_for(serve, systemd, monkeypatch):
    def silent(_name):
        raise VllmError("systemd_silent", "systemctl did not answer in 10 s")

    monkeypatch.setattr(ready.process, "unit", silent)
    result = look(serve(tokens=64), budget_s=0.2)
    assert (result.ready, result.finished, result.stage) == (False, False, "process")
    assert "did not answer" in result.text


def test_a_candidate_speculates(serve, systemd):
    server = serve(tokens=64, num_speculative_tokens=5)
    result = look(server, num_speculative_tokens=5)
    assert result.ready, result.text
    assert result.server["num_speculative_tokens_seen"] == 5
    assert "5 speculative tokens" in result.text
    body = server.state.requests[0]
    assert body["ignore_eos"] is True
    assert body["max_tokens"] > 5


@pytest.mark.parametrize(
    ("script", "k", "code"),
    [
        ({}, 5, "speculation_inactive"),
        ({"num_speculative_tokens": 3}, 5, "wrong_k"),
        ({"num_speculative_tokens": 5}, 0, "speculation_in_baseline"),
        ({"metrics": False}, 5, "speculation_inactive"),
    ],
)
def test_counters_decide(serve, systemd, script, k, code):
    result = look(serve(tokens=64, **script), num_speculative_tokens=k)
    assert (result.ready, result.finished, result.stage, result.code) == (False, True, "counters", code)


def test_counters_that_do_not_move(serve, systemd, monkeypatch):
    server = serve(tokens=64, num_speculative_tokens=5)
    monkeypatch.setattr(ready.metrics, "change", lambda before, after: 0.0)
    assert look(server, num_speculative_tokens=5).code == "speculation_inactive"


def test_a_baseline_without_metrics_is_not_condemned(serve, systemd):
    result = look(serve(metrics=False))
    assert result.ready
    assert result.server["num_speculative_tokens_seen"] is None


def test_nothing_listens_yet(systemd):
    result = look(1, budget_s=0.3, deadline_s=60.0)
    assert (result.ready, result.finished, result.stage, result.code) == (False, False, "port", "waiting")
    assert 0.2 < result.waited_s < 1.0


def test_the_deadline_counts_from_the_start_of_the_process(systemd):
    systemd.now(started_s=time.monotonic() - 100)
    result = look(1, budget_s=0.3, deadline_s=60.0)
    assert (result.finished, result.code) == (True, "deadline")
    assert "limit 60 s" in result.text


def test_a_hang_is_not_a_slow_start(serve, systemd):
    systemd.now(started_s=time.monotonic() - 100)
    result = look(serve(fault="hang"), budget_s=0.5, deadline_s=60.0)
    assert (result.finished, result.stage, result.code) == (True, "completion", "hang")
    result = look(serve(fault="hang_health"), budget_s=0.5, deadline_s=60.0)
    assert (result.finished, result.stage, result.code) == (True, "health", "hang")


def test_a_start_that_failed_is_named_by_its_log(systemd, recorded):
    systemd.log = recorded("failures/vocab-mismatch.txt")
    systemd.now(**systemd.died())
    result = look(1)
    assert (result.finished, result.stage, result.code) == (True, "process", "rejected_config")
    assert result.failure_class == "REJECTED_CONFIG"
    assert result.answer == "stop_fleet"
    assert "exit status 1" in result.text
    assert "same vocabulary size" in result.text


def test_a_death_without_a_reason(systemd):
    systemd.log = "something\nKeyError: 'oops'\n"
    systemd.now(**systemd.died(status=0, state="inactive", result="success"))
    result = look(1)
    assert (result.finished, result.code) == (True, "start_failed")
    assert "KeyError: 'oops'" in result.text
    assert result.failure_class is None


def test_a_server_that_had_come_up_did_not_fail_to_start(systemd, recorded):
    systemd.log = recorded("startup-eagle3.log")
    systemd.now(**dict(systemd.died(status=9, result="signal"), killed=True))
    result = look(1)
    assert (result.finished, result.code) == (True, "crash")
    assert "killed by signal 9" in result.text
    assert "INFO" not in result.text


def test_the_kernel_killed_it(systemd):
    systemd.now(**systemd.died(status=9, result="oom-kill"))
    systemd.now(killed=True)
    result = look(1)
    assert (result.code, result.failure_class) == ("oom", "OOM_KILLED")
    assert "killed by signal 9" in result.text


def test_healthy_but_broken(serve, systemd, recorded):
    """/health is fine, the first completion fails and the process goes with exit status 0."""
    systemd.log = recorded("failures/eagle3-fewlayers.txt")
    systemd.later(**systemd.died(status=0, state="inactive", result="success"))
    for fault in ("error_500", "error_event"):
        systemd.asked = 0
        result = look(serve(fault=fault, tokens=64), num_speculative_tokens=3)
        assert (result.finished, result.stage, result.code) == (True, "completion", "wrong_head")
        assert "first completion failed" in result.text


def test_a_broken_engine_whose_log_says_nothing(serve, systemd):
    result = look(serve(fault="error_500"), budget_s=3)
    assert (result.finished, result.code) == (True, "crash")


def test_a_dead_engine(serve, systemd):
    assert look(serve(fault="dead_engine"), budget_s=3).code == "crash"


def test_last_words_beyond_the_budget_are_left_to_the_next_look(serve, systemd, monkeypatch):
    monkeypatch.setattr(ready, "LAST_WORDS_S", 30.0)
    result = look(serve(fault="dead_engine"), budget_s=0.4)
    assert (result.finished, result.code) == (False, "waiting")
    assert result.waited_s < 1.5


def test_another_key(serve, systemd):
    result = look(serve(api_key="s3cret"), api_key="wrong")
    assert (result.finished, result.stage, result.code) == (True, "model", "auth")
    assert look(serve(api_key="s3cret"), api_key="s3cret").ready


def test_another_model(serve, systemd):
    result = look(serve(model="big"))
    assert (result.finished, result.stage, result.code) == (True, "model", "wrong_model")
    assert "serves big" in result.text


def test_it_was_started_again_since(serve, systemd):
    result = look(serve(), invocation_id="another")
    assert (result.finished, result.stage, result.code) == (True, "process", "wrong_process")


def test_a_crash_behind_a_restart_keeps_its_name(serve, systemd, recorded):
    systemd.log = recorded("failures/port-in-use.txt")
    result = look(serve(), invocation_id="another")
    assert (result.code, result.failure_class) == ("port_taken", "PORT")


def test_another_pid(serve, systemd):
    result = look(serve(), main_pid=1)
    assert (result.stage, result.code) == ("identity", "wrong_process")


def test_somebody_else_answers_on_the_port(serve, systemd):
    systemd.pids = [1]
    result = look(serve())
    assert (result.finished, result.stage, result.code) == (True, "identity", "wrong_process")
    assert f"pid {os.getpid()}" in result.text


def test_restarted_while_being_looked_at(serve, systemd):
    systemd.later(main_pid=1, invocation_id="another")
    assert look(serve()).code == "wrong_process"


def test_a_restart_is_waited_for_unless_one_start_was_meant(systemd):
    systemd.now(main_pid=0, active_state="activating", sub_state="auto-restart")
    assert look(1, budget_s=0.2).code == "waiting"
    assert look(1, budget_s=0.5, invocation_id=INVOCATION).code == "start_failed"


def test_a_unit_that_does_not_exist(systemd):
    systemd.now(load_state="not-found", main_pid=0, active_state="inactive")
    result = look(1)
    assert (result.finished, result.code) == (True, "start_failed")


def test_without_a_unit_only_the_server_is_asked(serve, monkeypatch):
    def forbidden(*_args):
        raise AssertionError("systemd was asked")

    monkeypatch.setattr(process, "unit", forbidden)
    assert look(serve(), unit="").ready
    assert look(serve(fault="dead_engine"), unit="").code == "crash"


def test_a_host_without_systemd_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(VllmError) as caught:
        look(1)
    assert caught.value.code == "no_systemd"
