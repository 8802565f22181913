# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Facts and settings -> decision, code and what its sentence must say, over what a fleet is made of."""

from __future__ import annotations

import pytest

from .conftest import facts

FOREIGN = {
    "by": "foreign",
    "text": "vllm.service (/etc/systemd/system/vllm.service, active) was not made by this collection",
}
OURS = {"by": "ours", "text": "vllm.service is ours and active"}
NOT_JETSON = {"is_jetson": False, "why_not": "no NVIDIA device tree: this is x86_64", "family": None, "l4t": None}
BY_CARLA = {"runtime": {"validated_by": "Carla Ruiz"}}
LLAMA = {"model": "meta-llama/Llama-3.1-8B-Instruct"}
OWN = {"target": "/srv/own", "method": "eagle3", "model": "acme/own-eagle3"}

# name: host, service, speculation, served, decision, code, parts of the text
ROWS = {
    # who may
    "x86": (NOT_JETSON, {}, {}, None, "skip", "not_a_jetson", ["x86_64"]),
    "x86, foreign server": (NOT_JETSON, {}, {}, FOREIGN, "skip", "not_a_jetson", ["x86_64"]),
    "orin nano": (facts("orin_nano", "36.4.4"), {}, {}, None, "skip", "family", ["Orin Nano", "rarely enough VRAM"]),
    "orin nx": (facts("orin_nx", "36.4.4"), {}, {}, None, "skip", "family", ["Orin NX", "rarely enough VRAM"]),
    "orin nx on r39": (facts("orin_nx", "39.2.0"), {}, {}, None, "skip", "family", ["Orin NX"]),
    "agx xavier": (facts("agx_xavier", "35.6.0"), {}, {}, None, "skip", "family", ["AGX Xavier"]),
    "xavier nx": (facts("xavier_nx", "35.6.0"), {}, {}, None, "skip", "family", ["Xavier NX"]),
    "tx2": (facts("tx2", "32.7.3"), {}, {}, None, "skip", "family", ["TX2"]),
    "nano": (facts("nano", "32.7.3"), {}, {}, None, "skip", "family", ["Jetson Nano"]),
    "unknown jetson": (facts(None, "39.2.0"), {}, {}, None, "skip", "family", ["not known"]),
    # which runtime
    "thor r38.2": (facts(l4t="38.2.0"), {}, {}, None, "speculate", "speculate", ["eagle3", "5 tokens", "0.32.0"]),
    "thor r38.4": (facts(), {}, {}, OURS, "speculate", "speculate", ["0.75 -> 0.70"]),
    "thor r39": (facts(l4t="39.2.1"), {}, {}, None, "speculate", "speculate", ["5 tokens"]),
    "thor without l4t": (facts(l4t=None), {}, {}, None, "skip", "no_runtime_for_l4t", ["not known"]),
    "thor r37": (facts(l4t="37.0.0"), {}, {}, None, "skip", "no_runtime_for_l4t", ["37.0.0"]),
    "orin r39": (facts("agx_orin", "39.2.0"), {}, {}, None, "speculate", "speculate", ["3 tokens"]),
    "orin r36, nobody's": (
        facts("agx_orin", "36.4.4"),
        {},
        {},
        None,
        "skip",
        "no_runtime_for_l4t",
        ["validated_by", "ghcr.io"],
    ),
    "orin r36, carla's": (facts("agx_orin", "36.4.4"), BY_CARLA, {}, None, "speculate", "speculate", ["3 tokens"]),
    "orin r39, no minor": (facts("agx_orin", "39"), {}, {}, None, "speculate", "speculate", ["3 tokens"]),
    "thor r38, no minor": (facts("thor", "38"), {}, {}, None, "speculate", "speculate", ["5 tokens"]),
    "orin r36.0": (facts("agx_orin", "36.0.0"), BY_CARLA, {}, None, "speculate", "speculate", []),
    "orin r35": (facts("agx_orin", "35.6.1"), BY_CARLA, {}, None, "skip", "no_runtime_for_l4t", ["35.6.1"]),
    "orin r10, not compared as text": (
        facts("agx_orin", "10.0.0"),
        BY_CARLA,
        {},
        None,
        "skip",
        "no_runtime_for_l4t",
        ["10.0.0"],
    ),
    "no executable": (
        facts(),
        {"runtime": {"path": "/opt/none/vllm"}},
        {},
        None,
        "refuse",
        "runtime_missing",
        ["/opt/none/vllm", "service.runtime.path"],
    ),
    # whose server
    "foreign server": (facts(), {}, {}, FOREIGN, "skip", "foreign_server", ["not made by this collection", "Adopt"]),
    "foreign before model": (facts(), {"model": "/srv/none"}, {}, FOREIGN, "skip", "foreign_server", []),
    "no systemd": (
        facts(),
        {},
        {},
        {"by": None, "code": "no_systemd", "text": "no systemctl"},
        "refuse",
        "no_systemd",
        ["systemctl"],
    ),
    # which draft
    "quantised copy": (
        facts(),
        {"model": "RedHatAI/Qwen3-8B-quantized.w4a16"},
        {},
        None,
        "speculate",
        "speculate",
        ["RedHatAI/Qwen3-8B-speculator.eagle3"],
    ),
    "llama": (facts(), LLAMA, {}, None, "speculate", "speculate", ["RedHatAI/Llama-3.1-8B-Instruct-speculator.eagle3"]),
    "similar name": (
        facts(),
        {"model": "Qwen/Qwen3-8B-Base"},
        {},
        None,
        "skip",
        "no_head",
        ["exactly Qwen/Qwen3-8B-Base"],
    ),
    "fine-tune": (facts(), {"model": "acme/Qwen3-8B-robot"}, {}, None, "skip", "no_head", ["none is trained here"]),
    "draft model named": (
        facts(),
        {},
        {"method": "draft_model"},
        None,
        "speculate",
        "speculate",
        ["draft_model with Qwen/Qwen3-0.6B"],
    ),
    "no draft pair": (
        facts(),
        {"model": "openai/gpt-oss-20b"},
        {"method": "draft_model"},
        None,
        "skip",
        "no_head",
        ["no draft"],
    ),
    "no dflash head": (facts(), {}, {"method": "dflash"}, None, "skip", "no_head", ["no dflash head"]),
    "own head named": (
        facts(),
        {},
        {"method": "eagle3", "draft": "acme/head"},
        None,
        "speculate",
        "speculate",
        ["eagle3 with acme/head"],
    ),
    "mtp": (
        facts(),
        {"model": "Qwen/Qwen3.5-27B"},
        {"method": "mtp"},
        None,
        "speculate",
        "speculate",
        ["mtp, 5 tokens"],
    ),
    "ngram": (facts(), {}, {"method": "ngram"}, None, "speculate", "speculate", ["ngram, 5 tokens"]),
    "site row": (
        facts(),
        {},
        {"catalogue": [dict(OWN, target="Qwen/Qwen3-8B")]},
        None,
        "speculate",
        "speculate",
        ["acme/own-eagle3"],
    ),
    "site row of another": (facts(), {"model": "acme/x"}, {"catalogue": [OWN]}, None, "skip", "no_head", []),
    "short head, new vllm": (
        facts(),
        {"model": "deepseek-ai/DeepSeek-R1-Distill-Llama-8B"},
        {},
        None,
        "speculate",
        "speculate",
        ["yuhuili"],
    ),
    # how many tokens, which workload
    "k by operator": (facts(), {}, {"num_speculative_tokens": 2}, None, "speculate", "speculate", ["2 tokens"]),
    "concurrency 7": (facts(), {}, {"concurrency": 7}, None, "speculate", "speculate", []),
    "concurrency 8": (
        facts(),
        {},
        {"concurrency": 8},
        None,
        "skip",
        "high_concurrency",
        ["8", "allow_high_concurrency"],
    ),
    "concurrency 8 allowed": (
        facts(),
        {},
        {"concurrency": 8, "allow_high_concurrency": True},
        None,
        "speculate",
        "speculate",
        [],
    ),
    # does it fit: 61.4 GiB and 6 for the system on AGX Orin 64, 30 and 4 on AGX Orin 32
    "thor at 0.90": (facts(), {"gpu_memory_utilization": 0.90}, {}, None, "speculate", "speculate", ["0.90 -> 0.85"]),
    "thor at 0.91": (
        facts(),
        {"gpu_memory_utilization": 0.91},
        {},
        None,
        "skip",
        "headroom",
        ["ceiling", "0.90 or less"],
    ),
    "orin 64 at 0.90": (
        facts("agx_orin", "39.2.0"),
        {"gpu_memory_utilization": 0.90},
        {},
        None,
        "speculate",
        "speculate",
        ["3.2 GiB"],
    ),
    "orin 32 at 0.86": (
        facts("agx_orin", "39.2.0", 30700),
        {"gpu_memory_utilization": 0.86},
        {},
        None,
        "skip",
        "headroom",
        ["0.3 GiB less", "0.84 or less"],
    ),
    "orin 32 at 0.84": (
        facts("agx_orin", "39.2.0", 30700),
        {"gpu_memory_utilization": 0.84},
        {},
        None,
        "speculate",
        "speculate",
        [],
    ),
    "more headroom wanted": (
        facts(),
        {"gpu_memory_utilization": 0.90},
        {"headroom_gib": 12.0},
        None,
        "skip",
        "headroom",
        ["12.0 needed"],
    ),
    "absurdly small": (facts(total_mib=4096), {}, {}, None, "skip", "headroom", ["too small"]),
}


@pytest.mark.parametrize("name", ROWS)
def test_decision(workshop, name):
    host, service, speculation, served, decision, code, parts = ROWS[name]
    plan = workshop.plan(host, workshop.service(**service), speculation, served)
    assert (plan["decision"], plan["code"]) == (decision, code), plan["text"]
    for part in parts:
        assert part in plan["text"]
    assert "\n" not in plan["text"]
    assert plan["reasons"], "a decision without its path"
    if decision == "speculate":
        assert plan["candidate"] is not None and plan["memory"]["headroom_gib"] >= 2.0
        assert [reason["code"] for reason in plan["reasons"]][-1] == "headroom"
    else:
        assert plan["candidate"] is None
        assert plan["reasons"][-1] == {"code": code, "text": plan["text"]}
    assert plan["baseline"]["spec"]["kind"] == "baseline"
