# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""An independent witness: asks systemd, the kernel and the server, never the collection's own variables or files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Callable

import pytest

COMPLETION = {"prompt": "The quick brown fox", "max_tokens": 16, "temperature": 0}


@pytest.fixture
def unit(host: Any) -> Callable[[str], dict[str, str]]:
    """Return the properties of a systemd unit, as systemd tells them."""

    def show(name: str) -> dict[str, str]:
        text = host.check_output("systemctl show %s", name)
        return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)

    return show


@pytest.fixture
def get(host: Any) -> Callable[[str], str]:
    """Return what an address on the host itself answers. The hosts have no curl, but they have Python."""

    def fetch(url: str) -> str:
        code = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=20).read().decode())"
        return str(host.check_output("python3 -c %s %s", code, url))

    return fetch


@pytest.fixture
def complete(host: Any) -> Callable[[str, str], dict[str, Any]]:
    """Return the answer to one real completion."""

    def post(base: str, model: str) -> dict[str, Any]:
        code = (
            "import sys, urllib.request as u; r = u.Request(sys.argv[1], sys.argv[2].encode(), "
            "{'Content-Type': 'application/json'}); print(u.urlopen(r, timeout=60).read().decode())"
        )
        body = json.dumps(dict(COMPLETION, model=model))
        answer: dict[str, Any] = json.loads(
            host.check_output("python3 -c %s %s %s", code, base + "/v1/completions", body)
        )
        return answer

    return post


@pytest.fixture(scope="session")
def before() -> dict[str, str]:
    """What prepare.yml wrote down before the rollout."""
    kept: dict[str, str] = json.loads(
        Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"], "before.json").read_text("utf-8")
    )
    return kept
