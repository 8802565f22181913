# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""What the table does not show: the slots, the order of the checks, and models on disk."""

from __future__ import annotations

import json
import os

import pytest

from ansible_collections.jetson.specdec.plugins.module_utils._plan.errors import PlanError

from .conftest import QWEN, facts


def local(workshop, target=None, head=None, method="eagle3", service=None, speculation=None, **host):
    """Plan for a target and a draft that lie on the host."""
    settings = dict(service or {}, model=workshop.model("target", **(target or {})))
    rows = [{"target": settings["model"], "method": method, "model": workshop.model("draft", **(head or {}))}]
    return workshop.plan(facts(**host), workshop.service(**settings), dict(speculation or {}, catalogue=rows))


def test_the_candidate_is_the_baseline_with_speculation_and_less_memory(workshop):
    plan = workshop.plan(service=workshop.service(extra_config={"enforce_eager": True}, environment={"A": 1}))
    before, after = plan["baseline"]["spec"], plan["candidate"]["spec"]
    assert before["config"] == {
        "model": "Qwen/Qwen3-8B",
        "served-model-name": "Qwen/Qwen3-8B",
        "host": "127.0.0.1",
        "port": 8000,
        "max-model-len": 4096,
        "gpu-memory-utilization": 0.75,
        "max-num-seqs": 16,
        "enforce-eager": True,
    }
    assert after["config"].pop("speculative-config") == {
        "method": "eagle3",
        "model": "RedHatAI/Qwen3-8B-speculator.eagle3",
        "num_speculative_tokens": 5,
        "draft_tensor_parallel_size": 1,
    }
    assert after["config"].pop("gpu-memory-utilization") == 0.7
    before["config"].pop("gpu-memory-utilization")
    assert after["config"] == before["config"]
    assert after["kind"] == "candidate" and before["kind"] == "baseline"
    assert before["command"] == after["command"] == [workshop.vllm, "serve"]
    assert before["environment"] == {"A": "1"}
    assert before["runtime"] == {"type": "native", "path": workshop.vllm, "image": None}
    assert before["revisions"] == {"model": None, "draft": None}
    assert plan["baseline"]["digest"] != plan["candidate"]["digest"]


def test_methods_without_a_draft_name_none(workshop):
    plan = workshop.plan(speculation={"method": "ngram"})
    assert plan["candidate"]["spec"]["config"]["speculative-config"] == {"method": "ngram", "num_speculative_tokens": 5}
    assert plan["draft"] is None


