# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The client against a server that does on demand what real ones do wrong. Real sockets on loopback."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from ansible_collections.jetson.specdec.plugins.module_utils._vllm import client
from ansible_collections.jetson.specdec.plugins.module_utils._vllm.errors import VllmError


def ask(server, limit_s=5.0, **payload):
    return client.complete(
        client.Target("127.0.0.1", server.port, payload.pop("api_key", None)),
        dict({"model": "tiny", "prompt": "hello", "max_tokens": 16, "temperature": 0.0}, **payload),
        limit_s,
    )


def test_tokens_come_from_usage_and_not_from_chunks(serve):
    done = ask(serve(tokens=16, tokens_per_chunk=4, first_s=0.05, step_s=0.03))
    assert done.error is None
    assert (done.status, done.output_tokens, len(done.chunk_times_s)) == (200, 16, 4)
    assert done.finish_reason == "length"
    assert done.text.startswith("word0 word1 ")
    # Three gaps of 30 ms for fifteen tokens after the first.
    assert done.tpot_s == pytest.approx(3 * 0.03 / 15, rel=0.3)
    assert done.ttft_s == pytest.approx(0.05, abs=0.02)
    assert done.latency_s == pytest.approx(0.14, abs=0.03)


def test_usage_and_streaming_are_asked_for(serve):
    server = serve()
    ask(server, temperature=0.5)
    body = server.state.requests[0]
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}
    assert body["temperature"] == 0.5


def test_one_token_has_no_time_per_token(serve):
    done = ask(serve(tokens=1))
    assert done.error is None
    assert done.tpot_s is None


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("auth", "auth"),
        ("error_500", "server_error"),
        ("rate_limited", "rate_limited"),
        ("error_event", "stream_error"),
        ("garbage_event", "garbage"),
        ("garbage_body", "garbage"),
        ("no_http", "garbage"),
        ("no_usage", "no_usage"),
        ("wrong_counts", "wrong_counts"),
        ("no_done", "truncated"),
        ("wrong_model", "wrong_model"),
        ("cut", "connection_lost"),
        ("hang", "timeout"),
        ("drip", "timeout"),
    ],
)
def test_each_fault_has_a_name_in_bounded_time(serve, fault, code):
    begun = time.monotonic()
    done = ask(serve(fault=fault), limit_s=0.6)
    assert done.error["code"] == code
    assert done.error["text"]
    assert time.monotonic() - begun < 1.5


def test_a_model_that_is_not_served(serve):
    assert ask(serve(model="other")).error["code"] == "wrong_model"


def test_the_servers_own_words_are_in_the_text(serve):
    assert "EngineCore encountered an issue" in ask(serve(fault="error_event")).error["text"]
    assert "EngineCore encountered an issue" in ask(serve(fault="error_500")).error["text"]


def test_nobody_listens():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        target = client.Target("127.0.0.1", free.getsockname()[1])
        assert client.complete(target, {"model": "tiny"}, 1.0).error["code"] == "refused"
        with pytest.raises(VllmError) as caught:
            client.get(target, "/health", 1.0)
    assert caught.value.code == "refused"


def test_the_key_is_sent_and_never_shown(serve):
    server = serve(api_key="s3cret")
    assert ask(server).error["code"] == "auth"
    assert ask(server, api_key="s3cret").error is None
    assert "s3cret" not in repr(client.Target("127.0.0.1", 1, "s3cret"))


def test_proxies_are_not_used(serve, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert ask(serve()).error is None


def test_documents(serve):
    server = serve(max_model_len=2048)
    target = client.Target("127.0.0.1", server.port)
    status, models = client.get_json(target, "/v1/models", 2.0)
    assert status == 200
    assert models["data"][0] == {"id": "tiny", "max_model_len": 2048}
    assert client.get_json(target, "/nowhere", 2.0)[0] == 404
    with pytest.raises(VllmError) as caught:
        client.get_json(target, "/metrics", 2.0)
    assert caught.value.code == "garbage"


def test_a_server_that_accepts_and_says_nothing(serve):
    server = serve(fault="hang_health")
    begun = time.monotonic()
    with pytest.raises(VllmError) as caught:
        client.get(client.Target("127.0.0.1", server.port), "/health", 0.3)
    assert caught.value.code == "timeout"
    assert time.monotonic() - begun < 1.0


def test_headers_that_drip_end_at_the_deadline():
    """A timeout that starts anew with each byte would never end here."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip():
            peer, _address = listener.accept()
            with peer:
                try:
                    while True:
                        peer.sendall(b"H")
                        time.sleep(0.05)
                except OSError:
                    pass

        threading.Thread(target=drip, daemon=True).start()
        begun = time.monotonic()
        with pytest.raises(VllmError) as caught:
            client.get(client.Target("127.0.0.1", listener.getsockname()[1]), "/health", 0.4)
    assert caught.value.code == "timeout"
    assert time.monotonic() - begun < 1.0
