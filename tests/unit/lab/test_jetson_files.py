# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""What makes a lab host a Jetson."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from lab.jetson_files import files, load_fleet, meminfo  # noqa: E402
from lab.shell import LabError  # noqa: E402

FLEET = load_fleet()
JETSONS = [host for host in FLEET.hosts.values() if host.is_jetson]


def test_every_host_has_an_address_of_its_own():
    addresses = [host.address for host in FLEET.hosts.values()]
    assert len(set(addresses)) == len(addresses) == 6


@pytest.mark.parametrize("host", JETSONS, ids=lambda host: host.name)
def test_strings_of_the_device_tree_end_in_nul(host):
    found = files(host)
    for name in ("model", "compatible"):
        assert found[f"firmware/devicetree/base/{name}"].endswith(b"\0")
    assert found["firmware/devicetree/base/compatible"].count(b"\0") == len(host.compatible)


def test_a_host_that_is_no_jetson_has_no_files():
    assert files(FLEET.hosts["plain-01"]) == {}


@pytest.mark.parametrize("available", [0, 101])
def test_impossible_memory_is_refused(available):
    with pytest.raises(LabError):
        meminfo(100, available)


def test_an_unknown_name_is_refused_with_those_that_exist():
    with pytest.raises(LabError, match="thor-01"):
        FLEET.chosen(["thor-99"])
