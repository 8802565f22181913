# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""One arm against a server of known timings, and against each fault."""

from __future__ import annotations

import json
import os
import time

import pytest

from ansible_collections.jetson.specdec.plugins.module_utils._vllm import benchmark
from ansible_collections.jetson.specdec.plugins.module_utils._vllm.errors import VllmError

PROMPTS = [{"id": f"p{at}", "kind": "prose" if at % 2 else "code", "text": f"Write about {at}."} for at in range(4)]


def spec(port, **more):
    return dict(
        {
            "arm": "baseline",
            "run_id": "r1",
            "slot": "0123456789ab",
            "concurrency": 1,
            "requests": 4,
            "prompts": PROMPTS,
            "max_tokens": 12,
            "temperature": 0.0,
            "client": {"host": "127.0.0.1", "port": port, "model": "tiny"},
            "num_speculative_tokens": 0,
            "deadline_s": 20,
        },
        **more,
    )


def measure(server, progress=lambda state: None, **more):
    return benchmark.run(spec(server.port, **more), progress)


def codes(rows):
    return [row["code"] for row in rows]


def test_a_level_without_speculation(serve):
    level = measure(serve(tokens=12, first_s=0.02, step_s=0.01))
    assert level["outcome"]["code"] == "measured"
    assert level["outcome"]["ok"] is True
    assert (level["completed"], level["requests"], level["errors"]) == (4, 4, [])
    assert level["output_tokens"] == 48
    assert level["throughput_tok_s"] == pytest.approx(48 / level["duration_s"], rel=0.01)
    assert level["tpot_ms_p50"] == pytest.approx(10, rel=0.15)
    assert level["itl_ms_p50"] == pytest.approx(10, rel=0.15)
    assert level["ttft_ms_p50"] == pytest.approx(22, abs=8)
    assert 0 < level["prefill_share"] < 0.5
    assert level["speculation"] is None
    assert level["foreign_requests"] == 0
    assert level["warnings"] == []
    assert [row["prompt"] for row in level["samples"]] == ["p0", "p1", "p2", "p3"]
    assert {row["finish_reason"] for row in level["samples"]} == {"length"}
    assert level["server_pid"] == os.getpid()
    assert level["server_start_ticks"] > 0
    assert level["finished_boottime_s"] > level["started_boottime_s"]
    assert level["boot_id"] == benchmark.boot_id()
    json.dumps(level)  # it travels as JSON


def test_several_tokens_a_chunk(serve):
    """Under speculation the gap between chunks is not the time of a token."""
    server = serve(tokens=12, tokens_per_chunk=4, step_s=0.02, num_speculative_tokens=3, accepted_per_draft=3)
    level = measure(server, num_speculative_tokens=3)
    assert level["itl_ms_p50"] == pytest.approx(20, rel=0.15)
    assert level["tpot_ms_p50"] == pytest.approx(2 * 20 / 11, rel=0.15)
    seen = level["speculation"]
    assert (seen["num_speculative_tokens_seen"], seen["drafts"], seen["accepted_tokens"]) == (3, 12, 36)
    assert seen["acceptance_rate"] == 1.0
    assert seen["acceptance_length"] == 4.0
    assert level["warnings"] == []


def test_both_arms_ask_the_same_and_reuse_no_cache(serve):
    server = serve()
    measure(server)
    measure(server, arm="candidate")
    bodies = server.state.requests
    assert len(bodies) == 8
    prompts = [body["prompt"] for body in bodies]
    assert prompts[:4] == prompts[4:]
    assert len({prompt[:10] for prompt in prompts[:4]}) == 4  # each begins in its own way
    assert len({body["cache_salt"] for body in bodies}) == 8
    assert {body["temperature"] for body in bodies} == {0.0}
    assert all("ignore_eos" not in body for body in bodies)
    assert all(prompt.endswith("Write about 0.") for prompt in prompts[::4])


def test_a_closed_loop_of_eight(serve):
    server = serve(tokens=4, step_s=0.01)
    level = measure(server, concurrency=8, requests=20)
    assert server.state.most_running == 8
    assert level["completed"] == 20
    assert [row["prompt"] for row in level["samples"][:5]] == ["p0", "p1", "p2", "p3", "p0"]
    # 20 requests of about 30 ms, eight at a time, can't take what they would take one after the other.
    assert level["duration_s"] < 20 * 0.03


def test_the_warm_up_is_discarded_and_settles(serve):
    server = serve(tokens=6, step_s=0.01)
    states = []
    level = measure(server, states.append, warmup_min=4, warmup_max=20, warmup_tolerance=0.3)
    assert len(level["samples"]) == 4
    sent = server.state.completions
    assert 4 + 6 <= sent < 4 + 20  # three medians of two requests each at least, and not all that were allowed
    assert level["warnings"] == []
    assert level["foreign_requests"] == 0
    assert states[0]["phase"] == "warmup"
    assert states[-1] == {"phase": "measure", "done": 4, "total": 4, "tok_s": states[-1]["tok_s"]}
    assert states[-1]["tok_s"] > 0


