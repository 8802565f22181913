# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The shipped data: each file loads, and each row of the catalogue says what it must."""

from __future__ import annotations

import datetime
import re

import pytest

from ansible_collections.jetson.specdec.plugins.plugin_utils import _data

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


def rows():
    heads = _data.load("heads")
    return [("head", row) for row in heads["heads"]] + [("draft", row) for row in _data.load("drafts")["drafts"]]


@pytest.mark.parametrize(("kind", "row"), rows(), ids=lambda part: part["model"] if isinstance(part, dict) else part)
def test_row(kind, row):
    assert HUB_ID.fullmatch(row["target"]) and HUB_ID.fullmatch(row["model"])
    assert row["source"]
    assert datetime.date.fromisoformat(row["date"])
    if kind == "head":
        assert row["method"] in ("eagle3", "dflash")
        assert set(row) <= {"target", "method", "model", "source", "date", "note", "max_context"}
    else:
        assert set(row) == {"target", "model", "vocab_size", "kv_share", "source", "date"}
        assert row["vocab_size"] > 0 and 0 < row["kv_share"] < 1


def test_no_pair_is_listed_twice():
    pairs = [(row["target"], row["model"]) for _kind, row in rows()]
    assert len(pairs) == len(set(pairs)) >= 15


def test_variants_lead_to_a_target_and_no_further():
    heads = _data.load("heads")
    targets = {row["target"] for _kind, row in rows()}
    for row in heads["variants"]:
        assert row["base"] in targets and row["model"] not in targets
        assert row["source"] and datetime.date.fromisoformat(row["date"])


def test_runtime_ranges_are_text_because_yaml_would_make_them_fractions():
    for row in _data.load("runtimes")["runtimes"]:
        for bound in (row["l4t_min"], row["l4t_max"], row["min_vllm"]):
            assert bound is None or isinstance(bound, str)
        assert row["native"] in ("within_rule", "operator_decision")


def test_each_caller_gets_a_copy_of_its_own():
    _data.load("heads")["heads"].clear()
    assert _data.load("heads")["heads"]


@pytest.mark.parametrize("name", ["nothing", "../galaxy", "heads.yml", "/etc/passwd"])
def test_what_is_not_there_is_named(name):
    with pytest.raises(_data.DataError, match=re.escape(name)):
        _data.load(name)


def test_broken_yaml_is_named(tmp_path, monkeypatch):
    (tmp_path / "broken.yml").write_text("a: [")
    monkeypatch.setattr(_data, "DATA_DIR", str(tmp_path))
    with pytest.raises(_data.DataError, match=r"broken\.yml is not valid YAML"):
        _data.load("broken")
