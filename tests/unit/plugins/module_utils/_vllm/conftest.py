# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""A scripted server for the tests of this folder, and what a real vLLM 0.32 wrote."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[4]
RECORDED = TESTS / "unit" / "fixtures" / "vllm-0.32"


def _load_support():
    name = "scripted_server"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, TESTS / "support" / "scripted_server.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture
def serve():
    """``serve(field=value, ...)`` starts a scripted server that ends with the test."""
    support = _load_support()
    servers = []

    def _serve(**script):
        server = support.ScriptedServer(support.Script(**script))
        server.__enter__()
        servers.append(server)
        return server

    yield _serve
    for server in servers:
        server.stop()


@pytest.fixture
def recorded():
    """``recorded("metrics/none.txt")``: text that a real server wrote."""
    return lambda name: (RECORDED / name).read_text(encoding="utf-8")
