#!/usr/bin/python
# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
# Apache License 2.0, which is compatible with the GNU General Public License v3.0 that Ansible itself is under.

from __future__ import annotations

DOCUMENTATION = r"""
---
module: specdec_slot
short_description: Switch what vLLM serves on a Jetson, so that it takes itself back
version_added: 1.0.0
description:
  - The transaction on the host. A slot holds one complete setting of the server; a marker on disk says which slot must
    serve and by what right; a link names the slot that the unit starts.
  - The marker is on disk before the change that it describes, so whoever finds the two apart can finish the work.
  - An unconfirmed candidate lives on a lease. When the lease runs out, and at the next boot before the server starts,
    the host goes back by itself to what served before, without controller, network or Ansible.
  - Foreseen bad ends are reported in RV(outcome) and do not fail the task.
author:
  - The jetson.specdec authors (@jetson-specdec)
extends_documentation_fragment:
  - jetson.specdec.attributes
attributes:
  check_mode:
    support: full
    details:
      - Starts, stops and writes nothing; the differences are those of the real run.
  diff_mode:
    support: full
    details:
      - Shows units and slot files. Secrets are not part of them.
options:
  action:
    description:
      - V(install) lays the device package and the units, and reloads systemd when a unit changed.
      - V(baseline) makes O(spec) the baseline and serves it. Also starts it when it does not run.
      - V(stage) lays O(spec) as a slot while the old server goes on serving.
      - V(arm) starts the staged O(spec) on a lease.
      - V(confirm) makes the armed candidate permanent, on the strength of O(receipt).
      - V(revert) takes an armed candidate back to what served before. Harmless when there is none.
      - V(to_baseline) serves the recorded baseline, also from a confirmed candidate.
      - V(status) changes nothing.
    type: str
    required: true
    choices: [install, baseline, stage, arm, confirm, revert, to_baseline, status]
  spec:
    description:
      - The setting of the server, as RV(jetson.specdec.specdec_plan#module:plan) has it in C(baseline.spec) and
        C(candidate.spec).
      - Required for V(baseline), V(stage) and V(arm).
    type: dict
  units:
    description:
      - Text of each unit file by its name, for O(action=install).
    type: dict
  enable:
    description:
      - Units to enable, for O(action=install).
    type: list
    elements: str
    default: []
  unit:
    description:
      - Name of the server's unit.
    type: str
    default: vllm.service
  state_dir:
    description:
      - Where slots, marker, history and device package lie.
    type: path
    default: /var/lib/jetson-specdec
  run_id:
    description:
      - The run that arms; only this run can renew the lease.
    type: str
  owner:
    description:
      - Who runs the rollout, for the people who find an armed host.
    type: str
    default: unknown
  lease_s:
    description:
      - How long an armed candidate may run without the lease being renewed, in seconds.
    type: int
    default: 600
  cap_s:
    description:
      - How long an armed candidate may run at the very most, in seconds.
    type: int
    default: 3600
  drop_caches:
    description:
      - Drop the page cache between stop and start, which L4T before r39 needs to give memory back.
      - Recorded with the slot, so that a revert does the same.
    type: bool
    default: false
  receipt:
    description:
      - RV(jetson.specdec.specdec_gate#module:receipt) of a passed gate, for O(action=confirm).
    type: dict
  reason:
    description:
      - Why the candidate is taken back; recorded on the host.
    type: str
    default: requested
"""

EXAMPLES = r"""
- name: Show which slot serves and by what right
  jetson.specdec.specdec_slot:
    action: status
  become: true

- name: Take an armed candidate back
  jetson.specdec.specdec_slot:
    action: revert
    reason: the operator asked for it
  become: true
"""

