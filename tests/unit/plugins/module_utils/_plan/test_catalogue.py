# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Pairing: whose row wins, and that only equal names make a pair."""

from __future__ import annotations

import pytest

from ansible_collections.jetson.specdec.plugins.module_utils._plan.catalogue import Catalogue

SHIPPED = {
    "heads": {
        "heads": [
            {"target": "a/t", "method": "eagle3", "model": "a/head1"},
            {"target": "a/t", "method": "eagle3", "model": "a/head2"},
            {"target": "a/q", "method": "eagle3", "model": "a/q-head"},
        ],
        "variants": [{"model": "b/t-w4", "base": "a/t"}, {"model": "a/q", "base": "a/t"}],
    },
    "drafts": {"drafts": [{"target": "a/t", "model": "a/small"}, {"target": "a/d", "model": "a/small"}]},
}


def find(target, method=None, site=(), obstacle=lambda row: None):
    return Catalogue(SHIPPED, list(site)).find(target, method, obstacle)


@pytest.mark.parametrize(
    ("target", "method", "model"),
    [
        ("a/t", None, "a/head1"),
        ("a/t", "draft_model", "a/small"),
        ("a/d", None, "a/small"),
        ("a/d", "eagle3", None),
        ("b/t-w4", None, "a/head1"),
        ("a/q", None, "a/q-head"),  # a head for exactly this one goes before its base's
        ("a/T", None, None),
        ("a/t2", None, None),
        ("t", None, None),
        ("a/", None, None),
    ],
)
def test_shipped(target, method, model):
    row, _origin = find(target, method)
    assert (row and row["model"]) == model


def test_the_base_is_shown_where_it_decided():
    assert find("b/t-w4")[0]["via_base"] == "a/t"
    assert find("a/t")[0]["via_base"] is None


@pytest.mark.parametrize("method", ["eagle3", "draft_model", "dflash"])
def test_a_site_row_wins_whatever_its_method(method):
    row, _origin = find("a/t", site=[{"target": "a/t", "method": method, "model": "/srv/mine"}])
    assert (row["model"], row["origin"]) == ("/srv/mine", "site")


def test_a_named_method_is_kept_to():
    row, _origin = find("a/t", "eagle3", site=[{"target": "a/t", "method": "draft_model", "model": "/srv/mine"}])
    assert row["model"] == "a/head1"


def test_what_can_not_be_used_is_passed_over_and_named():
    row, passed = find("a/t", obstacle=lambda row: "too short" if row["model"] == "a/head1" else None)
    assert row["model"] == "a/head2"
    assert passed == ["a/head1: too short"]
