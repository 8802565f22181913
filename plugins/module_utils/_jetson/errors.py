# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The one error and the warnings of the probe. PRIVATE to this collection."""

from __future__ import annotations

from .codes import ERRORS, WARNINGS


class ProbeError(Exception):
    """The host cannot be identified truthfully.

    ``code`` is a stable snake_case name from ``codes.ERRORS``; the text says what, why and what to do.
    """

    def __init__(self, code: str, text: str) -> None:
        self.code = code
        self.text = f"{text} {ERRORS[code]}"
        super().__init__(self.text)


class Warnings:
    """Collects ``{code, text}`` rows in the order in which they were found, each row once."""

    def __init__(self) -> None:
        self.rows: list[dict[str, str]] = []

    def add(self, code: str, text: str) -> None:
        row = {"code": code, "text": f"{text} {WARNINGS[code]}"}
        if row not in self.rows:
            self.rows.append(row)


def show(data: bytes | str, limit: int = 120) -> str:
    """Foreign bytes or text in a form that is safe to print in a message: ASCII, one line, at most ``limit`` long."""
    if isinstance(data, bytes):
        data = data.decode("latin-1")
    text = ascii(data[: limit + 1])[1:-1]
    return f"'{text[:limit]}…'" if len(text) > limit else f"'{text}'"
