# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Hands the collection's catalogue to the module: it is data on the controller, and the device has no copy of it."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ..plugin_utils import _data

CATALOGUE_FILES = ("heads", "drafts", "runtimes")
MODULE = "jetson.specdec.specdec_plan"


class ActionModule(ActionBase):
    """Run the module with the catalogue among its arguments. Changes nothing, so check mode is no different."""

    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        if arguments.get("catalogue") is None:
            try:
                arguments["catalogue"] = {name: _data.load(name) for name in CATALOGUE_FILES}
            except _data.DataError as exc:
                result.update(failed=True, msg=str(exc), code="bad_catalogue")
                return result
        result.update(self._execute_module(module_name=MODULE, module_args=arguments, task_vars=task_vars))
        # Hundreds of lines that are in the collection anyway don't belong into every log of every host.
        given = result.get("invocation", {}).get("module_args", {})
        if "catalogue" not in self._task.args:
            given.pop("catalogue", None)
        return result
