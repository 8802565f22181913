# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""A host without systemd: what the transaction asks of one, as a plain object that can die at any call."""

from __future__ import annotations

import os

import pytest

from ansible_collections.jetson.specdec.plugins.module_utils._slots import clock, handover, store, transaction, units


class PowerCut(Exception):
    """The host died at this point."""


class Host:
    """Clock, unit and process of a host that exists only in memory."""

    def __init__(self, tmp_path):
        self.store = store.Store(str(tmp_path / "state"), str(tmp_path / "run"))
        self.now = 1000.0
        self.boot = "boot-1"
        self.pid = 0
        self.next_pid = 100
        self.unit_file_state = "disabled"
        self.calls = []
        self.die_at = None

    def step(self, name):
        """Count a call; the host dies at the one that was asked for."""
        if self.die_at is not None and len(self.calls) == self.die_at:
            raise PowerCut(name)
        self.calls.append(name)

    # what units offers
    def running(self, unit):
        return {
            "main_pid": self.pid,
            "invocation_id": f"inv-{self.pid}",
            "active_state": "active" if self.pid else "inactive",
        }

    def show(self, unit):
        enabled = unit == transaction.BOOT_UNIT or self.unit_file_state == "enabled"
        return {"UnitFileState": "enabled" if enabled else "disabled"}

    def start(self, unit):
        self.step(f"start {unit}")
        if unit == transaction.GUARD_UNIT:
            return {}
        slot = self.store.current_slot()
        script = self.store.slot_on_disk(slot)["start"]
        if "permit" in script and self.store.read_marker()["confirmed"] != slot:
            os.unlink(self.store.permit_path(slot))  # as the start script does; absent means refused
        self.pid = self.next_pid = self.next_pid + 1
        with open(self.store.running_path, "w") as handle:
            handle.write(f"{slot} {self.pid}\n")
        return self.running(unit)

    def stop(self, unit):
        self.step("stop")
        self.pid = 0

    def systemctl(self, *arguments, limit_s=0):
        if arguments[0] == "enable":
            self.unit_file_state = "enabled"

        class Done:
            returncode, stdout, stderr = 0, "", ""

        return Done()

    def reboot(self):
        """Power off and on: processes, permits and the boot id are gone, the boot check runs, the unit starts."""
        self.die_at = None
        self.pid = 0
        self.boot += "+"
        self.now = 5.0
        self.store.withdraw_permits()
        reason = self.transaction().boot_check()
        if self.store.current_slot():
            self.start("vllm.service")
        return reason

    def transaction(self):
        return transaction.Transaction(self.store, "vllm.service")


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A fresh host with nothing installed."""
    fake = Host(tmp_path)
    os.makedirs(fake.store.run_dir)
    for name in ("running", "show", "start", "stop", "systemctl"):
        monkeypatch.setattr(units, name, getattr(fake, name))
    monkeypatch.setattr(clock, "boottime_s", lambda: fake.now)
    monkeypatch.setattr(clock, "boot_id", lambda: fake.boot)
    monkeypatch.setattr(handover, "settle", lambda *a: (fake.step("settle"), {"waited_s": 0.0})[1])
    monkeypatch.setattr(handover, "processes_of", lambda unit: [])
    monkeypatch.setattr(transaction.Transaction, "_check_way_back", lambda self: fake.step("way back"))
    return fake


def make_spec(kind="baseline", name="a"):
    """A slot's setting."""
    config = {"model": "/models/" + name, "host": "127.0.0.1", "port": 8000, "gpu-memory-utilization": 0.7}
    if kind == "candidate":
        config["speculative-config"] = {"method": "eagle3", "num_speculative_tokens": 5}
    return {
        "kind": kind,
        "command": ["/opt/vllm/bin/vllm", "serve"],
        "config": config,
        "environment": {"HF_HUB_OFFLINE": "1"},
        "runtime": {"type": "native"},
        "revisions": {},
        "client": {"host": "127.0.0.1", "port": 8000, "model": name},
    }
