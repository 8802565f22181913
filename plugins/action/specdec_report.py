# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Prints the fleet table and writes the report on the controller. Documented in plugins/modules/specdec_report.py."""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from collections.abc import Mapping
from typing import Any

from ansible import constants as C
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.jetson.specdec.plugins.plugin_utils._report import FAIL_ON, STATES, build
from ansible_collections.jetson.specdec.plugins.plugin_utils._report_text import console, markdown

display = Display()

# Stdout callbacks whose output programs read: a table between their lines would break it.
MACHINE_READABLE = ("json", "jsonl", "null")
# A host that was taken back is never green.
COLORS = {
    "kept": C.COLOR_OK,
    "rolled_back": C.COLOR_CHANGED,
    "inconclusive": C.COLOR_CHANGED,
    "planned": None,
    "skipped": C.COLOR_SKIP,
}


class ActionModule(ActionBase):
    """See the module of the same name."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Print, write and return the report."""
        result = super().run(tmp, task_vars)
        _checked, args = self.validate_argument_spec(
            argument_spec={
                "results": {"type": "list", "elements": "dict", "required": True},
                "members": {"type": "list", "elements": "str", "default": []},
                "run": {"type": "dict", "default": {}},
                "dest": {"type": "str", "default": ""},
                "fail_on": {"type": "list", "elements": "str", "choices": list(STATES), "default": list(FAIL_ON)},
                "fail": {"type": "bool", "default": True},
                "print": {"type": "bool", "default": True},
            }
        )
        run = dict(args["run"])
        run["check"] = bool(self._task.check_mode or run.get("check") is True)
        report = _data(build(args["results"], run, args["members"], args["fail_on"]))
        path = None
        if args["dest"] and not run["check"]:
            try:
                path = write(report, os.path.expanduser(args["dest"]))
            except OSError as error:
                # The hosts are as they are; a full disk here must not hide how they ended.
                display.warning(f"the report could not be written to {args['dest']}: {error.strerror or error}")
        lines = console(report, path)
        if args["print"] and not machine_readable(C.DEFAULT_STDOUT_CALLBACK):
            for text, state in lines:
                display.display(text, color=COLORS.get(state, C.COLOR_ERROR) if state else None)
        result.update(
            changed=False,
            report=report,
            lines=[text for text, _state in lines],
            counts=report["counts"],
            failing=report["failing"],
            path=path,
        )
        if args["fail"] and report["failing"]:
            result.update(failed=True, msg=failure(report))
        return result


def failure(report: Mapping[str, Any]) -> str:
    """One line that says which hosts make the run fail."""
    ends = [
        f"{row['host']} {row['state'].replace('_', ' ')}" for row in report["hosts"] if row["host"] in report["failing"]
    ]
    return f"{report['sentence']}; not as it should be: {', '.join(ends)}"


def machine_readable(callback: str) -> bool:
    """Whether the stdout callback writes for programs."""
    return str(callback).rpartition(".")[2] in MACHINE_READABLE


def write(report: Mapping[str, Any], dest: str) -> str:
    """Write report.json and report.md in a folder of the run below ``dest``; the folder. Raises OSError."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", report["run"]["id"] or "run").lstrip(".") or "run"
    folder = os.path.join(os.path.abspath(dest), name)
    os.makedirs(folder, exist_ok=True)
    _replace(
        os.path.join(folder, "report.json"), json.dumps(report, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    )
    _replace(os.path.join(folder, "report.md"), markdown(dict(report)))
    return folder


def _replace(path: str, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".report-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise


def _data(value: Any) -> Any:
    """``value`` in plain types: what Ansible hands over are its own, which carry more than JSON can hold."""
    if isinstance(value, Mapping):
        return {str(key): _data(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_data(item) for item in value]
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
