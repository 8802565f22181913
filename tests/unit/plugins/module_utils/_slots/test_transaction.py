# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The transaction's promises, with the host dying at every single step."""

from __future__ import annotations

import os
import time

import pytest

from ansible_collections.jetson.specdec.plugins.module_utils._slots import disk, lease, store, units
from ansible_collections.jetson.specdec.plugins.module_utils._slots.errors import SlotError

from .conftest import PowerCut, make_spec

BASELINE = make_spec()
CANDIDATE = make_spec("candidate")
B, C = store.slot_digest(BASELINE), store.slot_digest(CANDIDATE)


def serve_baseline(host):
    return host.transaction().baseline(BASELINE)


def arm(host, lease_s=60, cap_s=600):
    host.store.stage(CANDIDATE)
    return host.transaction().arm(C, "run-1", "alice", lease_s, cap_s)


def receipt(host, **changes):
    good = {"verdict": "kept", "slot": C, "boot_id": host.boot, "finished_boottime_s": host.now}
    return dict(good, **changes)


def served(host):
    """The slot that the running process was started from."""
    return host.store.running_slot(host.pid)


def test_baseline_is_installed_enabled_and_serves(host):
    result = serve_baseline(host)
    assert result["changed"] and served(host) == B
    assert host.store.read_marker()["state"] == "baseline"
    assert host.unit_file_state == "enabled"


def test_baseline_twice_changes_nothing(host):
    serve_baseline(host)
    calls = list(host.calls)
    assert serve_baseline(host)["changed"] is False
    assert host.calls == calls


def test_baseline_that_does_not_run_is_started(host):
    serve_baseline(host)
    host.pid = 0
    assert serve_baseline(host)["changed"] is True
    assert served(host) == B


def test_marker_is_on_disk_before_the_old_server_is_stopped(host, monkeypatch):
    serve_baseline(host)
    seen = []

    def stop(unit):
        seen.append(host.store.read_marker()["state"])
        host.stop(unit)

    monkeypatch.setattr(units, "stop", stop)
    arm(host)
    assert seen == ["candidate"]


def test_armed_then_confirmed(host):
    serve_baseline(host)
    result = arm(host)
    assert result["changed"] and served(host) == C
    assert host.store.read_marker()["state"] == "candidate"
    assert host.transaction().confirm(receipt(host))["changed"]
    assert host.store.read_marker()["state"] == "confirmed"
    assert host.reboot() is None
    assert served(host) == C


def test_confirm_twice_changes_nothing(host):
    serve_baseline(host)
    arm(host)
    host.transaction().confirm(receipt(host))
    assert host.transaction().confirm(receipt(host))["changed"] is False


@pytest.mark.parametrize(
    "changes",
    [
        {"verdict": "inconclusive"},
        {"verdict": None},
        {"slot": B},
        {"boot_id": "another"},
        {"finished_boottime_s": None},
        {"finished_boottime_s": 10.0},
        {"finished_boottime_s": 1e9},
    ],
)
def test_confirm_refuses_any_other_receipt(host, changes):
    serve_baseline(host)
    arm(host)
    with pytest.raises(SlotError) as error:
        host.transaction().confirm(receipt(host, **changes))
    assert error.value.code == "receipt_refused"
    assert host.store.read_marker()["state"] == "candidate"


def test_old_receipt_is_refused(host):
    serve_baseline(host)
    arm(host, lease_s=9000, cap_s=9000)
    old = receipt(host)
    host.now += 3601
    with pytest.raises(SlotError, match="older than 60 min"):
        host.transaction().confirm(old)


def test_no_baseline_no_apply(host):
    host.store.stage(CANDIDATE)
    with pytest.raises(SlotError) as error:
        host.transaction().arm(C, "run-1", "alice", 60, 600)
    assert error.value.code == "no_baseline"
    assert host.calls == []


def test_confirm_without_arm_is_refused(host):
    serve_baseline(host)
    with pytest.raises(SlotError) as error:
        host.transaction().confirm(receipt(host))
    assert error.value.code == "nothing_armed"


def test_second_run_is_refused_while_armed(host):
    serve_baseline(host)
    arm(host)
    for attempt in (lambda: arm(host), lambda: serve_baseline(host)):
        with pytest.raises(SlotError, match="armed by alice") as error:
            attempt()
        assert error.value.code == "unconfirmed"
    assert served(host) == C


def test_damaged_way_back_is_found_before_the_stop(host):
    serve_baseline(host)
    host.store.stage(CANDIDATE)
    with open(host.store.slot_dir(B) + "/serve.yaml", "w") as handle:
        handle.write("{}")
    with pytest.raises(SlotError) as error:
        arm(host)
    assert error.value.code == "slot_damaged"
    assert served(host) == B and "stop" not in host.calls


@pytest.mark.parametrize("late_by", [0.5, 1e9])
def test_guard_takes_back_when_the_lease_runs_out(host, late_by):
    serve_baseline(host)
    arm(host, lease_s=60)
    assert host.transaction().watch() == (True, None)
    host.now += 60 + late_by
    needed, reason = host.transaction().watch()
    assert (needed, reason) == (False, "lease_expired" if late_by < 500 else "cap_reached")
    assert served(host) == B and host.store.read_marker()["state"] == "baseline"


