# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Does it fit beside the operating system? PRIVATE to this collection.

On a Jetson the processor and the GPU share one memory. vLLM's budget is its utilisation of all of it, draft and caches
included; what the budget leaves must hold the system. All figures are GiB; None means not known here.
"""

from __future__ import annotations

import math
from typing import Any

from .checkpoint import Checkpoint
from .runtime import RuntimeTable

GIB = float(1 << 30)


def measure(
    facts: dict[str, Any],
    table: RuntimeTable,
    service: dict[str, Any],
    speculation: dict[str, Any],
    target: Checkpoint | None,
    draft: Checkpoint | None,
    has_draft: bool,
    tokens: int,
) -> dict[str, Any]:
    """The memory that the candidate would have and need, as numbers.

    ``target`` and ``draft`` are None for models that are named by their hub id; ``has_draft`` is False for methods
    that load no second model.
    """
    total = facts["mem_total_mib"] / 1024.0
    available = facts.get("mem_available_mib")
    baseline = service["gpu_memory_utilization"]
    utilization = candidate_utilization(baseline, table)
    outside = total * (1.0 - utilization)
    reserve = table.system_reserve_gib(facts["family"], total)
    memory: dict[str, Any] = {
        "total_gib": total,
        "available_gib": None if available is None else available / 1024.0,
        "baseline_utilization": baseline,
        "candidate_utilization": utilization,
        "candidate_budget_gib": total * utilization,
        "outside_budget_gib": outside,
        "system_reserve_gib": reserve,
        "headroom_gib": outside - reserve,
        "headroom_needed_gib": float(speculation["headroom_gib"]),
        "target_weights_gib": target.weights_bytes / GIB if target else None,
        "draft_weights_gib": draft.weights_bytes / GIB if draft else None,
        "target_cache_gib": None,
        "draft_cache_gib": None,
        "engine_overhead_gib": float(table.limits["engine_overhead_gib"]),
        "needed_gib": None,
        "spare_gib": None,
    }
    _caches(memory, service, speculation, target, draft, tokens)
    _needed(memory, service, has_draft)
    return {
        name: round(value, 4 if "utilization" in name else 2) if value is not None else None
        for name, value in memory.items()
    }


def candidate_utilization(baseline: float, table: RuntimeTable) -> float:
    """The baseline's own value less the step that makes room."""
    return round(baseline - table.limits["utilization_step"], 4)


def _caches(
    memory: dict[str, Any],
    service: dict[str, Any],
    speculation: dict[str, Any],
    target: Checkpoint | None,
    draft: Checkpoint | None,
    tokens: int,
) -> None:
    # One full-length sequence for each declared client; vLLM rounds a sequence up to blocks of 16 tokens.
    element = 1 if str(service["extra_config"].get("kv-cache-dtype", "")).startswith("fp8") else None
    length = 16 * math.ceil((service["max_model_len"] + tokens) / 16.0)
    sequences = min(speculation["concurrency"], service["max_num_seqs"])
    for name, checkpoint in (("target_cache_gib", target), ("draft_cache_gib", draft)):
        per_token = checkpoint.cache_bytes_per_token(element) if checkpoint else None
        if per_token is not None:
            memory[name] = per_token * length * sequences / GIB


def _needed(memory: dict[str, Any], service: dict[str, Any], has_draft: bool) -> None:
    fixed = service["extra_config"].get("kv-cache-memory-bytes")
    if isinstance(fixed, int):  # then vLLM takes exactly this for all caches together
        caches = [fixed / GIB]
    else:
        caches = [memory["target_cache_gib"]] + ([memory["draft_cache_gib"]] if has_draft else [])
    parts = [memory["target_weights_gib"], memory["engine_overhead_gib"]] + caches
    if has_draft:
        parts.append(memory["draft_weights_gib"])
    if all(part is not None for part in parts):
        memory["needed_gib"] = sum(parts)
        memory["spare_gib"] = memory["candidate_budget_gib"] - memory["needed_gib"]


def obstacle(memory: dict[str, Any], table: RuntimeTable) -> str | None:
    """Why the candidate does not fit, by how much, and what would make it fit; None when it does."""
    ceiling = table.limits["utilization_ceiling"]
    baseline = memory["baseline_utilization"]
    total, needed = memory["total_gib"], memory["headroom_needed_gib"]
    fitting = 1.0 - (memory["system_reserve_gib"] + needed) / total + table.limits["utilization_step"]
    fitting = min(ceiling, math.floor(fitting * 100 + 1e-6) / 100)
    cure = (
        f"set service.gpu_memory_utilization to {fitting:.2f} or less"
        if fitting > table.limits["utilization_step"]
        else "this host is too small for a server and a draft"
    )
    if baseline > ceiling:
        above = f"gpu-memory-utilization {baseline:.2f} is above the ceiling of {ceiling:.2f}"
        return f"{above}, there is nothing left to give; {cure}"
    if memory["headroom_gib"] < needed:
        return "{}, {:.1f} GiB less than the {:.1f} needed; {}".format(
            headroom_text(memory), needed - memory["headroom_gib"], needed, cure
        )
    if memory["spare_gib"] is not None and memory["spare_gib"] < 0:
        return (
            "weights, caches and engine need {:.1f} GiB of the {:.1f} GiB that the candidate may use, {:.1f} too many; "
            "use a smaller draft, a shorter max_model_len or a quantised target"
        ).format(memory["needed_gib"], memory["candidate_budget_gib"], -memory["spare_gib"])
    return None


def headroom_text(memory: dict[str, Any]) -> str:
    """The headroom and how it comes about, as part of a sentence."""
    return "at {:.2f} of {:.1f} GiB, less {:.0f} GiB for the system, the headroom is {:.1f} GiB".format(
        memory["candidate_utilization"], memory["total_gib"], memory["system_reserve_gib"], memory["headroom_gib"]
    )
