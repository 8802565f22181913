# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""A small server that speaks vLLM's protocol by a script, for faults and for known timings. No model, stdlib only.

It stands for what a real server does wrong on demand, never for how fast one is. In a test::

    with ScriptedServer(Script(tokens=32, tokens_per_chunk=2)) as server:
        client.get(Target("127.0.0.1", server.port), "/health", 2)

or as a program on a host: ``python3 scripted_server.py --port 8000 --model tiny --script '{"fault": "hang"}'``.
"""

from __future__ import annotations

import argparse
import json
import socket
import threading
import time
from dataclasses import dataclass, field, fields
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FAULTS = (
    "",  # none
    "auth",  # 401 on everything below /v1
    "error_500",  # completions answer 500
    "rate_limited",  # completions answer 429
    "error_event",  # HTTP 200, then an error event and [DONE]
    "garbage_event",  # an event that is not JSON
    "garbage_body",  # HTTP 200 with something that is no event stream
    "no_http",  # closes with bytes that are no HTTP
    "hang",  # headers, then nothing
    "hang_health",  # accepts and never answers
    "drip",  # a byte now and then, for ever
    "no_usage",  # everything but usage
    "wrong_counts",  # usage counts fewer tokens than chunks came
    "no_done",  # ends without [DONE]
    "wrong_model",  # another model's name in the stream
    "cut",  # closes in the middle of the stream
    "dead_engine",  # /health 503, completions 500
)


@dataclass
class Script:
    """What the server does. Times in s."""

    model: str = "tiny"
    api_key: str = ""
    fault: str = ""
    fault_from: int = 0  # the completion, counted from 0, with which the fault begins
    tokens: int = 16
    tokens_per_chunk: int = 1
    first_s: float = 0.0  # before the first chunk
    step_s: float = 0.0  # between chunks
    text: str = "word{0} "  # of one token; {0} is its number
    num_speculative_tokens: int = 0  # K; 0 means no counters at all
    accepted_per_draft: float = 1.0
    metrics: bool = True
    max_model_len: int = 1024
    foreign_requests: int = 0  # somebody else's, counted with each completion


@dataclass
class State:
    """What happened so far."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    completions: int = 0
    finished: int = 0
    drafts: int = 0
    accepted: int = 0
    running: int = 0
    most_running: int = 0
    requests: list = field(default_factory=list)  # bodies of the completions, as objects


