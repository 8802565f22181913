# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Settings that make no sense are named by their field, before anything is looked at."""

from __future__ import annotations

import pytest

from ansible_collections.jetson.specdec.plugins.module_utils._plan.errors import PlanError

from .conftest import GATE

SERVICE_CASES = {
    "port": (0, "service.port must be at least 1, got 0"),
    "max_model_len": (0, "service.max_model_len must be at least 1, got 0"),
    "max_num_seqs": (-1, "service.max_num_seqs must be at least 1, got -1"),
    "model": ("./models/x", "service.model must be an absolute path or a hub id such as Qwen/Qwen3-8B, got ./models/x"),
    "gpu_memory_utilization": (0.05, "service.gpu_memory_utilization must be above 0.05 and at most 1, got 0.05"),
    "runtime": ({"path": "vllm"}, "service.runtime.path must be the absolute path of the vllm executable, got vllm"),
}
EXTRA_CASES = {
    "speculative-config": "must be given as speculation,",
    "speculative_config": "must be given as speculation,",
    "--port": "must be given as service.port,",
    "max_model_len": "must be given as service.max_model_len,",
    "api-key": "is a secret",
    "disable-log-stats": "must be left out",
}
SPECULATION_CASES = [
    ({"num_speculative_tokens": 0}, "speculation.num_speculative_tokens must be at least 1, got 0"),
    ({"num_speculative_tokens": True}, "speculation.num_speculative_tokens must be a number, got True"),
    ({"concurrency": 0}, "speculation.concurrency must be at least 1, got 0"),
    ({"lease_s": 14}, "speculation.lease_s must be at least 15, got 14"),
    ({"start_deadline_s": 0}, "speculation.start_deadline_s must be at least 1, got 0"),
    ({"measure_deadline_s": 0}, "speculation.measure_deadline_s must be at least 1, got 0"),
    ({"headroom_gib": -1.0}, "speculation.headroom_gib must be at least 0, got -1.0"),
    ({"headroom_gib": float("nan")}, "speculation.headroom_gib must be a number, got nan"),
    ({"method": "medusa"}, "speculation.method must be one of eagle3, draft_model, mtp, ngram, dflash, got medusa"),
    ({"draft": "acme/head"}, "speculation.method must be given with speculation.draft (acme/head), got None"),
    ({"draft": "a b", "method": "eagle3"}, "speculation.draft must be an absolute path or a hub id"),
    ({"draft": "acme/x", "method": "ngram"}, "speculation.draft must be left out with method ngram"),
    ({"catalogue": [{"target": "", "model": "x"}]}, "speculation.catalogue[0].target must be an absolute path"),
    ({"gate": dict(GATE, prompts=0)}, "speculation.gate.prompts must be at least 1, got 0"),
    ({"gate": dict(GATE, max_tokens=1)}, "speculation.gate.max_tokens must be at least 2, got 1"),
    ({"gate": dict(GATE, min_tpot_drop=20)}, "speculation.gate.min_tpot_drop must be at most 1, got 20"),
    ({"gate": dict(GATE, warmup_min=30)}, "speculation.gate.warmup_min must not be above warmup_max (24), got 30"),
    ({"gate": dict(GATE, rollback_below=0.5)}, "speculation.gate.rollback_below must not be above min_gain (0.3)"),
]


@pytest.mark.parametrize("field", SERVICE_CASES)
def test_service(workshop, field):
    value, message = SERVICE_CASES[field]
    with pytest.raises(PlanError) as caught:
        workshop.plan(service=workshop.service(**{field: value}))
    assert caught.value.code == "bad_setting"
    assert caught.value.text == f"{message}; nothing was changed"


@pytest.mark.parametrize("value", [float("nan"), 1.01, 0.0, -0.5])
def test_utilization_is_a_share(workshop, value):
    with pytest.raises(PlanError, match="service.gpu_memory_utilization"):
        workshop.plan(service=workshop.service(gpu_memory_utilization=value))


@pytest.mark.parametrize("option", EXTRA_CASES)
def test_options_with_a_place_of_their_own(workshop, option):
    with pytest.raises(PlanError) as caught:
        workshop.plan(service=workshop.service(extra_config={option: True}))
    assert caught.value.text.startswith(f"service.extra_config.{option} {EXTRA_CASES[option]}")


def test_one_option_in_two_spellings(workshop):
    with pytest.raises(PlanError, match="two spellings"):
        workshop.plan(service=workshop.service(extra_config={"enforce-eager": True, "enforce_eager": True}))


@pytest.mark.parametrize("name", ["HF_TOKEN", "VLLM_API_KEY"])
def test_a_secret_is_not_repeated(workshop, name):
    with pytest.raises(PlanError, match=f"service.environment.{name} is a secret") as caught:
        workshop.plan(service=workshop.service(environment={name: "hunter2"}))
    assert "hunter2" not in caught.value.text


@pytest.mark.parametrize("environment", [{"1X": "a"}, {"X": ["a"]}, {"X": None}])
def test_environment_is_names_and_strings(workshop, environment):
    with pytest.raises(PlanError, match="service.environment"):
        workshop.plan(service=workshop.service(environment=environment))


@pytest.mark.parametrize(("change", "message"), SPECULATION_CASES)
def test_speculation(workshop, change, message):
    with pytest.raises(PlanError) as caught:
        workshop.plan(speculation=change)
    assert caught.value.code == "bad_setting"
    assert caught.value.text.startswith(message)
    assert caught.value.text.endswith("; nothing was changed")


def test_settings_are_checked_on_hosts_that_do_not_speculate_too(workshop):
    with pytest.raises(PlanError, match="num_speculative_tokens"):
        workshop.plan({"is_jetson": False}, speculation={"num_speculative_tokens": 0})
