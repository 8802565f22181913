# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Can this draft work with this target at all? PRIVATE to this collection.

Equal sizes do not prove that two models belong together, the catalogue says that; unequal ones prove that they don't.
vLLM checks the vocabulary of a draft model, and starts with a head of another hidden size without a word.
"""

from __future__ import annotations

from .checkpoint import Checkpoint


def mismatch(method: str, target: Checkpoint, draft: Checkpoint) -> tuple[str, str] | None:
    """Code and sentence of what contradicts, or None. Sizes that a configuration does not state are not compared."""
    target_words, draft_words = target.number("vocab_size"), draft.number("vocab_size")
    words_differ = target_words is not None and draft_words is not None and target_words != draft_words
    words = f"{draft_words} words and the target {target.path} has {target_words}"
    if method == "draft_model" and words_differ:
        return "vocab_mismatch", f"the draft {draft.path} has {words}; a draft model needs the same vocabulary"
    if method != "eagle3":
        return None
    hidden = target.number("hidden_size")
    meant_for = draft.number("target_hidden_size") or draft.number("hidden_size")
    if hidden is not None and meant_for is not None and hidden != meant_for:
        sizes = f"hidden size {meant_for} and the target {target.path} has {hidden}"
        return "head_mismatch", f"the head {draft.path} is made for {sizes}; it belongs to another model"
    if words_differ:
        return "head_mismatch", f"the head {draft.path} is made for {words}; it belongs to another model"
    return None
