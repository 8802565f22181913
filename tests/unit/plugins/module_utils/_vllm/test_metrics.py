# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Counters as a real server writes them."""

from __future__ import annotations

from ansible_collections.jetson.specdec.plugins.module_utils._vllm import metrics


def test_a_speculating_server(recorded):
    seen = metrics.snapshot(recorded("metrics/eagle3-k3.txt"))
    assert seen.speculates
    assert seen.num_speculative_tokens == 3
    assert (seen.drafts, seen.draft_tokens, seen.accepted_tokens) == (1719, 5157, 1995)
    assert seen.accepted_per_position == {0: 1232, 1: 474, 2: 289}
    assert seen.finished_requests == 29
    assert (seen.running, seen.waiting, seen.prefix_hits, seen.preemptions) == (0, 0, 0, 0)


def test_created_time_stamps_are_no_counters(recorded):
    """They share the stem, stand at 10**9 and would pass for tokens."""
    seen = metrics.snapshot(recorded("metrics/eagle3-k3.txt"))
    assert max(seen.drafts, seen.draft_tokens, seen.accepted_tokens, *seen.accepted_per_position.values()) < 1e6


def test_no_speculation_means_no_counters(recorded):
    seen = metrics.snapshot(recorded("metrics/none.txt"))
    assert not seen.speculates
    assert seen.drafts is None
    assert seen.num_speculative_tokens == 0
    assert seen.finished_requests is not None


def test_two_engines_are_summed():
    page = (
        'vllm:spec_decode_num_drafts_total{engine="0"} 10\n'
        'vllm:spec_decode_num_drafts_total{engine="1"} 5\n'
        'vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="0"} 4\n'
        'vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="1",position="0"} 2\n'
    )
    seen = metrics.snapshot(page)
    assert seen.drafts == 15
    assert seen.accepted_per_position == {0: 6}
    assert seen.num_speculative_tokens == 1


def test_labels_may_hold_anything():
    samples = metrics.parse(
        'vllm:x_total{model_name="a \\"b\\" {c} \\\\d\\n"} 1.5 1796071877\nvllm:broken{a="b"}\nvllm:y 2'
    )
    assert samples["vllm:x_total"] == [({"model_name": 'a "b" {c} \\d\n'}, 1.5)]
    assert "vllm:broken" not in samples
    assert samples["vllm:y"] == [({}, 2.0)]


def test_a_page_of_something_else_has_no_counters():
    assert metrics.snapshot("<html>welcome</html>") == metrics.Snapshot()


def counters(drafts, draft_tokens, accepted, per_position):
    return metrics.Snapshot(
        drafts=drafts, draft_tokens=draft_tokens, accepted_tokens=accepted, accepted_per_position=per_position
    )


def test_acceptance_comes_from_differences():
    before = counters(100, 300, 50, {0: 30, 1: 15, 2: 5})
    after = counters(300, 900, 350, {0: 190, 1: 115, 2: 45})
    assert metrics.speculation(before, after) == {
        "num_speculative_tokens_seen": 3,
        "drafts": 200,
        "draft_tokens": 600,
        "accepted_tokens": 300,
        "acceptance_rate": 0.5,
        "acceptance_length": 2.5,
        "per_position": [0.8, 0.5, 0.2],
    }


def test_nothing_drafted_has_no_rate():
    same = counters(100, 300, 50, {0: 50})
    seen = metrics.speculation(same, same)
    assert seen["drafts"] == 0
    assert seen["acceptance_rate"] is None
    assert seen["acceptance_length"] is None
    assert seen["per_position"] == []


def test_a_counter_that_fell_is_a_restart_not_a_figure():
    assert metrics.change(10, 3) is None
    assert metrics.change(None, 3) is None
    assert metrics.change(3, 3) == 0
    assert metrics.speculation(counters(10, 30, 5, {0: 5}), counters(2, 6, 1, {0: 1})) is None
    assert metrics.speculation(metrics.Snapshot(), metrics.Snapshot()) is None