RETURN = r"""
outcome:
  description: How it ended. A foreseen bad end is told here and does not fail the task.
  returned: always
  type: dict
  contains:
    ok:
      description: Whether what was asked for is so.
      type: bool
    code:
      description: Stable name of the outcome.
      type: str
    text:
      description: One sentence for people.
      type: str
  sample: {"ok": true, "code": "armed", "text": "slot 4be0c1d2a3f4 runs on a lease of 600 s"}
marker:
  description: The marker after this task, V(null) where nothing was ever installed.
  returned: always
  type: dict
  sample: {"state": "baseline", "baseline": "0a1b2c3d4e5f", "candidate": null, "confirmed": null}
digest:
  description: Name of the slot that holds O(spec).
  returned: when O(spec) is given
  type: str
  sample: 4be0c1d2a3f4
started:
  description: The server process that was started, or found running.
  returned: for V(baseline), V(arm), V(revert) and V(to_baseline)
  type: dict
  contains:
    main_pid:
      description: Its process id, 0 when nothing runs.
      type: int
    invocation_id:
      description: systemd's id of this start.
      type: str
down_s:
  description: Time from the stop of the old server to the start of the new one in seconds, V(null) if none was stopped.
  returned: for V(baseline), V(arm), V(revert) and V(to_baseline)
  type: float
  sample: 2.4
handover:
  description: What was waited for between stop and start.
  returned: for V(baseline), V(arm), V(revert) and V(to_baseline)
  type: dict
  contains:
    waited_s:
      description: Time waited in seconds.
      type: float
    mem_available_mib:
      description: MemAvailable just before the start in MiB.
      type: int
    dropped_caches:
      description: Whether the page cache was dropped.
      type: bool
evidence:
  description: One sentence before each risky step, in order.
  returned: always
  type: list
  elements: str
"""

import os
from typing import Any

from ansible.module_utils.basic import AnsibleModule

# The device package carries these wings, so the module must carry them as well.
from ansible_collections.jetson.specdec.plugins.module_utils._device import package
from ansible_collections.jetson.specdec.plugins.module_utils._slots import disk, units
from ansible_collections.jetson.specdec.plugins.module_utils._slots.errors import SlotError
from ansible_collections.jetson.specdec.plugins.module_utils._slots.store import Store, slot_digest
from ansible_collections.jetson.specdec.plugins.module_utils._slots.transaction import Transaction

DONE = {
    "install": "units and device package are in place",
    "baseline": "the baseline serves",
    "stage": "the slot is staged",
    "arm": "the candidate runs on a lease",
    "confirm": "the candidate is confirmed",
    "revert": "what served before serves",
    "to_baseline": "the baseline serves",
    "status": "nothing was changed",
}


def unit_diff(wanted: dict[str, str]) -> list[dict[str, str]]:
    """Before and after of each unit file that would change."""
    rows = []
    for name, text in sorted(wanted.items()):
        path = os.path.join(units.UNIT_DIR, name)
        before = disk.read_text(path) or ""
        if before != text:
            rows.append({"before_header": path, "after_header": path, "before": before, "after": text})
    return rows


def slot_diff(store: Store, spec: dict[str, Any]) -> list[dict[str, str]]:
    """What would be served, against what is served now."""
    wanted = store.slot_files(spec)
    current = store.current_slot()
    active = store.slot_on_disk(current) if current else {}
    rows = []
    for name in ("serve.yaml", "start"):
        if active.get(name, "") != wanted[name]:
            header = "{} ({})".format(name, current or "nothing serves")
            after = f"{name} ({slot_digest(spec)})"
            rows.append(
                {
                    "before_header": header,
                    "after_header": after,
                    "before": active.get(name, ""),
                    "after": wanted[name],
                }
            )
    return rows


def install(module: AnsibleModule, store: Store) -> dict[str, Any]:
    """Device package first, then the units that call it; a unit that is not ours is never overwritten."""
    wanted = module.params["units"] or {}
    for name in wanted:
        properties = units.show(name)
        if properties.get("LoadState") not in ("not-found", None) and not units.is_ours(properties):
            raise SlotError("foreign_unit", f"{name} was not made by this collection; nothing was changed")
    rows = unit_diff(wanted)
    to_enable = [name for name in module.params["enable"] if units.show(name).get("UnitFileState") != "enabled"]
    changed = package.lay(store.state_dir, check=module.check_mode) or bool(rows) or bool(to_enable)
    if not module.check_mode:
        for row in rows:
            disk.write_durable(row["after_header"], row["after"])
        if rows:
            units.systemctl("daemon-reload")
        for name in to_enable:
            done = units.systemctl("enable", name)
            if done.returncode != 0:
                raise SlotError("not_enabled", f"{name} could not be enabled: {done.stderr.strip()}")
    return {"changed": changed, "diff": rows}


