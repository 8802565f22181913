# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Hands the collection's own prompts to the module: they are data on the controller, and the device has no copy."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ..plugin_utils import _data

MODULE = "jetson.specdec.vllm_benchmark"
DEFAULT_COUNT = 32


class BadPrompts(Exception):
    """The prompts can't be taken as asked."""


def interleaved(rows: list[dict[str, str]], count: int) -> list[dict[str, str]]:
    """The first ``count`` of ``rows``, kinds in turn, so that a short set has as much of each kind as a long one.

    Raises BadPrompts when there are fewer.
    """
    by_kind: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        by_kind.setdefault(row["kind"], []).append(row)
    longest = max((len(group) for group in by_kind.values()), default=0)
    ordered = [group[at] for at in range(longest) for group in by_kind.values() if at < len(group)]
    if not 1 <= count <= len(ordered):
        raise BadPrompts(f"prompt_count must lie between 1 and {len(ordered)}, not {count}")
    return ordered[:count]


class ActionModule(ActionBase):
    """Run the module with prompts among its arguments."""

    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        ours = arguments.get("prompts") is None
        if ours:
            try:
                count = int(arguments.get("prompt_count", DEFAULT_COUNT))
                arguments["prompts"] = interleaved(_data.load("prompts")["prompts"], count)
            except (_data.DataError, BadPrompts) as exc:
                result.update(failed=True, msg=str(exc), code="bad_prompts")
                return result
            except (TypeError, ValueError):
                msg = f"prompt_count must be a whole number, not {arguments['prompt_count']!r}"
                result.update(failed=True, msg=msg, code="bad_prompts")
                return result
        result.update(self._execute_module(module_name=MODULE, module_args=arguments, task_vars=task_vars))
        if ours:
            # Ten thousand characters that are in the collection anyway don't belong into the log of every poll.
            result.get("invocation", {}).get("module_args", {}).pop("prompts", None)
        return result
