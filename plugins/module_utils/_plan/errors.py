# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""How planning ends early. PRIVATE to this collection."""

from __future__ import annotations


class PlanError(Exception):
    """The input can't be planned with: what the user wrote is wrong, or a contract between modules is broken.

    ``code`` is a stable snake_case name for programs; the text says what, why and what to do.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


class Ended(Exception):
    """A check ended the plan: ``decision`` is skip (by the rules) or refuse (by what the host lacks)."""

    def __init__(self, decision: str, code: str, text: str) -> None:
        super().__init__(text)
        self.decision = decision
        self.code = code
        self.text = text


class Unusable(Exception):
    """A folder does not hold a model that vLLM could load; the text says what is wrong with it."""