def would_change(store: Store, action: str, spec: dict[str, Any] | None) -> bool:
    """What check mode answers for the actions that switch."""
    marker = store.read_marker()
    if action == "baseline" and spec is not None:
        return marker is None or marker["state"] != "baseline" or marker["baseline"] != slot_digest(spec)
    if action == "stage" and spec is not None:
        return store.slot_on_disk(slot_digest(spec)) != store.slot_files(spec)
    if action == "to_baseline":
        return marker is not None and marker["state"] != "baseline"
    if action in ("revert", "confirm"):
        return marker is not None and marker["state"] == "candidate"
    return action == "arm"


def act(module: AnsibleModule, store: Store, evidence: list[str]) -> dict[str, Any]:
    """Do one action for real."""
    params = module.params
    action, spec = params["action"], params["spec"]
    transaction = Transaction(store, params["unit"], evidence.append)
    if action == "baseline":
        return transaction.baseline(spec)
    if action == "stage":
        with disk.locked(store.lock_path):
            return {"changed": store.stage(spec)}
    if action == "arm":
        return transaction.arm(slot_digest(spec), params["run_id"], params["owner"], params["lease_s"], params["cap_s"])
    if action == "confirm":
        return transaction.confirm(params["receipt"])
    if action == "revert":
        return transaction.revert(params["reason"])
    if action == "to_baseline":
        return transaction.to_baseline(params["reason"])
    return {"changed": False}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "action": {
                "type": "str",
                "required": True,
                "choices": ["install", "baseline", "stage", "arm", "confirm", "revert", "to_baseline", "status"],
            },
            "spec": {"type": "dict"},
            "units": {"type": "dict"},
            "enable": {"type": "list", "elements": "str", "default": []},
            "unit": {"type": "str", "default": "vllm.service"},
            "state_dir": {"type": "path", "default": "/var/lib/jetson-specdec"},
            "run_id": {"type": "str"},
            "owner": {"type": "str", "default": "unknown"},
            "lease_s": {"type": "int", "default": 600},
            "cap_s": {"type": "int", "default": 3600},
            "drop_caches": {"type": "bool", "default": False},
            "receipt": {"type": "dict"},
            "reason": {"type": "str", "default": "requested"},
        },
        required_if=[
            ("action", "install", ("units",)),
            ("action", "baseline", ("spec",)),
            ("action", "stage", ("spec",)),
            ("action", "arm", ("spec", "run_id")),
            ("action", "confirm", ("receipt",)),
        ],
        supports_check_mode=True,
    )
    action = module.params["action"]
    spec = module.params["spec"]
    if spec is not None:
        spec["facts"] = {"drop_caches": module.params["drop_caches"]}
    store = Store(module.params["state_dir"])
    evidence: list[str] = []
    result: dict[str, Any] = {"changed": False}
    try:
        if spec is not None and action in ("baseline", "stage"):
            result["diff"] = slot_diff(store, spec)
        if action == "install":
            result.update(install(module, store))
        elif module.check_mode:
            result["changed"] = would_change(store, action, spec)
        else:
            result.update(act(module, store, evidence))
        outcome = {"ok": True, "code": action, "text": result.pop("text", DONE[action])}
    except SlotError as exc:
        outcome = {"ok": False, "code": exc.code, "text": exc.text}
        # The host's marker says what the failed attempt left, which is what the caller must know.
        result["changed"] = action in ("baseline", "arm", "revert", "to_baseline") and not module.check_mode
    except OSError as exc:
        module.fail_json(msg=f"{action} on {exc.filename or store.state_dir}: {exc.strerror}", **result)
    if spec is not None:
        result["digest"] = slot_digest(spec)
    try:
        marker = store.read_marker()
    except SlotError:
        marker = None
    module.exit_json(outcome=outcome, marker=marker, evidence=evidence, **result)


if __name__ == "__main__":
    main()
