# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""agx-02 serves with a unit that is not ours: it is the very same start of it that runs now, and no file came."""

from __future__ import annotations

from typing import Any

testinfra_hosts = ["ssh://agx-02"]


def test_the_foreign_server_was_not_restarted(unit: Any, before: Any) -> None:
    vllm = unit("vllm.service")
    assert vllm["ActiveState"] == "active"
    assert vllm["InvocationID"] == before["invocation_id"]


def test_nothing_was_laid(host: Any) -> None:
    assert not host.file("/var/lib/jetson-specdec").exists
    assert host.check_output("ls /etc/systemd/system").count("jetson-specdec") == 0
