# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""From a port to a process, with real sockets and real /proc; systemd's words as text."""

from __future__ import annotations

import os
import socket

import pytest

from ansible_collections.jetson.specdec.plugins.module_utils._vllm import process
from ansible_collections.jetson.specdec.plugins.module_utils._vllm.errors import VllmError

RUNNING = """\
LoadState=loaded
ActiveState=active
SubState=running
Result=success
MainPID=812
InvocationID=9f0c1d2e3a4b5c6d7e8f901234567890
ControlGroup=/system.slice/vllm.service
ExecMainStatus=0
ExecMainCode=0
ExecMainStartTimestampMonotonic=81234567
NRestarts=0
"""
FAILED = """\
LoadState=loaded
ActiveState=failed
SubState=failed
Result=exit-code
MainPID=0
InvocationID=9f0c1d2e3a4b5c6d7e8f901234567890
ControlGroup=
ExecMainStatus=1
ExecMainCode=1
ExecMainStartTimestampMonotonic=81234567
"""


@pytest.fixture(params=["127.0.0.1", "0.0.0.0", "::1", "::"])
def listener(request):
    family = socket.AF_INET6 if ":" in request.param else socket.AF_INET
    with socket.socket(family) as sock:
        try:
            sock.bind((request.param, 0))
        except OSError:
            pytest.skip(f"no {request.param} on this machine")
        sock.listen()
        yield sock


def test_the_listener_is_found(listener):
    host, port = listener.getsockname()[:2]
    asked = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    inodes = process.listening_inodes(asked, port)
    assert inodes
    assert process.holders(inodes, iter([os.getpid()])) == {os.getpid()}
    assert process.server_pid(asked, port) == os.getpid()


def test_another_address_is_not_meant():
    with socket.socket() as sock:
        sock.bind(("127.0.0.2", 0))
        sock.listen()
        port = sock.getsockname()[1]
        assert process.listening_inodes("127.0.0.1", port) == set()
        assert process.listening_inodes("127.0.0.2", port) != set()


def test_a_connected_socket_is_no_listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            assert len(process.listening_inodes("127.0.0.1", port)) == 1


def test_nobody_holds_it():
    assert process.server_pid("127.0.0.1", 1) is None
    assert process.holders({1}, iter([os.getpid(), 2**22 + 1])) == set()


def test_what_may_not_be_looked_at_is_not_nothing(monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "listdir", refuse)
    with pytest.raises(VllmError) as caught:
        process.holders({1}, iter([1]))
    assert caught.value.code == "not_permitted"


def test_mapped_addresses_in_the_table():
    table = (
        "  sl  local_address remote_address st tx rx tr tm uid to inode\n"
        "   0: 0000000000000000FFFF00000100007F:1F40 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 4711 1\n"
        "   1: 0000000000000000FFFF00000100007F:1F41 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 4712 1\n"
    )
    assert process.parse_listeners(table, process._addresses("127.0.0.1"), 8000) == {4711}


def test_a_running_unit():
    unit = process.parse_unit("vllm.service", RUNNING)
    assert unit.running
    assert not unit.will_restart
    assert (unit.main_pid, unit.started_s, unit.exit_status) == (812, 81.234567, None)


def test_a_failed_unit():
    unit = process.parse_unit("vllm.service", FAILED)
    assert not unit.running
    assert (unit.exit_status, unit.killed, unit.result) == (1, False, "exit-code")


def test_a_killed_process_has_a_signal():
    unit = process.parse_unit("x", FAILED.replace("ExecMainCode=1", "ExecMainCode=2").replace("Status=1", "Status=9"))
    assert (unit.exit_status, unit.killed) == (9, True)


def test_a_unit_that_waits_for_its_restart():
    text = FAILED.replace("ActiveState=failed", "ActiveState=activating").replace(
        "SubState=failed", "SubState=auto-restart"
    )
    assert process.parse_unit("x", text).will_restart


def test_an_unknown_unit():
    unit = process.parse_unit("x", "LoadState=not-found\nActiveState=inactive\n")
    assert (unit.load_state, unit.main_pid, unit.started_s) == ("not-found", 0, None)


def test_cgroup_members(tmp_path, monkeypatch):
    inner = tmp_path / "system.slice" / "vllm.service" / "inner"
    inner.mkdir(parents=True)
    (inner.parent / "cgroup.procs").write_text("12\n13\n")
    (inner / "cgroup.procs").write_text("14\n")
    monkeypatch.setattr(process, "CGROUP_ROOT", str(tmp_path))
    assert sorted(process.cgroup_pids("/system.slice/vllm.service")) == [12, 13, 14]
    assert list(process.cgroup_pids("/nowhere")) == []
    assert list(process.cgroup_pids("")) == []


def test_start_ticks_name_a_process():
    assert process.start_ticks(os.getpid()) > 0
    assert process.start_ticks(None) is None
    assert process.start_ticks(2**22 + 1) is None


def test_without_systemd(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(VllmError) as caught:
        process.unit("vllm.service")
    assert caught.value.code == "no_systemd"
    assert process.log("vllm.service", None) == ""
