# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Is the server that was just started really ready? A ladder, each rung a proof. PRIVATE to this collection.

process -> port -> health -> model -> completion -> counters -> identity. ``/health`` alone says nothing: a server with
a head of the wrong size answers 200 there, fails its first completion and is gone four seconds later with exit
status 0.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from . import failures, metrics, process
from .client import Target, complete, get, get_json
from .errors import VllmError

STEP_S = 0.5
ANSWER_LIMIT_S = 5.0  # for a small document
LAST_WORDS_S = 6.0  # a dying engine takes the API server with it within four seconds, and then the log is whole
COUNTERS_S = 2.0  # counters may lag the answer by an engine step
# Repeats itself, so that also the n-gram method finds something to draft.
PROMPT = "one two three four five six seven eight nine ten " * 6
PROBE_TOKENS = 24


@dataclass
class ReadySettings:
    """What must answer.

    ``num_speculative_tokens`` is the K that must be live, 0 when speculation must be off. ``unit`` is the systemd unit
    that must own the answering process, "" for none. ``invocation_id`` and ``main_pid`` name the start that is
    meant. ``deadline_s`` counts from the start of the unit's process; None for no limit.
    """

    host: str
    port: int
    model: str
    num_speculative_tokens: int = 0
    unit: str = "vllm.service"
    api_key: str | None = field(default=None, repr=False)
    invocation_id: str | None = None
    main_pid: int | None = None
    deadline_s: float | None = None


@dataclass
class ReadyResult:
    """Where the ladder ended. ``finished`` means that looking again changes nothing."""

    ready: bool
    finished: bool
    stage: str
    code: str
    text: str
    server: dict[str, Any] = field(default_factory=dict)
    waited_s: float = 0.0
    failure_class: str | None = None
    answer: str | None = None

    def outcome(self) -> dict[str, Any]:
        """For a module's result."""
        return {"ok": self.ready, "code": self.code, "text": self.text}


class _NotYet(Exception):
    """The ladder ends here for now."""

    def __init__(self, text: str, hanging: bool = False) -> None:
        super().__init__(text)
        self.text = text
        self.hanging = hanging


