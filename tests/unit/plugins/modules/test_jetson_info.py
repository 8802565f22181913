# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The module around the probe: arguments, result, failure, facts; and that its documentation is the truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.testing import patch_module_args

from ansible_collections.jetson.specdec.plugins.module_utils._jetson.probe import PARTS_OF_PROBE
from ansible_collections.jetson.specdec.plugins.module_utils._jetson.reading import Reader
from ansible_collections.jetson.specdec.plugins.modules import jetson_info

THOR = b"nvidia,p4071-0000+p3834-0008\0nvidia,p3834-0008\0nvidia,tegra264\0"
RELEASE = b"# R39 (release), REVISION: 2.0, GCID: 45755727, BOARD: generic, EABI: aarch64, DATE: x\n"


@pytest.fixture
def thor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for path, data in {
        "sys/firmware/devicetree/base/compatible": THOR,
        "etc/nv_tegra_release": RELEASE,
        "proc/meminfo": b"MemTotal: 128790528 kB\nMemAvailable: 120586240 kB\n",
    }.items():
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    monkeypatch.setattr(jetson_info, "Reader", lambda: Reader(str(tmp_path), machine="aarch64"))
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], **args: Any) -> dict[str, Any]:
    with patch_module_args(args), pytest.raises(SystemExit) as caught:
        jetson_info.main()
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert caught.value.code == (1 if result.get("failed") else 0)
    assert "exception" not in result
    return result


def test_success(thor: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys)
    assert result["changed"] is False and "ansible_facts" not in result
    assert result["jetson"]["family"] == "thor" and result["jetson"]["mem_available_mib"] == 117760


def test_check_mode_is_the_same(thor: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, _ansible_check_mode=True)["jetson"] == run(capsys)["jetson"]


def test_facts_only_when_asked(thor: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys, as_facts=True, gather=["identity"])
    assert result["ansible_facts"] == {"jetson": result["jetson"]}
    assert result["jetson"]["mem_total_mib"] is None


def test_a_contradiction_fails_with_code_and_sentence(thor: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (thor / "etc/nv_tegra_release").write_bytes(RELEASE.replace(b"R39", b"R36"))
    result = run(capsys)
    assert result["failed"] is True and result["code"] == "impossible_pair"
    assert result["msg"].startswith("L4T 36.2.0 does not exist for the chip tegra264.")


def test_an_unknown_part_names_the_field(thor: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys, gather=["identity", "weather"])
    assert result["failed"] is True and "gather" in result["msg"] and "weather" in result["msg"]


def test_every_returned_key_is_documented_and_the_other_way_round(
    thor: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    documented = yaml.safe_load(jetson_info.RETURN)["jetson"]["contains"]
    facts = run(capsys)["jetson"]
    assert set(documented) == set(facts)
    kinds = {"str": str, "int": int, "bool": bool, "list": list, "dict": dict}
    for key, entry in documented.items():
        assert facts[key] is None or isinstance(facts[key], kinds[entry["type"]]), key


def test_documented_choices_are_the_real_ones() -> None:
    option = yaml.safe_load(jetson_info.DOCUMENTATION)["options"]["gather"]
    assert option["choices"] == option["default"] == list(PARTS_OF_PROBE)


def test_examples_name_only_documented_options() -> None:
    options = set(yaml.safe_load(jetson_info.DOCUMENTATION)["options"])
    for task in yaml.safe_load(jetson_info.EXAMPLES):
        assert set(task.get("jetson.specdec.jetson_info") or {}) <= options


def test_the_real_host_has_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever machine runs the tests: an answer or a named failure, never a traceback."""
    result = run(capsys)
    assert result.get("code") or result["jetson"]["is_jetson"] in (True, False)
