# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Reading one measured level with distrust. PRIVATE to this collection.

A level is what a benchmark returns for one arm at one concurrency. It travelled through files, JSON and Ansible, and
may come from an older or a broken benchmark: each field that decides something is checked before it is used. All
problems are InvalidMeasurement with the field's full name.
"""

from __future__ import annotations

import math
from typing import Any

from .errors import InvalidMeasurement
from .statistics import median

LEVEL_SCHEMA = "jetson.specdec/level/1"
SMALLEST, LARGEST = 1e-6, 1e15  # a positive measurement outside this is no measurement; keeps ratios finite
RELATIVE = 0.02  # by how much figures that follow from each other may differ: rounding, not content
FLAGS = ("empty", "undecodable", "repetitive")


class Fields:
    """A dict with a name, whose values are fetched with their type checked."""

    def __init__(self, value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise missing(where, "is {}, not a dict".format("missing" if value is None else type(value).__name__))
        self.value = value
        self.where = where

    def name(self, key: str) -> str:
        """Full name of a field, for messages."""
        return f"{self.where}.{key}"

    def text(self, key: str, may_be_empty: bool = False) -> str:
        """A string."""
        value = self.value.get(key)
        if not isinstance(value, str) or not (value or may_be_empty):
            raise missing(self.name(key), f"is {value!r:.60}, not a text")
        return value

    def number(self, key: str, lowest: float = SMALLEST) -> float:
        """A finite number, positive unless ``lowest`` says otherwise."""
        value = self.value.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise missing(self.name(key), f"is {value!r:.60}, not a number")
        if isinstance(value, float) and math.isnan(value):
            raise missing(self.name(key), f"is {value!r:.60}, not a number")
        if not lowest <= value <= LARGEST:
            what = "a positive number" if lowest > 0 else f"a number from {lowest:g} up"
            raise missing(self.name(key), f"is {value!r:.60}, not {what}")
        return float(value)

    def whole(self, key: str, lowest: int = 1) -> int:
        """A whole number, at least ``lowest``."""
        value = self.number(key, float(lowest))
        if value != math.floor(value):
            raise missing(self.name(key), f"is {value!r}, not a whole number")
        return int(value)

    def items(self, key: str) -> list[Any]:
        """A list."""
        value = self.value.get(key)
        if not isinstance(value, list):
            raise missing(self.name(key), f"is {value!r:.60}, not a list")
        return value


class Outline:
    """Who was measured, when, and which requests failed: all that can be said of a level that went wrong, too."""

    def __init__(self, level: Any, where: str) -> None:
        fields = Fields(level, where)
        if fields.text("schema") != LEVEL_SCHEMA:
            raise missing(fields.name("schema"), "is {!r:.60}, not {!r}".format(level.get("schema"), LEVEL_SCHEMA))
        self.fields = fields
        self.where = where
        self.arm = fields.text("arm")
        self.slot = fields.text("slot")
        self.concurrency = fields.whole("concurrency")
        self.requests = fields.whole("requests")
        self.boot_id = fields.text("boot_id")
        self.server = (self.boot_id, fields.whole("server_pid"), fields.whole("server_start_ticks"))
        self.started_s = fields.number("started_boottime_s")
        self.finished_s = fields.number("finished_boottime_s")
        self.errors = len(fields.items("errors"))
        self.samples = [
            Fields(sample, f"{where}.samples[{index}]") for index, sample in enumerate(fields.items("samples"))
        ]
        if not self.samples:
            raise missing(fields.name("samples"), "is empty")
        self.failed = sum(1 for sample in self.samples if sample.value.get("error"))
        failures = [sample.value["error"] for sample in self.samples if sample.value.get("error")]
        self.first_error = _error_text((failures or fields.items("errors") or [""])[0])

    def warnings(self) -> list[dict[str, str]]:
        """What the benchmark itself found worth a warning, with the level's name."""
        found = self.fields.value.get("warnings")
        return [
            {"code": str(one.get("code", "warning")), "text": "{}: {}".format(self.where, one.get("text", "no text"))}
            for one in (found if isinstance(found, list) else [])
            if isinstance(one, dict)
        ]

    def flagged(self) -> dict[str, float]:
        """Share of the answers that are empty, undecodable or repetitive: {flag: 0..1}."""
        found = [text_flags(sample) for sample in self.samples]
        return {flag: sum(1 for flags in found if flag in flags) / len(found) for flag in FLAGS}


class Sample:
    """One answered request."""

    def __init__(self, fields: Fields) -> None:
        prompt = fields.value.get("prompt")
        if isinstance(prompt, bool) or not isinstance(prompt, (str, int)) or prompt == "":
            raise missing(fields.name("prompt"), f"is {prompt!r:.60}, not a name")
        self.prompt = str(prompt)
        self.kind = fields.text("kind")
        self.tokens = fields.whole("output_tokens")
        self.ttft_ms = fields.number("ttft_ms")
        self.e2e_ms = fields.number("e2e_ms")
        # A single token has no time between tokens; any more do.
        self.tpot_ms = fields.number("tpot_ms") if self.tokens > 1 else None
        if self.tpot_ms is not None:
            follows = self.ttft_ms + self.tpot_ms * (self.tokens - 1)
            if abs(follows - self.e2e_ms) > RELATIVE * self.e2e_ms + 2.0:
                raise InvalidMeasurement(
                    "invalid_arithmetic",
                    "{} is {:.1f} ms, but time to first token and TPOT of {} tokens make {:.1f} ms".format(
                        fields.name("e2e_ms"), self.e2e_ms, self.tokens, follows
                    ),
                )


