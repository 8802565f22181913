# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The device package's command line, called by units. PRIVATE to this collection.

``run guard | boot-check | verify | self-check | benchmark SPEC OUT``
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from .._slots import disk
from .._slots.errors import SlotError
from .._slots.store import Store
from .._vllm import benchmark
from . import guard

USAGE = "usage: run guard | boot-check | verify | self-check | benchmark SPEC OUT"


def main(arguments: list[str]) -> int:
    """Run one command; its exit status is 0 for done, 1 for tried and failed, 2 for a wrong call."""
    # .../device/<digest>/jetson_specdec/_device/entry.py: the state directory is where this package lies
    state_dir = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 4))
    store = Store(state_dir)
    commands = {"guard": guard.guard, "boot-check": guard.boot_check, "verify": guard.verify, "self-check": self_check}
    try:
        if len(arguments) == 1 and arguments[0] in commands:
            return commands[arguments[0]](store)
        if len(arguments) == 3 and arguments[0] == "benchmark":
            return run_benchmark(arguments[1], arguments[2])
    except SlotError as exc:
        guard.say(f"{exc.code}: {exc.text}")
        return 1
    sys.stderr.write(USAGE + "\n")
    return 2


def self_check(store: Store) -> int:
    """The interpreter runs, the package imports, the marker can be read and the state directory written."""
    store.read_marker()
    disk.write_durable(os.path.join(store.state_dir, "device", "self-check"), "ok\n")
    return 0


def run_benchmark(spec_path: str, out_path: str) -> int:
    """Measure as the spec file says; the result appears whole or not at all."""
    spec = disk.read_json(spec_path)
    if spec is None:
        raise SlotError("no_spec", f"{spec_path} does not exist")

    def progress(state: dict[str, Any]) -> None:
        # Not durable on purpose: an fsync while measuring would be part of what is measured.
        temporary = out_path + ".progress.new"
        with open(temporary, "w", encoding="utf-8") as handle:
            json.dump(state, handle)
        os.replace(temporary, out_path.replace(".json", ".progress.json"))

    result = benchmark.run(spec, progress)
    disk.write_durable(out_path, json.dumps(result, sort_keys=True) + "\n")
    return 0
