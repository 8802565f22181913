# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Measures one arm at one concurrency: a closed loop of streamed completions. PRIVATE to this collection.

Runs on the device, against loopback, detached from whoever asked for it. Both arms get the same prompts in the same
order, so that they can be compared pair by pair; what the server may have cached of a prompt is never used twice.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from typing import Any, Callable

from . import metrics, process, samples
from .client import Completion, Target, complete
from .errors import VllmError

LEVEL_SCHEMA = "jetson.specdec/level/1"
SPEC_SCHEMA = "jetson.specdec/level-spec/1"
DEADLINE_S = 3600.0
REQUEST_LIMIT_S = 300.0
WARMUP_LIMIT_S = 120.0
SETTLING = 3  # this many medians in a row must agree
IDLE_LIMIT_S = 5.0
ANSWER_LIMIT_S = 5.0
PROGRESS_STEP_S = 1.0
GIVE_UP_AFTER = 3  # rounds of the loop in which nothing but errors came back
# Errors that every further request would meet again.
FINAL_ERRORS = ("auth", "wrong_model", "bad_request", "refused")
BOOT_ID_PATH = "/proc/sys/kernel/random/boot_id"

Progress = Callable[[dict], None]


def run(spec: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Measure as ``spec`` says and return the level; what goes wrong on the way is in its ``errors`` and ``outcome``.

    ``spec``: arm, run_id, slot, concurrency, requests, prompts [{id, kind, text}], max_tokens, temperature, ignore_eos,
    warmup_min, warmup_max, warmup_tolerance, client {host, port, model}, num_speculative_tokens, deadline_s [s].
    ``progress`` gets {phase, done, total, tok_s} about once a second. Raises VllmError ``bad_spec``.
    """
    return _Arm(spec, progress).run()


def check_spec(spec: dict[str, Any]) -> None:
    """Raise VllmError ``bad_spec``, naming the field, where ``spec`` can't be measured."""
    for name in ("concurrency", "requests", "max_tokens"):
        if not isinstance(spec.get(name), int) or spec[name] < 1:
            raise VllmError("bad_spec", f"{name} must be a whole number of 1 or more, not {spec.get(name)!r}")
    if not spec.get("prompts"):
        raise VllmError("bad_spec", "prompts is empty: there is nothing to ask the server")
    for at, row in enumerate(spec["prompts"]):
        for key in ("id", "kind", "text"):
            if not isinstance(row, dict) or not isinstance(row.get(key), str) or not row[key].strip():
                raise VllmError("bad_spec", f"prompts[{at}] needs a text in {key}")
    ids = [row["id"] for row in spec["prompts"]]
    if len(set(ids)) != len(ids):
        raise VllmError("bad_spec", "prompts holds two rows of the same id, so arms could not be paired")
    low, high = spec.get("warmup_min", 0), spec.get("warmup_max", 0)
    if low < 0 or high < 0 or (high and low > high):
        raise VllmError("bad_spec", f"warmup_min ({low}) must lie between 0 and warmup_max ({high})")


class _Arm:
    def __init__(self, spec: dict[str, Any], progress: Progress) -> None:
        check_spec(spec)
        self.spec = spec
        self.report = progress
        self.target = Target(spec["client"]["host"], int(spec["client"]["port"]))
        self.model = str(spec["client"]["model"])
        self.concurrency = int(spec["concurrency"])
        self.deadline_s = time.monotonic() + float(spec.get("deadline_s") or DEADLINE_S)
        self.warnings: list[dict[str, str]] = []
        self.stopped: dict[str, str] | None = None
        self.failed_in_a_row = 0
        self.last_progress_s = 0.0

    def run(self) -> dict[str, Any]:
        begun_boot_id, begun_s = boot_id(), boottime_s()
        cpu_s = time.process_time()
        pid = process.server_pid(self.target.host, self.target.port)
        ticks = process.start_ticks(pid)
        self._warm_up()
        self._wait_until_idle()
        before = self._counters()
        window_begun_s = time.monotonic()
        # A level after a failed warm-up has no requests, and says why.
        done = {} if self.stopped else self._loop("measure", range(self.spec["requests"]), self._prompt)
        window_s = max((one.ended_s for one in done.values()), default=window_begun_s) - window_begun_s
        after = self._settled_counters(before, sum(1 for one in done.values() if one.error is None))
        ordered = [done[index] for index in sorted(done)]
        errors = [dict(done[index].error or {}, request=index) for index in sorted(done) if done[index].error]
        if self.stopped:
            errors.append(self.stopped)
        end_pid = process.server_pid(self.target.host, self.target.port)
        if (end_pid, process.start_ticks(end_pid)) != (pid, ticks):
            text = f"another process served at the end (pid {pid} before, {end_pid} after)"
            errors.append({"code": "server_restarted", "text": text})
        level: dict[str, Any] = {
            "schema": LEVEL_SCHEMA,
            "arm": self.spec["arm"],
            "slot": self.spec.get("slot"),
            "run_id": self.spec.get("run_id"),
            "concurrency": self.concurrency,
            "requests": self.spec["requests"],
            "errors": errors,
            "prompts_sha256": samples.prompts_sha256(self.spec["prompts"]),
            "max_tokens": self.spec["max_tokens"],
            "temperature": self.spec.get("temperature"),
            "ignore_eos": bool(self.spec.get("ignore_eos")),
            "samples": [samples.sample(self._row(index), done[index], window_begun_s) for index in sorted(done)],
            "speculation": None if before is None or after is None else metrics.speculation(before, after),
            "foreign_requests": self._foreign(before, after, ordered),
            "boot_id": begun_boot_id,
            "server_pid": pid,
            "server_start_ticks": ticks,
            "started_boottime_s": round(begun_s, 3),
            "finished_boottime_s": round(boottime_s(), 3),
            "client_cpu_s": round(time.process_time() - cpu_s, 3),
            "warnings": self.warnings,
        }
        level.update(samples.summary(ordered, window_s))
        self._judge_counters(before, after, level)
        level["outcome"] = self._outcome(level)
        return level

    # -- requests ----------------------------------------------------------------------------------------------
    def _row(self, index: int) -> dict[str, Any]:
        prompts = self.spec["prompts"]
        return prompts[index % len(prompts)]

    def _prompt(self, index: int) -> tuple[str, str]:
        return self._row(index)["text"], f"{self.concurrency}-{index}"

    def _warm_prompt(self, index: int) -> tuple[str, str]:
        return self._row(index)["text"], f"warm-{self.concurrency}-{index}"

    def _ask(self, text: str, mark: str) -> Completion:
        # Equal in both arms, and in every run, so that the text that comes back stays comparable; the salt, which no
        # model sees, keeps a second measurement of the same process from finding the first one's cache.
        payload = {
            "model": self.model,
            "prompt": f"[{_hex(mark, 8)}] {text}",
            "max_tokens": self.spec["max_tokens"],
            "temperature": self.spec.get("temperature", 0.0),
            "cache_salt": _hex(f"{self.spec.get('run_id')}-{self.spec['arm']}-{mark}", 32),
        }
        if self.spec.get("ignore_eos"):
            payload["ignore_eos"] = True
        limit_s = min(float(self.spec.get("request_limit_s") or REQUEST_LIMIT_S), self.deadline_s - time.monotonic())
        return complete(self.target, payload, max(0.1, limit_s))

    def _loop(
        self, phase: str, indexes: range, prompt: Callable[[int], tuple[str, str]], total: int | None = None
    ) -> dict[int, Completion]:
        """Keep ``concurrency`` requests under way until ``indexes`` are used up; ``{index: completion}``."""
        done: dict[int, Completion] = {}
        lock = threading.Lock()
        queue = iter(indexes)
        begun = time.monotonic()
        tokens = [0]

        def take() -> int | None:
            with lock:
                if self.stopped is None and time.monotonic() > self.deadline_s:
                    text = f"not finished after {self.spec.get('deadline_s') or DEADLINE_S:.0f} s"
                    self.stopped = {"code": "deadline", "text": text}
                return next(queue, None) if self.stopped is None else None

        def put(index: int, one: Completion) -> None:
            with lock:
                done[index] = one
                tokens[0] += one.output_tokens or 0
                self.failed_in_a_row = self.failed_in_a_row + 1 if one.error else 0
                hopeless = self.failed_in_a_row >= GIVE_UP_AFTER * self.concurrency
                if one.error and (hopeless or one.error["code"] in FINAL_ERRORS):
                    self.stopped = self.stopped or {
                        "code": one.error["code"],
                        "text": f"given up during {phase}: {one.error['text']}",
                    }
            self._progress(phase, indexes.start + len(done), total or indexes.stop, tokens[0], begun)

        def work() -> None:
            index = take()
            while index is not None:
                try:
                    put(index, self._ask(*prompt(index)))
                except Exception as exc:  # a fault of ours must end the arm with a name, not silently lose a worker
                    self.stopped = {"code": "client_failed", "text": f"{type(exc).__name__}: {exc}"}
                index = take()

        workers = [threading.Thread(target=work, daemon=True) for _number in range(min(self.concurrency, len(indexes)))]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()  # each request ends by its own limit
        return done

    def _progress(self, phase: str, done: int, total: int, tokens: int, begun_s: float) -> None:
        now = time.monotonic()
        if now - self.last_progress_s < PROGRESS_STEP_S and done < total:
            return
        self.last_progress_s = now
        tok_s = round(tokens / (now - begun_s), 1) if tokens and now > begun_s else None
        with contextlib.suppress(OSError):  # a full disk must not end a measurement that needs none before its end
            self.report({"phase": phase, "done": done, "total": total, "tok_s": tok_s})

    # -- before and after ----------------------------------------------------------------------------------------
    def _warm_up(self) -> None:
        """Discarded requests until three medians in a row agree: the first ones pay for compiling and cold clocks."""
        least, most = int(self.spec.get("warmup_min") or 0), int(self.spec.get("warmup_max") or 0)
        tolerance = float(self.spec.get("warmup_tolerance") or 0.03)
        size = max(2, self.concurrency)
        ends_s = time.monotonic() + float(self.spec.get("warmup_limit_s") or WARMUP_LIMIT_S)
        medians: list[float] = []
        sent = 0
        while sent < most:
            indexes = range(sent, min(most, sent + size))
            done = self._loop("warmup", indexes, self._warm_prompt, total=most)
            sent = indexes.stop
            if self.stopped:
                return
            middle = samples.median([one.tpot_s for one in done.values() if one.error is None and one.tpot_s])
            if middle is not None:
                medians.append(middle)
            last = medians[-SETTLING:]
            settled = len(last) == SETTLING and max(last) - min(last) <= tolerance * min(last)
            if sent >= least and (settled or time.monotonic() > ends_s):
                break
        else:
            settled = most == 0
        if most and not settled:
            last_ms = ", ".join(f"{value * 1000:.1f}" for value in medians[-SETTLING:]) or "none"
            text = f"TPOT did not settle to {tolerance:.0%} in {sent} warm-up requests (last medians {last_ms} ms)"
            self._warn("warmup_unsettled", text)

    def _wait_until_idle(self) -> None:
        until = time.monotonic() + IDLE_LIMIT_S
        while not self.stopped:
            now = self._counters()
            if now is None or now.running is None or not (now.running or now.waiting):
                return
            if time.monotonic() > until:
                self._warn("busy", f"{now.running:.0f} requests of somebody else were running before the window")
                return
            time.sleep(0.2)

    def _counters(self) -> metrics.Snapshot | None:
        try:
            return metrics.fetch(self.target, ANSWER_LIMIT_S)
        except VllmError:
            return None

    def _settled_counters(self, before: metrics.Snapshot | None, completed: int) -> metrics.Snapshot | None:
        """Counters after the window; they may lag the last answer by an engine step."""
        until = time.monotonic() + 1.0
        while True:
            after = self._counters()
            finished = metrics.change(before.finished_requests, after.finished_requests) if before and after else None
            if finished is None or finished >= completed or time.monotonic() > until:
                return after
            time.sleep(0.05)

    @staticmethod
    def _foreign(before: metrics.Snapshot | None, after: metrics.Snapshot | None, ours: list[Completion]) -> int | None:
        """Requests that finished in the window and were not ours; None where the server does not count.

        After an error of ours it is open whether the server counted that one, so it is taken as counted.
        """
        if before is None or after is None:
            return None
        finished = metrics.change(before.finished_requests, after.finished_requests)
        return None if finished is None else max(0, int(finished) - len(ours))

    def _judge_counters(
        self, before: metrics.Snapshot | None, after: metrics.Snapshot | None, level: dict[str, Any]
    ) -> None:
        if before is None or after is None:
            self._warn("no_counters", "/metrics could not be read, so foreign requests and acceptance are not known")
            return
        if level["foreign_requests"]:
            text = f"{level['foreign_requests']} requests of somebody else finished in the window"
            self._warn("foreign_requests", text)
        hits = metrics.change(before.prefix_hits, after.prefix_hits)
        if hits:
            self._warn("prefix_cache_hits", f"{hits:.0f} prompt tokens came from the prefix cache")
        expected = self.spec.get("num_speculative_tokens")
        seen = after.num_speculative_tokens
        if expected is not None and seen != expected:
            self._warn("wrong_k", f"{seen} speculative tokens are live, {expected} were expected")
        preempted = metrics.change(before.preemptions, after.preemptions)
        if preempted:
            self._warn("preemptions", f"{preempted:.0f} requests were preempted: the KV cache is too small")

    def _warn(self, code: str, text: str) -> None:
        self.warnings.append({"code": code, "text": text})

    def _outcome(self, level: dict[str, Any]) -> dict[str, Any]:
        """Whether there is a level to judge; how many errors are too many is the gate's business."""
        if self.stopped:
            return dict(self.stopped, ok=False)
        if not level["completed"]:
            first = level["errors"][0]
            return {"ok": False, "code": first["code"], "text": f"no request completed: {first['text']}"}
        text = f"{level['completed']} of {level['requests']} requests completed at concurrency {self.concurrency}"
        text += f", {level['throughput_tok_s']} tok/s"
        return {"ok": True, "code": "measured", "text": text}


def _hex(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:digits]


def boot_id() -> str:
    """The kernel's id of this boot."""
    with open(BOOT_ID_PATH, encoding="ascii") as handle:
        return handle.read().strip()


def boottime_s() -> float:
    """Seconds since boot, suspend included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