def test_renewed_lease_lives_on_but_not_beyond_the_cap(host):
    serve_baseline(host)
    arm(host, lease_s=60, cap_s=100)
    host.now += 50
    assert lease.renew(host.store.state_dir, "run-1", 60)
    host.now += 40
    assert host.transaction().watch() == (True, None)
    lease.renew(host.store.state_dir, "run-1", 60)
    host.now += 20
    assert host.transaction().watch() == (False, "cap_reached")


def test_only_the_run_that_armed_renews(host):
    serve_baseline(host)
    arm(host)
    assert lease.renew(host.store.state_dir, "run-2", 60) is False
    host.transaction().revert("test")
    assert lease.renew(host.store.state_dir, "run-1", 60) is False


@pytest.mark.parametrize("text", ["", "[]", "{", '{"run_id": "run-1"}', '{"deadline_boottime_s": "soon"}'])
def test_a_broken_lease_is_no_lease(host, text):
    serve_baseline(host)
    arm(host)
    with open(host.store.lease_path, "w") as handle:
        handle.write(text)
    assert host.transaction().watch()[0] is False
    assert served(host) == B


def test_confirm_after_the_lease_ran_out_is_refused(host):
    serve_baseline(host)
    arm(host, lease_s=60)
    host.now += 61
    with pytest.raises(SlotError) as error:
        host.transaction().confirm(receipt(host))
    assert error.value.code == "lease_expired"


def test_revert_is_idempotent_and_harmless(host):
    assert host.transaction().revert("nothing there")["changed"] is False
    serve_baseline(host)
    assert host.transaction().revert("nothing armed")["changed"] is False
    arm(host)
    assert host.transaction().revert("bad")["changed"] is True
    assert served(host) == B
    assert host.transaction().revert("bad")["changed"] is False
    assert host.store.read_marker()["last_revert"]["reason"] == "bad"


def test_failed_start_is_taken_back_before_arm_returns(host, monkeypatch):
    serve_baseline(host)

    def start(unit):
        if unit == "vllm.service" and host.store.current_slot() == C:
            raise SlotError("start_refused", "systemd did not start it")
        return host.start(unit)

    monkeypatch.setattr(units, "start", start)
    with pytest.raises(SlotError, match=f"baseline slot {B} serves") as error:
        arm(host)
    assert error.value.code == "start_refused"
    assert served(host) == B and host.store.read_marker()["state"] == "baseline"


def test_reboot_while_armed_goes_back(host):
    serve_baseline(host)
    arm(host)
    assert host.reboot() == "rebooted"
    assert served(host) == B and host.store.read_marker()["state"] == "baseline"


def test_to_baseline_leaves_a_confirmed_candidate(host):
    serve_baseline(host)
    arm(host)
    host.transaction().confirm(receipt(host))
    assert host.transaction().to_baseline("asked")["changed"]
    assert served(host) == B and host.store.read_marker()["confirmed"] is None


def life(host):
    """A whole rollout; dies wherever the host is told to."""
    serve_baseline(host)
    arm(host)
    host.transaction().confirm(receipt(host))
    host.transaction().to_baseline("asked")
    arm(host)
    host.transaction().revert("bad")


def test_a_power_cut_at_any_step_ends_on_something_tested(host, tmp_path):
    life(host)
    steps = len(host.calls)
    assert steps > 12
    for death in range(steps):
        fresh = type(host)(tmp_path / f"life-{death}")
        os.makedirs(fresh.store.run_dir)
        host.__dict__.update(fresh.__dict__)
        host.die_at = death
        with pytest.raises(PowerCut):
            life(host)
        host.reboot()
        marker = host.store.read_marker()
        assert marker["state"] in ("baseline", "confirmed"), death
        assert served(host) == store.target_slot(marker), death
        assert host.transaction().watch() == (False, None), death


def test_guard_finishes_a_switch_whose_author_died(host):
    serve_baseline(host)
    arm(host)
    host.die_at = len(host.calls)  # the revert dies at its stop, after the marker
    with pytest.raises(PowerCut):
        host.transaction().revert("bad")
    host.die_at = None
    assert served(host) == C and host.store.read_marker()["state"] == "baseline"
    assert host.transaction().watch() == (False, None)
    assert served(host) == B


def test_a_lease_is_kept_while_somebody_waits_and_not_beyond(host):
    serve_baseline(host)
    arm(host, lease_s=60)
    host.now += 30
    with lease.kept({"state_dir": host.store.state_dir, "run_id": "run-1", "lease_s": 60}):
        deadline = time.monotonic() + 5
        while disk.read_json(host.store.lease_path)["deadline_boottime_s"] < host.now + 60:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    host.now += 59
    assert host.transaction().watch() == (True, None)
    host.now += 2
    assert host.transaction().watch() == (False, "lease_expired")