def test_a_warm_up_that_does_not_settle_is_said(serve):
    level = measure(serve(tokens=3, step_s=0.002), warmup_min=2, warmup_max=4, warmup_tolerance=0.0000001)
    assert codes(level["warnings"]) == ["warmup_unsettled"]
    assert level["completed"] == 4


def test_somebody_elses_requests_are_counted(serve):
    level = measure(serve(foreign_requests=2))
    assert level["foreign_requests"] == 8
    assert "foreign_requests" in codes(level["warnings"])


def test_no_counters_is_not_zero(serve):
    level = measure(serve(metrics=False))
    assert level["outcome"]["ok"]
    assert level["foreign_requests"] is None
    assert level["speculation"] is None
    assert codes(level["warnings"]) == ["no_counters"]


def test_another_k_than_expected_is_said(serve):
    assert "wrong_k" in codes(measure(serve(num_speculative_tokens=3), num_speculative_tokens=5)["warnings"])


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("auth", "auth"),
        ("error_500", "server_error"),
        ("error_event", "stream_error"),
        ("garbage_event", "garbage"),
        ("garbage_body", "garbage"),
        ("no_usage", "no_usage"),
        ("wrong_counts", "wrong_counts"),
        ("no_done", "truncated"),
        ("cut", "connection_lost"),
        ("wrong_model", "wrong_model"),
        ("rate_limited", "rate_limited"),
    ],
)
@pytest.mark.parametrize("concurrency", [1, 8])
def test_each_fault_is_an_outcome(serve, fault, code, concurrency):
    begun = time.monotonic()
    level = measure(serve(fault=fault), requests=40, concurrency=concurrency)
    assert level["outcome"]["ok"] is False
    assert level["outcome"]["code"] == code
    assert level["completed"] == 0
    assert level["throughput_tok_s"] is None
    assert level["tpot_ms_p50"] is None
    assert code in codes(level["errors"])
    assert len(level["samples"]) < 40  # given up, not hammered
    assert time.monotonic() - begun < 5


def test_a_hang_ends_at_the_requests_limit(serve):
    begun = time.monotonic()
    level = measure(serve(fault="hang"), concurrency=2, request_limit_s=0.3)
    assert level["outcome"]["code"] == "timeout"
    assert time.monotonic() - begun < 5


def test_the_deadline_holds_whatever_the_server_does(serve):
    begun = time.monotonic()
    level = measure(serve(fault="hang", fault_from=1), deadline_s=0.5)
    assert level["outcome"]["ok"] is False
    assert level["outcome"]["code"] == "deadline"
    assert level["completed"] == 1
    assert time.monotonic() - begun < 4


def test_a_server_that_dies_in_between(serve):
    level = measure(serve(fault="cut", fault_from=2), requests=10)
    assert level["completed"] == 2
    assert level["outcome"]["code"] == "connection_lost"
    assert level["samples"][0]["error"] is None
    assert level["samples"][2]["error"]["code"] == "connection_lost"


def test_nobody_there():
    level = benchmark.run(spec(1), lambda state: None)
    assert level["outcome"]["code"] == "refused"
    assert level["server_pid"] is None
    assert level["throughput_tok_s"] is None


def test_a_failed_warm_up_measures_nothing(serve):
    server = serve(fault="error_500")
    level = measure(server, warmup_min=2, warmup_max=8)
    assert level["samples"] == []
    assert level["outcome"]["code"] == "server_error"
    assert "warmup" in level["outcome"]["text"]


def test_progress_that_can_not_be_written_ends_nothing(serve):
    def full(state):
        raise OSError(28, "No space left on device")

    assert measure(serve(), full)["completed"] == 4


def test_a_fault_of_ours_has_a_name(serve, monkeypatch):
    def broken(*args, **kwargs):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(benchmark, "complete", broken)
    level = measure(serve())
    assert level["outcome"]["code"] == "client_failed"
    assert "oops" in level["outcome"]["text"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"concurrency": 0}, "concurrency"),
        ({"requests": 0}, "requests"),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"prompts": []}, "prompts"),
        ({"prompts": [{"id": "a", "kind": "k", "text": " "}]}, "prompts[0]"),
        ({"prompts": [PROMPTS[0], PROMPTS[0]]}, "same id"),
        ({"warmup_min": 9, "warmup_max": 4}, "warmup_min"),
    ],
)
def test_bad_input_names_the_field(change, field):
    with pytest.raises(VllmError) as caught:
        benchmark.run(spec(1, **change), lambda state: None)
    assert caught.value.code == "bad_spec"
    assert field in caught.value.text