class ScriptedServer:
    """Listens on loopback, at a free port unless told otherwise, from entering the context to leaving it."""

    def __init__(self, script: Script | None = None, port: int = 0, host: str = "127.0.0.1") -> None:
        self.script = script or Script()
        self.state = State()
        self.stopping = threading.Event()

        class Handler(_Handler):
            server_side = self

        self.server = _Server((host, port), Handler)
        self.port = self.server.server_address[1]

    def __enter__(self) -> ScriptedServer:
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop listening and let hanging requests go."""
        self.stopping.set()
        self.server.shutdown()
        self.server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is part of the play."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_side: ScriptedServer

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, format: str, *args: object) -> None:
        pass

    @property
    def script(self) -> Script:
        return self.server_side.script

    def do_GET(self) -> None:
        script = self.script
        if self.path == "/health":
            if script.fault == "hang_health":
                self.server_side.stopping.wait(60)
                return
            self._send(503 if script.fault == "dead_engine" else 200, b"", "text/plain")
        elif self.path == "/version":
            self._json(200, {"version": "0.0.0+scripted"})
        elif self.path == "/metrics" and script.metrics:
            self._send(200, self._metrics().encode(), "text/plain")
        elif self.path == "/v1/models":
            if self._refused():
                return
            self._json(200, {"object": "list", "data": [{"id": script.model, "max_model_len": script.max_model_len}]})
        else:
            self._json(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        if self.path != "/v1/completions":
            self._json(404, {"detail": "Not Found"})
        elif not self._refused():
            state = self.server_side.state
            with state.lock:
                number = state.completions
                state.completions += 1
                state.requests.append(body)
                state.running += 1
                state.most_running = max(state.most_running, state.running)
            try:
                self._complete(body, number)
            finally:
                with state.lock:
                    state.running -= 1

    def _refused(self) -> bool:
        script = self.script
        if script.fault == "auth" or (
            script.api_key and self.headers.get("Authorization") != f"Bearer {script.api_key}"
        ):
            self._json(401, {"error": "Unauthorized"})
            return True
        return False

    def _complete(self, body: dict, number: int) -> None:
        script = self.script
        fault = script.fault if number >= script.fault_from else ""
        if body["model"] != script.model:
            self._json(404, {"error": {"message": f"The model `{body['model']}` does not exist.", "code": 404}})
            return
        if fault in ("error_500", "dead_engine"):
            self._json(500, {"error": {"message": "EngineCore encountered an issue.", "code": 500}})
            return
        if fault == "rate_limited":
            self._json(429, {"error": {"message": "Too many requests", "code": 429}})
            return
        if fault == "no_http":
            self.connection.sendall(b"this is no HTTP at all\r\n\r\n")
            self.close_connection = True
            return
        if fault == "garbage_body":
            self._send(200, b"<html>welcome to the proxy</html>\n", "text/html")
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        self._stream(body, fault)

    def _stream(self, body: dict, fault: str) -> None:
        script, state = self.script, self.server_side.state
        if fault == "hang":
            self.server_side.stopping.wait(60)
            return
        if fault == "drip":
            while not self.server_side.stopping.wait(0.05):
                self._chunk(b":")
            return
        asked = min(script.tokens, body["max_tokens"])
        sent = chunks = 0
        due = time.monotonic() + script.first_s
        while sent < asked:
            wait = due - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            due += script.step_s  # a schedule, not a pause: known timings must not drift
            batch = min(script.tokens_per_chunk, asked - sent)
            text = "".join(script.text.replace("{0}", str(sent + at)) for at in range(batch))
            sent += batch
            chunks += 1
            if chunks == 2 and fault in ("error_event", "garbage_event", "cut"):
                if fault == "error_event":
                    self._event({"error": {"message": "EngineCore encountered an issue.", "code": 500}})
                    self._end(True)
                elif fault == "garbage_event":
                    self._chunk(b'data: {"choices": [{"te\n\n')
                    self._end(True)
                else:
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                return
            name = "somebody-else" if fault == "wrong_model" else script.model
            reason = "length" if sent == asked else None
            self._event({"model": name, "choices": [{"index": 0, "text": text, "finish_reason": reason}]})
        with state.lock:
            state.finished += 1 + script.foreign_requests
            state.drafts += chunks
            state.accepted += round(chunks * script.accepted_per_draft)
        if fault != "no_usage":
            counted = 1 if fault == "wrong_counts" else sent
            usage = {"prompt_tokens": len(body["prompt"]) // 4, "completion_tokens": counted}
            self._event({"model": script.model, "choices": [], "usage": usage})
        self._end(fault != "no_done")

    def _end(self, done: bool) -> None:
        if done:
            self._chunk(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def _event(self, content: dict) -> None:
        self._chunk(b"data: " + json.dumps(content).encode() + b"\n\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _json(self, status: int, content: dict) -> None:
        self._send(status, json.dumps(content).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _metrics(self) -> str:
        script, state = self.script, self.server_side.state
        labels = f'engine="0",model_name="{script.model}"'
        with state.lock:
            rows = {
                f"vllm:num_requests_running{{{labels}}}": state.running,
                f"vllm:num_requests_waiting{{{labels}}}": 0,
                f'vllm:request_success_total{{engine="0",finished_reason="length",model_name="{script.model}"}}': (
                    state.finished
                ),
                f"vllm:request_success_created{{{labels}}}": 1.7960718771822217e09,
            }
            k = script.num_speculative_tokens
            if k:
                prefix = "vllm:spec_decode_num"
                rows[f"{prefix}_drafts_total{{{labels}}}"] = state.drafts
                rows[f"{prefix}_drafts_created{{{labels}}}"] = 1.7960718771816788e09
                rows[f"{prefix}_draft_tokens_total{{{labels}}}"] = state.drafts * k
                rows[f"{prefix}_accepted_tokens_total{{{labels}}}"] = state.accepted
                for position in range(k):
                    share = state.accepted if position == 0 else 0
                    rows[f'{prefix}_accepted_tokens_per_pos_total{{{labels},position="{position}"}}'] = share
        return "".join(f"{name} {value}\n" for name, value in rows.items())


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--script", type=json.loads, default={}, help="fields of Script, as a JSON object")
    arguments = parser.parse_args()
    unknown = set(arguments.script) - {one.name for one in fields(Script)}
    if unknown:
        parser.error(f"--script has unknown fields: {', '.join(sorted(unknown))}")
    script = Script(**dict({"model": arguments.model}, **arguments.script))
    if script.fault not in FAULTS:
        parser.error(f"--script: no such fault {script.fault!r}; known are {', '.join(FAULTS[1:])}")
    with ScriptedServer(script, arguments.port, arguments.host) as server:
        server.stopping.wait()


if __name__ == "__main__":
    main()
