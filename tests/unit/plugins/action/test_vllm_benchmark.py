# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The collection's prompts reach the module, kinds in turn, and do not fill the log of every poll."""

from __future__ import annotations

from collections import Counter

import pytest
from ansible.plugins.action import ActionBase

from ansible_collections.jetson.specdec.plugins.action import vllm_benchmark
from ansible_collections.jetson.specdec.plugins.plugin_utils import _data


class Task:
    def __init__(self, args):
        self.args = args
        self.async_val = 0


@pytest.fixture
def action(monkeypatch):
    """An action over given arguments, with the module replaced by an echo."""

    def _action(args):
        plugin = object.__new__(vllm_benchmark.ActionModule)
        plugin._task = Task(args)
        plugin.calls = []

        def echo(module_name, module_args, task_vars):
            plugin.calls.append((module_name, dict(module_args)))
            return {"changed": False, "finished": False, "invocation": {"module_args": dict(module_args)}}

        plugin._execute_module = echo
        return plugin

    monkeypatch.setattr(ActionBase, "run", lambda self, tmp=None, task_vars=None: {})
    return _action


def test_the_shipped_prompts():
    rows = _data.load("prompts")["prompts"]
    assert Counter(row["kind"] for row in rows) == {"prose": 8, "reasoning": 8, "code": 8, "structured": 8}
    assert len({row["id"] for row in rows}) == 32
    assert len({row["text"] for row in rows}) == 32
    for row in rows:
        assert set(row) == {"id", "kind", "text"}
        assert row["text"].isascii()
        assert 200 <= len(row["text"]) <= 700
        assert "\n" not in row["text"]


def test_all_are_taken_by_default(action):
    plugin = action({"arm": "baseline"})
    result = plugin.run(task_vars={})
    name, arguments = plugin.calls[0]
    assert name == "jetson.specdec.vllm_benchmark"
    assert len(arguments["prompts"]) == 32
    assert "prompts" not in result["invocation"]["module_args"]
    assert plugin._task.args == {"arm": "baseline"}


def test_a_short_set_has_every_kind(action):
    plugin = action({"prompt_count": "6"})
    plugin.run(task_vars={})
    kinds = [row["kind"] for row in plugin.calls[0][1]["prompts"]]
    assert kinds == ["prose", "reasoning", "code", "structured", "prose", "reasoning"]


def test_the_site_s_own_prompts_are_left_alone(action):
    own = [{"id": "a", "text": "b"}]
    plugin = action({"prompts": own, "prompt_count": 99})
    result = plugin.run(task_vars={})
    assert plugin.calls[0][1]["prompts"] == own
    assert result["invocation"]["module_args"]["prompts"] == own


@pytest.mark.parametrize("count", [0, 33, -1, "many", None])
def test_a_bad_count_names_the_field(action, count):
    plugin = action({"prompt_count": count})
    result = plugin.run(task_vars={})
    assert result["failed"] is True
    assert result["code"] == "bad_prompts"
    assert "prompt_count" in result["msg"]
    assert plugin.calls == []


def test_uneven_kinds_are_taken_until_none_is_left():
    rows = [{"id": str(at), "kind": kind, "text": "t"} for at, kind in enumerate("aaab")]
    assert [row["id"] for row in vllm_benchmark.interleaved(rows, 4)] == ["0", "3", "1", "2"]


def test_a_broken_installation_is_a_message(action, monkeypatch):
    def broken(name):
        raise _data.DataError(f"data/{name}.yml can't be read")

    monkeypatch.setattr(vllm_benchmark._data, "load", broken)
    plugin = action({})
    assert plugin.run(task_vars={}) == {
        "failed": True,
        "msg": "data/prompts.yml can't be read",
        "code": "bad_prompts",
    }
    assert plugin.calls == []
