# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The counters of a vLLM server, from its Prometheus page. PRIVATE to this collection.

Only ``*_total`` counters and gauges are read. ``prometheus_client`` also writes ``*_created`` time stamps with the same
stem; summing those gives figures of 10**9 that look like counters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from .client import Target, get
from .errors import VllmError

SPECULATION = "vllm:spec_decode_"
_LABEL = re.compile(r'([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"')
_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}


def parse(page: str, prefix: str = "vllm:") -> dict[str, list[tuple[dict[str, str], float]]]:
    """Samples by metric name, those that begin with ``prefix``: ``{name: [(labels, value)]}``.

    Lines that are no samples are passed over: another exporter's oddity must not hide vLLM's counters.
    """
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for line in page.splitlines():
        if not line.startswith(prefix):
            continue
        brace = line.find("{")
        if brace >= 0:
            end = line.rfind("}")
            name, inside, rest = line[:brace], line[brace + 1 : end], line[end + 1 :]
            labels = {key: _unescape(value) for key, value in _LABEL.findall(inside)}
        else:
            name, _space, rest = line.partition(" ")
            labels = {}
        words = rest.split()
        try:
            value = float(words[0])
        except (IndexError, ValueError):
            continue
        found.setdefault(name, []).append((labels, value))
    return found


def _unescape(value: str) -> str:
    return re.sub(r'\\[n"\\]', lambda match: _ESCAPES[match.group(0)], value) if "\\" in value else value


@dataclass
class Snapshot:
    """The counters that decide something, summed over engines; None where the server has no such counter."""

    drafts: float | None = None
    draft_tokens: float | None = None
    accepted_tokens: float | None = None
    accepted_per_position: dict = field(default_factory=dict)  # dict[int, float]
    finished_requests: float | None = None
    running: float | None = None
    waiting: float | None = None
    prefix_hits: float | None = None
    preemptions: float | None = None
    generation_tokens: float | None = None

    @property
    def speculates(self) -> bool:
        """vLLM registers these counters, at 0, only when speculation is on."""
        return self.drafts is not None

    @property
    def num_speculative_tokens(self) -> int:
        """K as the running server has it: the number of positions it counts; 0 without speculation."""
        return len(self.accepted_per_position)


def snapshot(page: str) -> Snapshot:
    """Read a /metrics page."""
    samples = parse(page)

    def total(name: str) -> float | None:
        rows = samples.get(name)
        return sum(value for _labels, value in rows) if rows else None

    per_position: dict[int, float] = {}
    for labels, value in samples.get(SPECULATION + "num_accepted_tokens_per_pos_total", ()):
        if labels.get("position", "").isdigit():
            position = int(labels["position"])
            per_position[position] = per_position.get(position, 0.0) + value
    return Snapshot(
        drafts=total(SPECULATION + "num_drafts_total"),
        draft_tokens=total(SPECULATION + "num_draft_tokens_total"),
        accepted_tokens=total(SPECULATION + "num_accepted_tokens_total"),
        accepted_per_position=per_position,
        finished_requests=total("vllm:request_success_total"),
        running=total("vllm:num_requests_running"),
        waiting=total("vllm:num_requests_waiting"),
        prefix_hits=total("vllm:prefix_cache_hits_total"),
        preemptions=total("vllm:num_preemptions_total"),
        generation_tokens=total("vllm:generation_tokens_total"),
    )


def fetch(target: Target, limit_s: float) -> Snapshot:
    """Snapshot of a running server. Raises VllmError ``no_metrics`` or what ``client.get`` raises."""
    status, body = get(target, "/metrics", limit_s)
    if status != 200:
        raise VllmError("no_metrics", f"GET /metrics at {target.where} answered HTTP {status}")
    return snapshot(body.decode("utf-8", "replace"))


def change(before: float | None, after: float | None) -> float | None:
    """Growth of a counter; None when it was not there or fell, which only a restart does."""
    if before is None or after is None or after < before:
        return None
    return after - before


def speculation(before: Snapshot, after: Snapshot) -> dict[str, Any] | None:
    """What speculation did between two snapshots; None without its counters or across a restart.

    acceptance_rate = accepted / draft tokens; acceptance_length = 1 + accepted / drafts, the bonus token included;
    per_position[i] = share of drafts whose token i was accepted, cumulative as vLLM counts it. The three are None
    when nothing was drafted. Formulas as in vLLM's own ``SpecDecoding metrics`` log line.
    """
    drafts = change(before.drafts, after.drafts)
    draft_tokens = change(before.draft_tokens, after.draft_tokens)
    accepted = change(before.accepted_tokens, after.accepted_tokens)
    if drafts is None or draft_tokens is None or accepted is None:
        return None
    positions = sorted(after.accepted_per_position)
    grown = [after.accepted_per_position[p] - before.accepted_per_position.get(p, 0.0) for p in positions]
    return {
        "num_speculative_tokens_seen": after.num_speculative_tokens,
        "drafts": int(drafts),
        "draft_tokens": int(draft_tokens),
        "accepted_tokens": int(accepted),
        "acceptance_rate": round(accepted / draft_tokens, 4) if draft_tokens else None,
        "acceptance_length": round(1 + accepted / drafts, 4) if drafts else None,
        "per_position": [round(value / drafts, 4) for value in grown] if drafts else [],
    }