class Level:
    """The figures of a level in which every request was answered, checked against its own samples."""

    def __init__(self, outline: Outline) -> None:
        fields = outline.fields
        self.outline = outline
        self.samples = [Sample(sample) for sample in outline.samples]
        self.throughput = fields.number("throughput_tok_s")
        self.tpot_ms = fields.number("tpot_ms_p50")
        self.ttft_ms = fields.number("ttft_ms_p50")
        self.duration_s = fields.number("duration_s")
        self.tokens = fields.whole("output_tokens")
        self.max_tokens = fields.whole("max_tokens")
        self.temperature = fields.number("temperature", 0.0)
        self.prompts_sha256 = fields.text("prompts_sha256")
        self.foreign = fields.whole("foreign_requests", 0)
        completed = fields.whole("completed")
        tpots = [sample.tpot_ms for sample in self.samples if sample.tpot_ms is not None]
        if not tpots:
            raise missing(fields.name("samples"), "has no answer with two tokens or more, so there is no TPOT")
        busy_s = sum(sample.e2e_ms for sample in self.samples) / 1000.0
        self._follows("requests", outline.requests, len(self.samples), 0.0)
        self._follows("completed", completed, len(self.samples), 0.0)
        self._follows("output_tokens", self.tokens, sum(sample.tokens for sample in self.samples), 0.0)
        self._follows("throughput_tok_s", self.throughput, self.tokens / self.duration_s, RELATIVE)
        self._follows("tpot_ms_p50", self.tpot_ms, median(tpots), RELATIVE)
        self._follows("ttft_ms_p50", self.ttft_ms, median([sample.ttft_ms for sample in self.samples]), RELATIVE)
        if busy_s > (1.0 + RELATIVE) * self.duration_s * outline.concurrency:
            raise self._wrong("duration_s", self.duration_s, f"at least {busy_s / outline.concurrency:.2f}")
        ends_s = outline.started_s + (1.0 - RELATIVE) * self.duration_s
        if outline.finished_s < ends_s:
            raise self._wrong("finished_boottime_s", outline.finished_s, f"{ends_s:.1f} or later")

    def _follows(self, key: str, value: float, expected: float, relative: float) -> None:
        if abs(value - expected) > relative * expected:
            raise self._wrong(key, value, f"{expected:g}")

    def _wrong(self, key: str, value: float, expected: str) -> InvalidMeasurement:
        return InvalidMeasurement(
            "invalid_arithmetic",
            f"{self.outline.fields.name(key)} is {value:g}, by its own samples and times it should be {expected}",
        )


class Speculation:
    """What the server's own counters say of speculation during a level; None values where it has no counters."""

    def __init__(self, outline: Outline) -> None:
        value = outline.fields.value.get("speculation")
        self.where = outline.fields.name("speculation")
        self.present = value is not None
        if value is None:
            return
        fields = Fields(value, self.where)
        seen = value.get("num_speculative_tokens_seen")
        self.seen = 0 if seen is None else fields.whole("num_speculative_tokens_seen", 0)
        self.drafts = fields.whole("drafts", 0)
        self.draft_tokens = fields.whole("draft_tokens", 0)
        self.accepted = fields.whole("accepted_tokens", 0)
        self.active = self.drafts > 0 or self.draft_tokens > 0 or self.accepted > 0
        self.rate = self.length = None  # type: float | None
        if not self.drafts or not self.draft_tokens:
            return
        self.rate = fields.number("acceptance_rate", 0.0)
        self.length = fields.number("acceptance_length", 0.0)
        expected = {
            "acceptance_rate": self.accepted / self.draft_tokens,
            "acceptance_length": 1.0 + self.accepted / self.drafts,
        }
        for key, follows in expected.items():
            if abs(fields.number(key, 0.0) - follows) > 0.01 + RELATIVE * follows:
                text = f"{fields.name(key)} is {value[key]!r}, by the counters beside it it is {follows:.3f}"
                raise InvalidMeasurement("invalid_arithmetic", text)
        if self.accepted > self.draft_tokens:
            text = "{} is {}, more than the {} drafted".format(
                fields.name("accepted_tokens"), self.accepted, self.draft_tokens
            )
            raise InvalidMeasurement("invalid_arithmetic", text)


def _error_text(error: Any) -> str:
    """An error as a text, whether it came as one or as {code, text}."""
    return str(error.get("text") or error.get("code") or error) if isinstance(error, dict) else str(error)


def missing(field: str, problem: str) -> InvalidMeasurement:
    """The error for a field that is absent, zero, of a wrong type or outside its range."""
    return InvalidMeasurement("invalid_missing", f"{field} {problem}")


def text_flags(sample: Fields) -> list[str]:
    """What is wrong with an answer's text, from the benchmark's own flags or from the start of the text."""
    given = sample.value.get("text_flags")
    if given is not None:
        return [flag for flag in FLAGS if flag in sample.items("text_flags")]
    text = sample.text("text_head", may_be_empty=True)
    if not text.strip():
        return ["empty"]
    flags = []
    if text.count("\ufffd") * 10 >= len(text):
        flags.append("undecodable")
    if _repetitive(text):
        flags.append("repetitive")
    return flags


def _repetitive(text: str) -> bool:
    """Whether a text of some length repeats itself: one word in most places, or few distinct three-word runs."""
    words = text.split()
    if len(words) < 12:
        # Scripts without spaces, and a single letter or syllable over and over.
        return len(text) >= 60 and len(set(text[i : i + 4] for i in range(len(text) - 3))) * 5 < len(text)
    runs = [tuple(words[i : i + 3]) for i in range(len(words) - 2)]
    return len(set(runs)) * 2 < len(runs)
