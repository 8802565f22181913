# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""A pair of arms as the benchmark measures them, whose gain, drop and size a test chooses."""

from __future__ import annotations

from typing import Any, Callable

import pytest

KINDS = ("prose", "reasoning", "code", "structured")
SLOT = "3f2c90ab11de"
Arms = dict[str, dict[str, Any]]


def build_level(
    arm: str,
    concurrency: int,
    requests: int,
    tok_s: float,
    *,
    start_s: float,
    ttft_ms: float = 50.0,
    tokens: int = 96,
    prompts: int = 16,
    tpot_factor: float = 1.0,
) -> dict[str, Any]:
    """A level in which every request takes the same time, so that its throughput is ``tok_s`` exactly."""
    e2e_ms = 1000.0 * concurrency * tokens / tok_s
    # tpot_factor moves time between the first token and the others, with the sum left as it is.
    tpot_ms = tpot_factor * (e2e_ms - ttft_ms) / (tokens - 1)
    ttft_ms = e2e_ms - tpot_ms * (tokens - 1)
    samples = []
    for number in range(requests):
        name = number % prompts
        samples.append(
            {
                "prompt": f"{KINDS[name % 4]}-{name}",
                "kind": KINDS[name % 4],
                "status": "ok",
                "ttft_ms": ttft_ms,
                "tpot_ms": tpot_ms,
                "e2e_ms": e2e_ms,
                "chunks": tokens,
                "prompt_tokens": 40,
                "output_tokens": tokens,
                "finish_reason": "length",
                "error": None,
                "text_sha256": f"{name:064x}",
                "text_head": f"Answer {name}: the quick brown fox jumps over a lazy dog while nobody looks, and rests.",
            }
        )
    duration_s = requests * e2e_ms / 1000.0 / concurrency
    drafts = requests * tokens // 3
    speculation = {
        "num_speculative_tokens_seen": 5,
        "drafts": drafts,
        "draft_tokens": 5 * drafts,
        "accepted_tokens": 2 * drafts,
        "acceptance_rate": 0.4,
        "acceptance_length": 3.0,
        "per_position": [0.8, 0.5, 0.4, 0.2, 0.1],
    }
    return {
        "schema": "jetson.specdec/level/1",
        "arm": arm,
        "slot": SLOT if arm == "candidate" else "0aa0aa0aa0aa",
        "concurrency": concurrency,
        "requests": requests,
        "completed": requests,
        "errors": [],
        "duration_s": duration_s,
        "output_tokens": requests * tokens,
        "throughput_tok_s": requests * tokens / duration_s,
        "ttft_ms_p50": ttft_ms,
        "tpot_ms_p50": tpot_ms,
        "itl_ms_p50": tpot_ms,
        "e2e_ms_p50": e2e_ms,
        "prompts_sha256": "ab" * 32,
        "max_tokens": 96,
        "temperature": 0.0,
        "samples": samples,
        "speculation": speculation if arm == "candidate" else None,
        "foreign_requests": 0,
        "boot_id": "3c5f1a52-6b5e-4c57-9d0e-5a1c6d5d4f10",
        "server_pid": 4711 if arm == "candidate" else 815,
        "server_start_ticks": 990000 if arm == "candidate" else 120000,
        "started_boottime_s": start_s,
        "finished_boottime_s": start_s + duration_s,
        "prefill_share": ttft_ms / e2e_ms,
        "warnings": [],
    }


def build_arms(gain: float = 0.6, high_gain: float = 0.05, tpot_factor: float = 1.0, ttft_ms: float = 2.0) -> Arms:
    """Both arms; the candidate's throughput is exactly ``1 + gain`` times the baseline's."""
    arms: Arms = {}
    for arm, start_s in (("baseline", 1000.0), ("candidate", 5000.0)):
        low = 31.25 * (1.0 + (gain if arm == "candidate" else 0.0))
        high = 128.0 * (1.0 + (high_gain if arm == "candidate" else 0.0))
        arms[arm] = {
            "low": build_level(
                arm,
                1,
                16,
                low,
                start_s=start_s,
                ttft_ms=ttft_ms,
                tpot_factor=tpot_factor if arm == "candidate" else 1.0,
            ),
            "high": build_level(arm, 8, 24, high, start_s=start_s + 1000, prompts=16, ttft_ms=ttft_ms),
        }
    return arms


@pytest.fixture
def profile() -> dict[str, Any]:
    """A short profile, for which the arms were measured."""
    return {"name": "short", "prompts": 16, "max_tokens": 96, "c8_requests": 24, "resamples": 200}


@pytest.fixture
def arms() -> Callable[..., Arms]:
    """``arms(gain=…, high_gain=…)`` makes a pair of arms."""
    return build_arms


@pytest.fixture
def gate(profile: dict[str, Any]) -> Callable[..., dict[str, Any]]:
    """``gate(pair, **thresholds)`` decides over a pair of arms."""
    from ansible_collections.jetson.specdec.plugins.module_utils._gate.verdict import decide

    def run(pair: Arms, **thresholds: Any) -> dict[str, Any]:
        return decide(pair["baseline"], pair["candidate"], {**profile, **thresholds}, SLOT, 5)

    return run
