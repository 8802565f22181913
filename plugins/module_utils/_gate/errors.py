# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The errors of the gate wing. PRIVATE to this collection."""

from __future__ import annotations


class GateError(Exception):
    """The gate was asked something that has no answer: a wrong setting, not a bad measurement.

    ``code`` is a stable snake_case name for programs, the text says what, why and what to do.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


class InvalidMeasurement(GateError):
    """A measurement that must not decide anything. It becomes ``inconclusive``, never a crash and never a pass."""
