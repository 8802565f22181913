# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The catalogue reaches the module, and does not fill every log on its way back."""

from __future__ import annotations

import pytest
from ansible.plugins.action import ActionBase

from ansible_collections.jetson.specdec.plugins.action import specdec_plan
from ansible_collections.jetson.specdec.plugins.plugin_utils import _data


class Task:
    def __init__(self, args):
        self.args = args
        self.async_val = 0


@pytest.fixture
def action(monkeypatch):
    """An action over given arguments, with the module replaced by an echo."""

    def _action(args):
        plugin = object.__new__(specdec_plan.ActionModule)
        plugin._task = Task(args)
        plugin.calls = []

        def echo(module_name, module_args, task_vars):
            plugin.calls.append((module_name, dict(module_args)))
            return {"changed": False, "plan": {}, "invocation": {"module_args": dict(module_args)}}

        plugin._execute_module = echo
        return plugin

    monkeypatch.setattr(ActionBase, "run", lambda self, tmp=None, task_vars=None: {})
    return _action


def test_the_catalogue_is_added(action):
    plugin = action({"jetson": {}})
    result = plugin.run(task_vars={})
    name, arguments = plugin.calls[0]
    assert name == "jetson.specdec.specdec_plan"
    assert set(arguments["catalogue"]) == {"heads", "drafts", "runtimes"}
    assert arguments["catalogue"]["heads"]["heads"][0]["target"]
    assert "catalogue" not in result["invocation"]["module_args"]
    assert plugin._task.args == {"jetson": {}}


def test_a_given_catalogue_is_kept(action):
    plugin = action({"jetson": {}, "catalogue": {"heads": 1}})
    result = plugin.run(task_vars={})
    assert plugin.calls[0][1]["catalogue"] == {"heads": 1}
    assert result["invocation"]["module_args"]["catalogue"] == {"heads": 1}


def test_a_broken_installation_is_a_message(action, monkeypatch):
    def broken(name):
        raise _data.DataError(f"data/{name}.yml can't be read")

    monkeypatch.setattr(specdec_plan._data, "load", broken)
    plugin = action({"jetson": {}})
    result = plugin.run(task_vars={})
    assert result == {"failed": True, "msg": "data/heads.yml can't be read", "code": "bad_catalogue"}
    assert plugin.calls == []