class _Failed(Exception):
    """The ladder ends here for good."""

    def __init__(self, code: str, text: str, failure: failures.Failure | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.failure = failure


def wait(settings: ReadySettings, budget_s: float) -> ReadyResult:
    """Climb until ready, failed for good, or ``budget_s`` seconds are over; the last gives ``finished`` False.

    Never raises for what the server does; raises VllmError when this host can't be asked at all (no systemd).
    """
    begun = time.monotonic()
    while True:
        climb = _Climb(settings, begun + budget_s)
        result = climb.once()
        over = time.monotonic() + STEP_S >= begun + budget_s
        # A server that was started long ago is past any deadline; it, too, gets this one wait.
        if over and not result.finished:
            result = climb.past_deadline(result)
        result.waited_s = round(time.monotonic() - begun, 2)
        if result.finished or over:
            return result
        time.sleep(STEP_S)


class _Climb:
    def __init__(self, settings: ReadySettings, until_s: float) -> None:
        self.settings = settings
        self.until_s = until_s
        self.target = Target(settings.host, settings.port, settings.api_key)
        self.stage = "process"
        self.health: int | None = None
        self.hanging = False
        self.unit: process.Unit | None = None
        self.server: dict[str, Any] = {
            "version": None,
            "model": None,
            "max_model_len": None,
            "num_speculative_tokens_seen": None,
            "main_pid": None,
            "invocation_id": None,
            "started_monotonic_s": None,
        }

    def once(self) -> ReadyResult:
        rungs = (
            ("process", self._process),
            ("port", self._port),
            ("health", self._health),
            ("model", self._model),
            ("completion", self._completion),
            ("identity", self._identity),
        )
        try:
            for stage, rung in rungs:
                self.stage = stage
                rung()
        except _NotYet as exc:
            return self._unfinished(exc)
        except VllmError as exc:
            if exc.code != "systemd_silent":
                raise
            # A disk that is being flushed can hold systemd up for many seconds; that says nothing about the server.
            return self._unfinished(_NotYet(exc.text))
        except _Failed as exc:
            failure = exc.failure
            return ReadyResult(
                ready=False,
                finished=True,
                stage=self.stage,
                code=exc.code,
                text=exc.text,
                server=self.server,
                failure_class=failure.failure_class if failure else None,
                answer=failure.answer if failure else None,
            )
        speculation = self.server["num_speculative_tokens_seen"]
        with_k = f"with {speculation} speculative tokens" if speculation else "without speculation"
        if speculation is None:
            with_k = "(no counters)"
        text = f"{self.settings.model} at {self.target.where} completes {with_k}"
        return ReadyResult(True, True, "ready", "ready", text, self.server)

    def _unfinished(self, reason: _NotYet) -> ReadyResult:
        self.hanging = reason.hanging
        return ReadyResult(False, False, self.stage, "waiting", reason.text, self.server)

    def past_deadline(self, result: ReadyResult) -> ReadyResult:
        """An unfinished result, finished where the process has had all the time that it may have."""
        limit = self.settings.deadline_s
        if limit is None or self.unit is None or self.unit.started_s is None:
            return result
        age = time.monotonic() - self.unit.started_s
        if age <= limit:
            return result
        text = f"not ready {age:.0f} s after its start (limit {limit:.0f} s): {result.text}"
        return ReadyResult(False, True, self.stage, "hang" if self.hanging else "deadline", text, self.server)

    def _left(self) -> float:
        return max(0.2, self.until_s - time.monotonic())

    # -- rungs -------------------------------------------------------------------------------------------------
    def _process(self) -> None:
        name = self.settings.unit
        if not name:
            return
        self.unit = unit = process.unit(name)
        if unit.load_state == "not-found":
            raise _Failed("start_failed", f"there is no unit {name} on this host")
        self.server.update(
            main_pid=unit.main_pid or None,
            invocation_id=unit.invocation_id or None,
            started_monotonic_s=unit.started_s,
        )
        wanted = self.settings.invocation_id
        if wanted and unit.invocation_id and unit.invocation_id != wanted:
            self._died(f"it was started again since ({unit.invocation_id[:8]} runs now)", "wrong_process")
        if unit.running:
            return
        if unit.will_restart:
            if wanted:
                self._died("its process ended and systemd is about to restart it")
            raise _NotYet(f"{name} died and waits for its restart")
        if unit.active_state == "activating":
            raise _NotYet(f"{name} is still being started")
        if unit.active_state == "inactive" and not wanted and unit.exit_status is None:
            raise _NotYet(f"{name} is not started yet")
        if unit.active_state == "deactivating":
            raise _NotYet(f"{name} is going down")
        self._died("its process is gone" + self._exit_text(unit))

    def _port(self) -> None:
        try:
            status, _body = get(self.target, "/health", min(ANSWER_LIMIT_S, self._left()))
        except VllmError as exc:
            if exc.code == "refused":
                raise _NotYet(f"nothing listens at {self.target.where} yet") from exc
            self.stage = "health"
            raise _NotYet(f"/health: {exc.text}", hanging=True) from exc
        self.health = status

    def _health(self) -> None:
        if self.health == 503:
            self._died("its engine is dead (/health answers 503)", "crash")
        # Any other status is a server that is alive; some setups guard /health with the key, too.

    def _model(self) -> None:
        status, document = self._document("/v1/models")
        if status in (401, 403):
            raise _Failed("auth", f"{self.target.where} wants another API key (HTTP {status})")
        if status != 200:
            raise _NotYet(f"/v1/models answers HTTP {status}")
        rows = [row for row in document.get("data") or () if isinstance(row, dict)]
        mine = next((row for row in rows if row.get("id") == self.settings.model), None)
        if mine is None:
            served = ", ".join(str(row.get("id")) for row in rows) or "nothing"
            raise _Failed("wrong_model", f"{self.target.where} serves {served}, not {self.settings.model}")
        self.server.update(model=mine["id"], max_model_len=mine.get("max_model_len"))
        status, document = self._document("/version")
        self.server["version"] = document.get("version") if status == 200 else None

    def _document(self, path: str) -> tuple[int, dict[str, Any]]:
        try:
            return get_json(self.target, path, min(ANSWER_LIMIT_S, self._left()))
        except VllmError as exc:
            raise _NotYet(exc.text, hanging=exc.code == "timeout") from exc

    def _completion(self) -> None:
        before = self._counters()
        k = self.settings.num_speculative_tokens
        payload = {
            "model": self.settings.model,
            "prompt": PROMPT,
            "max_tokens": PROBE_TOKENS + 2 * k,
            "temperature": 0.0,
            "ignore_eos": True,  # an early end would leave nothing to speculate on
        }
        done = complete(self.target, payload, self._left())
        if done.error is None:
            self.stage = "counters"
            self._check_counters(before, k)
            return
        code, text = done.error["code"], done.error["text"]
        if code == "timeout":
            raise _NotYet(f"no completion yet: {text}", hanging=True)
        if code in ("auth", "wrong_model"):
            raise _Failed(code, text)
        if code in ("rate_limited", "bad_request", "too_long"):
            raise _Failed("crash", f"the probe was refused: {text}")
        self._died(f"its first completion failed: {text}", "crash")

    def _counters(self) -> metrics.Snapshot | None:
        try:
            return metrics.fetch(self.target, min(ANSWER_LIMIT_S, self._left()))
        except VllmError:
            return None

    def _check_counters(self, before: metrics.Snapshot | None, k: int) -> None:
        until = time.monotonic() + COUNTERS_S
        while True:
            after = self._counters()
            moved = None if before is None or after is None else metrics.change(before.drafts, after.drafts)
            if k == 0 or moved or time.monotonic() > until:
                break
            time.sleep(0.1)
        if after is None or after.finished_requests is None:
            # Without counters nothing proves what runs. That must not condemn a baseline that was just restored.
            if k:
                raise _Failed("speculation_inactive", f"/metrics has no counters, so nothing proves that K is {k}")
            return
        seen = after.num_speculative_tokens
        self.server["num_speculative_tokens_seen"] = seen
        if k == 0 and after.speculates:
            raise _Failed("speculation_in_baseline", f"this must run without speculation, but K={seen} is live")
        if k == 0:
            return
        if not after.speculates:
            raise _Failed("speculation_inactive", "the server runs without speculation, the setting never arrived")
        if seen != k:
            raise _Failed("wrong_k", f"{seen} speculative tokens are live, not {k}")
        if not moved:
            raise _Failed("speculation_inactive", f"a completion of {PROBE_TOKENS} tokens drafted nothing")

    def _identity(self) -> None:
        name = self.settings.unit
        if not name or self.unit is None:
            return
        now = process.unit(name)
        if (now.main_pid, now.invocation_id) != (self.unit.main_pid, self.unit.invocation_id):
            self._died("it was restarted while it was being looked at", "wrong_process")
        if self.settings.main_pid and now.main_pid != self.settings.main_pid:
            text = f"{name} runs as pid {now.main_pid}, started was {self.settings.main_pid}"
            raise _Failed("wrong_process", text)
        inodes = process.listening_inodes(self.settings.host, self.settings.port)
        try:
            mine = process.holders(inodes, process.cgroup_pids(now.control_group))
        except VllmError as exc:
            raise _Failed("wrong_process", f"{name} can't be proven to answer: {exc.text}") from exc
        if not mine:
            other = process.server_pid(self.settings.host, self.settings.port)
            who = f"pid {other}" if other else "something else"
            text = f"port {self.settings.port} is answered by {who}, not by {name} (pid {now.main_pid})"
            raise _Failed("wrong_process", text)

    # -- the end of a process -------------------------------------------------------------------------------------
    def _died(self, how: str, code: str = "start_failed") -> None:
        """Raise _Failed with the name that the log gives, or ``code`` where it gives none."""
        name = self.settings.unit
        if not name:
            raise _Failed(code, f"the server at {self.target.where}: {how}")
        invocation = self.settings.invocation_id or (self.unit.invocation_id if self.unit else None)
        until = min(self.until_s, time.monotonic() + LAST_WORDS_S)
        while True:
            text = process.log(name, invocation)
            failure = failures.classify(text)
            now = process.unit(name)
            gone = not now.running or bool(invocation and now.invocation_id != invocation)
            if gone or (failure is not None and failure.code != "crash"):
                break
            if time.monotonic() > until:
                if until >= self.until_s:  # the next look has time to see the end
                    raise _NotYet(f"{name}: {how}", hanging=True)
                break
            time.sleep(STEP_S)
        if gone:  # what it wrote with its last breath
            text = process.log(name, invocation)
            failure = failures.classify(text)
        if now.result == "oom-kill":
            failure = failures.Failure("oom", "OOM_KILLED", failures.ROLL_BACK, "the kernel killed it for memory")
        named = failure is not None and failure.code not in ("start_failed", "crash")
        if failure is not None and (named or code == "start_failed"):
            code = failure.code
        if code == "start_failed" and failures.had_started(text):
            code = "crash"
        words = failure.line if failure is not None and named else failures.last_words(text)
        raise _Failed(code, f"{name}: {how}{'; its log says: ' + words if words else ''}", failure)

    @staticmethod
    def _exit_text(unit: process.Unit) -> str:
        status = ""
        if unit.exit_status is not None:
            status = f", {'killed by signal' if unit.killed else 'exit status'} {unit.exit_status}"
        return status + (f" ({unit.result})" if unit.result not in ("", "success") else "")
