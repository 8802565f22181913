# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""What a user does first: look without touching, and get the inventory wrong."""

from __future__ import annotations

from typing import Any, Callable

import playbook_runs
import pytest
import yaml

pytestmark = pytest.mark.lab
UNTOUCHED = "test ! -e /var/lib/jetson-specdec && test ! -e /etc/systemd/system/vllm.service && echo untouched"


def assert_untouched(lab: Callable[..., str], *hosts: str) -> None:
    for host in hosts:
        assert lab("exec", host, "--", "sh", "-c", UNTOUCHED).strip() == "untouched", host


def test_check_mode_shows_what_would_come_and_touches_nothing(lab: Any, fresh: Any, run_playbook: Any) -> None:
    fresh("thor-01", "thor-02")
    run = run_playbook(limit="thor_hosts", check=True)
    assert run.rc == 0, run.tail()
    assert run.ends() == {"thor-01": ("planned", "check_mode"), "thor-02": ("planned", "check_mode")}
    assert '+  "speculative-config": {' in run.stdout
    assert '+    "num_speculative_tokens": 5' in run.stdout
    assert "+ExecStart=/var/lib/jetson-specdec/current/start" in run.stdout
    assert_untouched(lab, "thor-01", "thor-02")


def test_bad_input_is_named_with_field_and_host_before_anything_is_touched(
    lab: Any, fresh: Any, run_playbook: Any, tmp_path: Any
) -> None:
    fresh("thor-01", "thor-02", "agx-01")
    hosts: dict[str, Any] = {
        "thor-01": {"specdec_rollout_settings": playbook_runs.quick_settings(num_speculative_token=5)},
        "thor-02": {"lab_target": "no-such-model"},
        "agx-01": {"specdec_rollout_settings": playbook_runs.quick_settings(num_speculative_tokens=0)},
        "ghost-01": {"ansible_host": "127.0.0.1", "ansible_port": 9},
    }
    bad = tmp_path / "bad.yml"
    bad.write_text(yaml.safe_dump({"all": {"hosts": hosts}}), encoding="utf-8")
    run = run_playbook(limit="thor_hosts:agx-01:ghost-01:nano-01", inventories=(playbook_runs.LAB_INVENTORY, bad))
    assert run.rc != 0
    rows = {row["host"]: row for row in run.report()["hosts"]}
    states = {host: (row["state"], row["code"]) for host, row in rows.items()}
    assert states == {
        "thor-01": ("refused", "bad_setting"),
        "thor-02": ("refused", "model_missing"),
        "agx-01": ("refused", "bad_setting"),
        "ghost-01": ("unreachable", "unreachable"),
        "nano-01": ("skipped", "family"),
    }, playbook_runs.as_json(rows)
    assert "num_speculative_token" in rows["thor-01"]["text"]
    assert "no-such-model" in rows["thor-02"]["text"]
    assert "num_speculative_tokens" in rows["agx-01"]["text"]
    assert "at least 1" in rows["agx-01"]["text"]
    assert_untouched(lab, "thor-01", "thor-02", "agx-01")
