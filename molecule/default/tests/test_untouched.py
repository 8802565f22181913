# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""nano-01 may not speculate: it has neither a server nor any file of ours."""

from __future__ import annotations

from typing import Any

testinfra_hosts = ["ssh://nano-01"]


def test_no_server_came(unit: Any) -> None:
    assert unit("vllm.service")["LoadState"] == "not-found"


def test_nothing_was_laid(host: Any) -> None:
    assert not host.file("/var/lib/jetson-specdec").exists
    assert host.check_output("ls /etc/systemd/system").count("jetson-specdec") == 0
