# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""HTTP to a vLLM server: whole documents and streamed completions. PRIVATE to this collection.

``http.client`` never looks at proxy variables, which a request to loopback must not follow, and it costs a fraction
of what the usual clients do: on a Jetson the load generator shares memory and cores with the server.
"""

from __future__ import annotations

import http.client
import json
import socket
import time
from dataclasses import dataclass, field
from typing import Any

from .errors import VllmError

CONNECT_LIMIT_S = 5.0
DOCUMENT_LIMIT = 4 * 1024 * 1024  # bytes; a /metrics page of vLLM has about 50 KiB
STREAM_LIMIT = 16 * 1024 * 1024
ERROR_TEXT_LIMIT = 300  # characters of a server's own words in our texts

Error = dict  # {"code": str, "text": str}; a plain dict because it travels in JSON


@dataclass
class Target:
    """Where a server listens; the key is never printed."""

    host: str
    port: int
    api_key: str | None = field(default=None, repr=False)

    def headers(self) -> dict[str, str]:
        """Headers of every request."""
        headers = {"Accept": "*/*", "Connection": "close"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        return headers

    @property
    def where(self) -> str:
        """For texts."""
        return f"{self.host}:{self.port}"


@dataclass
class Completion:
    """One streamed completion as the client saw it; times in s of ``time.monotonic()``."""

    sent_s: float = 0.0
    status: int | None = None
    chunk_times_s: list = field(default_factory=list)  # list[float], one for each chunk that carried a choice
    text: str = ""
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    ended_s: float = 0.0
    error: Error | None = None

    @property
    def ttft_s(self) -> float | None:
        """Request sent to first chunk with a choice."""
        return self.chunk_times_s[0] - self.sent_s if self.chunk_times_s else None

    @property
    def latency_s(self) -> float | None:
        """Request sent to last chunk with a choice, as ``vllm bench serve`` counts it."""
        return self.chunk_times_s[-1] - self.sent_s if self.chunk_times_s else None

    @property
    def tpot_s(self) -> float | None:
        """(latency - TTFT) / (output tokens - 1); None for fewer than two tokens.

        Tokens come from ``usage``, never from the number of chunks: under speculation one chunk carries several.
        """
        if self.output_tokens is None or self.output_tokens < 2 or not self.chunk_times_s:
            return None
        return (self.chunk_times_s[-1] - self.chunk_times_s[0]) / (self.output_tokens - 1)


class _BoundedSocket(socket.socket):
    """A socket whose reads all end at one deadline, however slowly the other side drips.

    A plain timeout starts anew with each byte, so a server that sends a byte a minute would hold us for ever.
    """

    deadline_s = 0.0

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        remaining = self.deadline_s - time.monotonic()
        if remaining <= 0:
            raise socket.timeout("timed out")
        self.settimeout(remaining)
        return super().recv_into(*args, **kwargs)


class _Connection(http.client.HTTPConnection):
    def __init__(self, target: Target, limit_s: float) -> None:
        super().__init__(target.host, target.port)
        self.deadline_s = time.monotonic() + limit_s

    def connect(self) -> None:
        problem: OSError = OSError(f"no address for {self.host}")
        for family, kind, protocol, _name, address in socket.getaddrinfo(self.host, self.port, 0, socket.SOCK_STREAM):
            sock = _BoundedSocket(family, kind, protocol)
            try:
                sock.settimeout(max(0.001, min(CONNECT_LIMIT_S, self.deadline_s - time.monotonic())))
                sock.connect(address)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError as exc:
                sock.close()
                problem = exc
                continue
            sock.deadline_s = self.deadline_s
            self.sock = sock
            return
        raise problem


def _named(exc: Exception, target: Target, doing: str, limit_s: float) -> VllmError:
    """What a failed exchange is called."""
    if isinstance(exc, (socket.timeout, TimeoutError)):
        return VllmError("timeout", f"{doing} at {target.where} did not end within {limit_s:.1f} s")
    if isinstance(exc, ConnectionRefusedError):
        return VllmError("refused", f"nothing accepts connections at {target.where}")
    if isinstance(exc, http.client.IncompleteRead):
        return VllmError("connection_lost", f"{doing} at {target.where} broke off before its end")
    if isinstance(exc, (http.client.RemoteDisconnected, ConnectionError)):
        return VllmError("connection_lost", f"{target.where} closed the connection during {doing}")
    if isinstance(exc, http.client.HTTPException):
        return VllmError("garbage", f"{target.where} did not answer {doing} in HTTP ({exc!r})"[:400])
    return VllmError("refused", f"{target.where} can't be reached: {exc}")


def get(target: Target, path: str, limit_s: float) -> tuple[int, bytes]:
    """Fetch a document: ``(HTTP status, body)``, whatever the status.

    Raises VllmError ``refused``, ``timeout``, ``connection_lost`` or ``garbage``. ``limit_s`` bounds the whole
    exchange in s.
    """
    doing = f"GET {path}"
    connection = _Connection(target, limit_s)
    try:
        connection.request("GET", path, headers=target.headers())
        with connection.getresponse() as response:
            body = response.read(DOCUMENT_LIMIT + 1)
        if len(body) > DOCUMENT_LIMIT:
            raise VllmError("garbage", f"{doing} at {target.where} is over {DOCUMENT_LIMIT} bytes")
        return response.status, body
    except (OSError, http.client.HTTPException) as exc:
        raise _named(exc, target, doing, limit_s) from exc
    finally:
        connection.close()


def get_json(target: Target, path: str, limit_s: float) -> tuple[int, dict[str, Any]]:
    """As ``get``, parsed; a 200 that is no JSON object is ``garbage``, another status gives ``{}``."""
    status, body = get(target, path, limit_s)
    try:
        value = json.loads(body.decode("utf-8"))
    except ValueError:
        value = None
    if isinstance(value, dict):
        return status, value
    if status == 200:
        raise VllmError("garbage", f"GET {path} at {target.where} answered 200 without a JSON object")
    return status, {}


def complete(target: Target, payload: dict[str, Any], limit_s: float, path: str = "/v1/completions") -> Completion:
    """Stream one completion; never raises for what the server does.

    ``payload`` is the request without ``stream``; tokens are asked for in ``usage``. The clock starts when the
    connection stands. Everything that is not a complete, consistent answer is named in ``error``.
    """
    body = json.dumps(dict(payload, stream=True, stream_options={"include_usage": True})).encode("utf-8")
    headers = dict(target.headers(), **{"Content-Type": "application/json"})
    done = Completion(sent_s=time.monotonic())
    connection = _Connection(target, limit_s)
    events: list[tuple[float, bytes]] = []
    closed_well = False
    broken: VllmError | None = None
    try:
        connection.connect()
        done.sent_s = time.monotonic()
        connection.request("POST", path, body=body, headers=headers)
        with connection.getresponse() as response:
            done.status = response.status
            if response.status == 200:
                closed_well = _read_events(response, events)
            else:
                done.error = _refusal(response.status, response.read(8192), target)
                return done
    except (OSError, http.client.HTTPException) as exc:
        broken = _named(exc, target, f"POST {path}", limit_s)
    except VllmError as exc:
        broken = exc
    finally:
        connection.close()
        done.ended_s = time.monotonic()
    # Parsed only now, so that no JSON work stands between the arrival of a chunk and its time.
    _digest(done, events, payload)
    if done.error is None and broken is not None:
        done.error = {"code": broken.code, "text": broken.text}
    if done.error is None and not closed_well:
        done.error = {"code": "truncated", "text": f"the stream ended without [DONE] after {len(events)} events"}
    if done.error is None:
        done.error = _inconsistency(done, payload)
    return done


def _read_events(response: http.client.HTTPResponse, events: list[tuple[float, bytes]]) -> bool:
    """Append ``(arrival time, data)`` of each server-sent event; True when ``[DONE]`` came."""
    tail = b""
    total = 0
    finished = False
    while True:
        data = response.read1(65536)
        now = time.monotonic()
        if not data:
            return finished
        total += len(data)
        if total > STREAM_LIMIT:
            raise VllmError("garbage", f"the stream went on after {STREAM_LIMIT} bytes")
        lines = (tail + data).split(b"\n")
        tail = lines.pop()
        for line in lines:
            if line.startswith(b"data:"):
                content = line[5:].strip()
                if content == b"[DONE]":
                    finished = True
                elif content:
                    events.append((now, content))
            elif line.strip() and not line.startswith((b":", b"event:", b"id:", b"retry:")):
                raise VllmError("garbage", f"the stream holds something that is no event: {line[:80]!r}")


def _digest(done: Completion, events: list[tuple[float, bytes]], payload: dict[str, Any]) -> None:
    """Fill ``done`` from the events; an error event wins over everything after it."""
    texts = []
    for now, content in events:
        try:
            event = json.loads(content)
            if "error" in event:
                done.error = {"code": "stream_error", "text": "an error event came within HTTP 200: " + _words(event)}
                break
            if event.get("model") not in (None, payload.get("model")):
                text = f"asked for model {payload.get('model')!r}, {event['model']!r} answered"
                done.error = {"code": "wrong_model", "text": text}
                break
            usage = event.get("usage")
            if usage:
                done.prompt_tokens = int(usage["prompt_tokens"])
                done.output_tokens = int(usage["completion_tokens"])
            for choice in event.get("choices") or ():
                done.chunk_times_s.append(now)
                texts.append(choice.get("text") or (choice.get("delta") or {}).get("content") or "")
                done.finish_reason = choice.get("finish_reason") or done.finish_reason
        except (ValueError, TypeError, KeyError, AttributeError):
            done.error = {"code": "garbage", "text": f"an event is not what vLLM sends: {content[:80]!r}"}
            break
    done.text = "".join(texts)


def _inconsistency(done: Completion, payload: dict[str, Any]) -> Error | None:
    """A complete answer whose numbers can't be used."""
    if done.output_tokens is None:
        return {"code": "no_usage", "text": "the stream ended without usage, so its tokens can't be counted"}
    asked = payload.get("max_tokens")
    if done.output_tokens < 1 or not done.chunk_times_s:
        return {"code": "empty", "text": "the server answered without a single token"}
    if asked is not None and done.output_tokens > asked:
        text = f"usage counts {done.output_tokens} tokens although at most {asked} were asked for"
        return {"code": "wrong_counts", "text": text}
    # One chunk may carry no token (a held-back character, the end), so only a plain contradiction counts.
    if len(done.chunk_times_s) > done.output_tokens + 2:
        text = f"{len(done.chunk_times_s)} chunks but only {done.output_tokens} tokens in usage"
        return {"code": "wrong_counts", "text": text}
    return None


def _refusal(status: int, body: bytes, target: Target) -> Error:
    """The name of an HTTP status other than 200."""
    try:
        words = _words(json.loads(body.decode("utf-8")))
    except ValueError:
        words = body[:ERROR_TEXT_LIMIT].decode("utf-8", "replace").strip()
    code = "server_error"
    if status in (401, 403):
        code = "auth"
    elif status == 404:
        code = "wrong_model"  # vLLM answers 404 for a model that it does not serve
    elif status == 429:
        code = "rate_limited"
    elif status < 500:
        code = "too_long" if "context length" in words else "bad_request"
    return {"code": code, "text": f"{target.where} answered HTTP {status}: {words or 'no text'}"}


def _words(document: Any) -> str:
    """The server's own words in an error document."""
    error = document.get("error", document) if isinstance(document, dict) else document
    message = error.get("message", error) if isinstance(error, dict) else error
    return str(message)[:ERROR_TEXT_LIMIT]