@pytest.mark.parametrize(("listens", "asked"), [("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("10.0.0.7", "10.0.0.7")])
def test_a_wildcard_is_not_an_address_to_ask(workshop, listens, asked):
    plan = workshop.plan(service=workshop.service(host=listens, port=9000, served_model_name="m"))
    assert plan["client"] == {"host": asked, "port": 9000, "model": "m"}
    assert plan["baseline"]["spec"]["config"]["host"] == listens


def test_the_reasons_tell_the_whole_path_in_order(workshop):
    plan = workshop.plan()
    assert [reason["code"] for reason in plan["reasons"]] == [
        "jetson",
        "family",
        "runtime_rule",
        "server",
        "model",
        "runtime",
        "pairing",
        "draft",
        "num_speculative_tokens",
        "concurrency",
        "headroom",
    ]
    assert "28.9 GiB" in plan["reasons"][-1]["text"]


def test_an_operators_decision_is_shown_as_one(workshop):
    service = workshop.service(runtime={"validated_by": "Carla Ruiz"})
    plan = workshop.plan(facts("agx_orin", "36.4.4"), service, {"num_speculative_tokens": 4})
    assert plan["runtime"]["operator_decision"] is True
    assert "Carla Ruiz" in plan["runtime"]["text"] and "operator's decision" in plan["runtime"]["text"]
    tokens = next(reason["text"] for reason in plan["reasons"] if reason["code"] == "num_speculative_tokens")
    assert "operator's decision" in tokens and "AGX Orin is 3" in tokens


def test_a_runtime_within_the_rule_is_nobodys_decision(workshop):
    plan = workshop.plan()
    assert plan["runtime"]["operator_decision"] is False
    assert plan["runtime"]["vllm_version"] == "0.32.0+cpu"
    assert "0.20 or later" in plan["runtime"]["text"]


@pytest.mark.parametrize(
    ("l4t", "drop"), [("36.4.4", True), ("38.4.0", True), ("39.0.0", False), ("39.2.0", False), (None, True)]
)
def test_caches_are_dropped_before_r39(workshop, l4t, drop):
    assert workshop.plan(facts("thor", l4t))["drop_caches"] is drop


@pytest.mark.parametrize("version", ["0.19.9", "0.20.0rc1", "0.9.2", "0.20.0.dev3+g1"])
def test_an_old_vllm_is_refused(workshop, version):
    service = workshop.service(runtime={"path": workshop.runtime(version)})
    plan = workshop.plan(service=service)
    assert (plan["decision"], plan["code"]) == ("refuse", "vllm_too_old")
    assert version in plan["text"] and "0.20" in plan["text"]


def test_a_head_with_a_short_context_is_passed_over_on_an_old_vllm(workshop):
    service = workshop.service(
        model="deepseek-ai/DeepSeek-R1-Distill-Llama-8B", runtime={"path": workshop.runtime("0.26.0")}
    )
    plan = workshop.plan(service=service)
    assert (plan["decision"], plan["code"]) == ("skip", "no_head")
    assert "2048" in plan["text"] and "0.26.0" in plan["text"]
    assert workshop.plan(service=dict(service, max_model_len=2048))["decision"] == "speculate"


# -- confirmed already -------------------------------------------------------------------------------------------
def test_the_same_candidate_over_the_same_baseline_is_confirmed_already(workshop):
    plan = workshop.plan()
    marker = {"state": "confirmed", "confirmed": plan["candidate"]["digest"], "baseline": plan["baseline"]["digest"]}
    again = workshop.plan(marker=marker)
    assert plan["already_confirmed"] is False
    assert again["already_confirmed"] is True
    assert again["installed"] == marker
    assert (again["baseline"], again["candidate"]) == (plan["baseline"], plan["candidate"])


@pytest.mark.parametrize(
    "change", [{"state": "baseline"}, {"state": "candidate"}, {"confirmed": "x"}, {"baseline": "x"}]
)
def test_anything_else_is_not(workshop, change):
    plan = workshop.plan()
    marker = {"state": "confirmed", "confirmed": plan["candidate"]["digest"], "baseline": plan["baseline"]["digest"]}
    assert workshop.plan(marker=dict(marker, **change))["already_confirmed"] is False


# -- models on disk ----------------------------------------------------------------------------------------------
def test_a_pair_on_disk_is_measured(workshop):
    gib = 1 << 30
    plan = local(workshop, {"size": 16 * gib}, {"size": gib, "num_hidden_layers": 1})
    assert plan["decision"] == "speculate", plan["text"]
    memory = plan["memory"]
    assert memory["target_weights_gib"] == 16.0 and memory["draft_weights_gib"] == 1.0
    assert memory["target_cache_gib"] == round(147456 * 4112 / gib, 2)  # 36 layers of 4096 bytes a token
    assert memory["draft_cache_gib"] == round(4096 * 4112 / gib, 2)
    assert memory["needed_gib"] == pytest.approx(16 + 1 + 3 + 0.58, abs=0.02)
    assert memory["spare_gib"] == pytest.approx(memory["candidate_budget_gib"] - memory["needed_gib"], abs=0.02)
    assert len(plan["candidate"]["spec"]["revisions"]["model"]) == 12
    assert len(plan["candidate"]["spec"]["revisions"]["draft"]) == 12


def test_a_pair_that_does_not_fit_is_skipped_with_the_shortfall(workshop):
    plan = local(workshop, {"size": 80 << 30}, {"size": 10 << 30})
    assert (plan["decision"], plan["code"]) == ("skip", "headroom")
    assert "too many" in plan["text"] and "quantised" in plan["text"]
    assert plan["memory"]["spare_gib"] < 0


def test_what_is_not_known_is_not_zero(workshop):
    memory = workshop.plan()["memory"]
    assert memory["target_weights_gib"] is None and memory["needed_gib"] is None and memory["spare_gib"] is None
    assert memory["available_gib"] is None


@pytest.mark.parametrize(
    ("method", "head", "code", "parts"),
    [
        ("draft_model", {"vocab_size": 151936 - 64}, "vocab_mismatch", ["151872", "151936"]),
        ("eagle3", {"hidden_size": 2048}, "head_mismatch", ["2048", "4096"]),
        ("eagle3", {"hidden_size": 2048, "target_hidden_size": 5120}, "head_mismatch", ["5120", "4096"]),
        ("eagle3", {"vocab_size": 32000}, "head_mismatch", ["32000", "151936"]),
    ],
)
def test_a_draft_for_another_target_is_refused(workshop, method, head, code, parts):
    plan = local(workshop, head=head, method=method)
    assert (plan["decision"], plan["code"]) == ("refuse", code)
    for part in ["speculation.catalogue", *parts]:
        assert part in plan["text"]


@pytest.mark.parametrize(
    ("method", "head"),
    [
        ("eagle3", {"hidden_size": 2048, "target_hidden_size": 4096}),
        ("eagle3", {"config": {"transformer_layer_config": {"hidden_size": 4096, "vocab_size": 151936}}}),
        ("draft_model", {"hidden_size": 1024}),
        ("eagle3", {"config": {}}),
    ],
)
def test_a_draft_that_may_fit_is_taken(workshop, method, head):
    assert local(workshop, head=head, method=method)["decision"] == "speculate"


def test_a_local_head_with_a_short_context_is_refused_on_an_old_vllm(workshop):
    old = {"runtime": {"path": workshop.runtime("0.26.0")}}
    head = {"max_position_embeddings": 2048}
    plan = local(workshop, head=head, service=old)
    assert (plan["decision"], plan["code"]) == ("refuse", "head_context")
    assert local(workshop, head=head)["decision"] == "speculate"


def test_a_missing_target_is_refused_with_field_and_path(workshop):
    plan = workshop.plan(service=workshop.service(model="/srv/models/none"))
    assert (plan["decision"], plan["code"]) == ("refuse", "model_missing")
    assert "service.model" in plan["text"] and "/srv/models/none" in plan["text"]
    assert plan["baseline"]["spec"]["revisions"]["model"] is None


@pytest.mark.parametrize(
    ("draft", "part"),
    [
        ({"weights": ()}, "no weights"),
        ({"config": "{"}, "not valid JSON"),
        ({"config": "[]"}, "JSON object"),
    ],
)
def test_a_broken_draft_is_refused(workshop, draft, part):
    plan = local(workshop, head=draft)
    assert (plan["decision"], plan["code"]) == ("refuse", "draft_missing")
    assert part in plan["text"] and str(workshop.root / "draft") in plan["text"]


def test_a_draft_named_by_the_inventory_is_blamed_on_its_own_field(workshop):
    plan = workshop.plan(speculation={"method": "eagle3", "draft": "/srv/none"})
    assert (plan["decision"], plan["code"]) == ("refuse", "draft_missing")
    assert plan["text"].startswith("speculation.draft: /srv/none")


def test_a_missing_shard_is_found(workshop):
    path = workshop.model("sharded", weights=("model-1.safetensors",))
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    with open(os.path.join(path, "model.safetensors.index.json"), "w") as handle:
        json.dump(index, handle)
    plan = workshop.plan(service=workshop.service(model=path))
    assert plan["code"] == "model_missing" and "lacks 1 of 2" in plan["text"] and "model-2" in plan["text"]


def test_another_model_at_the_same_path_is_another_slot(workshop):
    service = workshop.service(model=workshop.model("target"))
    named = {"method": "eagle3", "draft": workshop.model("draft")}
    before, again = workshop.plan(service=service, speculation=named), workshop.plan(service=service, speculation=named)
    assert again["candidate"] == before["candidate"]
    os.utime(os.path.join(named["draft"], "model.safetensors"), (1, 1))
    changed = workshop.plan(service=service, speculation=named)
    assert changed["baseline"] == before["baseline"]
    assert changed["candidate"]["digest"] != before["candidate"]["digest"]


def test_a_model_of_the_hubs_cache_keeps_its_name_when_touched(workshop):
    blob = workshop.root / ("a" * 64)
    blob.write_bytes(b"weights")
    path = workshop.model("snapshot", weights=())
    os.symlink(blob, os.path.join(path, "model.safetensors"))
    service = workshop.service(model=path)
    before = workshop.plan(service=service, speculation={"method": "ngram"})
    os.utime(blob, (1, 1))
    assert workshop.plan(service=service, speculation={"method": "ngram"})["baseline"] == before["baseline"]
    blob.unlink()
    assert workshop.plan(service=service)["code"] == "model_missing"


# -- input that makes no sense anywhere --------------------------------------------------------------------------
def test_a_host_that_may_speculate_needs_to_know_what_it_serves(workshop):
    with pytest.raises(PlanError, match="service is missing") as caught:
        _without_service(workshop, facts())
    assert caught.value.code == "bad_setting"


def test_a_host_that_may_not_needs_no_service(workshop):
    plan = _without_service(workshop, facts("orin_nano", "36.4.4"))
    assert plan["code"] == "family"
    assert plan["baseline"] is None and plan["client"] is None


def _without_service(workshop, host):
    workshop.service = lambda **changes: None
    return workshop.plan(host)


@pytest.mark.parametrize("host", [{}, {"is_jetson": None}, {"is_jetson": "yes"}])
def test_facts_of_something_else_are_refused(workshop, host):
    with pytest.raises(PlanError, match="jetson.is_jetson"):
        workshop.plan(host)


def test_facts_without_memory_are_refused(workshop):
    with pytest.raises(PlanError, match="mem_total_mib"):
        workshop.plan(facts(mem_total_mib=None))


@pytest.mark.parametrize("shipped", [{"heads": {}}, {"runtimes": {}, "heads": {"heads": []}}])
def test_a_broken_catalogue_is_named(workshop, shipped):
    with pytest.raises(PlanError) as caught:
        workshop.plan(shipped=shipped)
    assert caught.value.code == "bad_catalogue"


def test_a_model_of_unknown_architecture_is_not_estimated(workshop):
    path = workshop.model("latent", config=dict(QWEN, kv_lora_rank=512))
    plan = workshop.plan(service=workshop.service(model=path), speculation={"method": "ngram"})
    assert plan["memory"]["target_cache_gib"] is None and plan["memory"]["needed_gib"] is None
    assert plan["decision"] == "speculate"
