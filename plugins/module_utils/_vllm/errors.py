# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The one error of the vLLM wing. PRIVATE to this collection."""

from __future__ import annotations


class VllmError(Exception):
    """Something about the server, or the request for it, that the caller must be told by name.

    ``code`` is a stable snake_case name for programs, the text says what, why and what to do.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
