# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Prints what a rollout cost each host, apart from starting servers and measuring."""

from __future__ import annotations

DOCUMENTATION = r"""
name: rollout_cost
type: aggregate
short_description: What a rollout cost each host
description:
  - Counts module executions and seconds of each host. Polls, which wait on the device for a server or a measurement,
    are counted apart, with the processor time that they took there.
requirements:
  - enabled in the configuration
"""

import time
from collections import defaultdict
from typing import Any

from ansible.plugins.callback import CallbackBase

OURS = "jetson.specdec."
WAITING = (OURS + "vllm_ready", OURS + "vllm_benchmark")


class Cost:
    """What one host cost so far."""

    def __init__(self) -> None:
        self.executions = 0
        self.polls = 0
        self.poll_cpu_s = 0.0
        self.waiting_s = 0.0
        self.other_s = 0.0


class CallbackModule(CallbackBase):
    """Adds up per host and prints a table with the recap."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "rollout_cost"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._costs: dict[str, Cost] = defaultdict(Cost)
        self._begun: dict[tuple[str, str], float] = {}

    def v2_runner_on_start(self, host: Any, task: Any) -> None:
        self._begun[(host.get_name(), task._uuid)] = time.monotonic()

    def _add(self, result: Any, skipped: bool = False) -> None:
        host, task, answer = result._host.get_name(), result._task, result._result
        begun = self._begun.pop((host, task._uuid), None)
        cost = self._costs[host]
        took_s = 0.0 if begun is None else time.monotonic() - begun
        waits = task.action in WAITING
        if waits:
            cost.waiting_s += took_s
        else:
            cost.other_s += took_s
        # A report is made on the controller, not on the host.
        if skipped or not task.action.startswith(OURS) or task.action.endswith("_report"):
            return
        cost.executions += 1
        if waits:
            cost.polls += int(answer.get("attempts", 1)) - 1
            cost.poll_cpu_s += float(answer.get("cpu_s") or 0.0)

    def v2_runner_on_ok(self, result: Any) -> None:
        self._add(result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._add(result)

    def v2_runner_on_skipped(self, result: Any) -> None:
        self._add(result, skipped=True)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._add(result)

    def v2_runner_retry(self, result: Any) -> None:
        self._costs[result._host.get_name()].poll_cpu_s += float(result._result.get("cpu_s") or 0.0)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        self._display.banner("COST OF THE ROLLOUT (polls wait on the device, at most 15 s each)")
        row = "{:<12} {:>18} {:>6} {:>14} {:>26} {:>14}"
        self._display.display(
            row.format("host", "module executions", "polls", "their cpu, s", "starting and measuring, s", "all else, s")
        )
        for host in sorted(self._costs):
            cost = self._costs[host]
            self._display.display(
                row.format(
                    host,
                    cost.executions,
                    cost.polls,
                    f"{cost.poll_cpu_s:.1f}" if cost.polls else "-",
                    f"{cost.waiting_s:.0f}",
                    f"{cost.other_s:.1f}",
                )
            )
