# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""thor-01 has a head that helps: after the rollout it speculates, with K=5, in a server that systemd keeps up."""

from __future__ import annotations

import json
import re
from typing import Any

testinfra_hosts = ["ssh://thor-01"]

BASE = "http://127.0.0.1:8000"
POSITIONS = re.compile(r'^vllm:spec_decode_num_accepted_tokens_per_pos_total\{[^}]*position="(\d+)"[^}]*\}', re.M)
DRAFTED = re.compile(r"^vllm:spec_decode_num_draft_tokens_total(?:\{[^}]*\})? ([0-9.e+]+)", re.M)


def drafted(metrics: str) -> float:
    return sum(float(value) for value in DRAFTED.findall(metrics))


def test_the_server_runs_and_starts_at_boot(unit: Any) -> None:
    vllm = unit("vllm.service")
    assert vllm["ActiveState"] == "active"
    assert vllm["SubState"] == "running"
    assert vllm["UnitFileState"] == "enabled"


def test_the_unit_is_a_file_of_its_own(host: Any) -> None:
    file = host.file("/etc/systemd/system/vllm.service")
    assert file.is_file
    assert not file.is_symlink


def test_it_comes_back_when_it_dies(unit: Any) -> None:
    assert unit("vllm.service")["Restart"] == "always"


def test_five_tokens_are_proposed_at_a_time(get: Any) -> None:
    assert sorted(set(map(int, POSITIONS.findall(get(BASE + "/metrics"))))) == [0, 1, 2, 3, 4]


def test_a_completion_is_served_and_drafted(get: Any, complete: Any) -> None:
    model = json.loads(get(BASE + "/v1/models"))["data"][0]["id"]
    count = drafted(get(BASE + "/metrics"))
    answer = complete(BASE, model)
    assert answer["choices"][0]["text"].strip()
    assert answer["usage"]["completion_tokens"] > 0
    assert drafted(get(BASE + "/metrics")) > count


def test_the_listening_process_belongs_to_the_unit(host: Any) -> None:
    with host.sudo():
        sockets = host.check_output("ss -Hltnp 'sport = :8000'")
        owners = set(re.findall(r"pid=(\d+)", sockets))
        assert owners
        for pid in owners:
            assert "/system.slice/vllm.service" in host.check_output("cat /proc/%s/cgroup", pid)


def test_nothing_of_the_rollout_is_left_running(host: Any) -> None:
    listed = host.check_output("systemctl list-units --all --plain --no-legend 'jetson-specdec-bench-*'")
    assert listed.strip() == ""


def test_no_unit_failed(host: Any) -> None:
    assert host.check_output("systemctl --failed --plain --no-legend").strip() == ""
