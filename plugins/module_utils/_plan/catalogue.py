# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Which draft belongs to which target. PRIVATE to this collection.

Pairing is equality of names, never similarity: a head is trained on one model's hidden states, and with another's it
costs its full price and gains nothing, or garbles the output.
"""

from __future__ import annotations

from typing import Any, Callable

from .errors import PlanError

SHIPPED_ORDER = ("eagle3", "draft_model")
SITE_ORDER = ("eagle3", "draft_model", "dflash")


class Catalogue:
    """Heads and drafts: the rows of the site first, then the shipped ones."""

    def __init__(self, shipped: dict[str, Any], site_rows: list[dict[str, Any]]) -> None:
        """``shipped`` holds the objects of data/heads.yml and data/drafts.yml by name.

        Raises PlanError ``bad_catalogue`` when they are not there.
        """
        try:
            heads = shipped["heads"]["heads"]
            drafts = [dict(row, method="draft_model") for row in shipped["drafts"]["drafts"]]
            self._bases = {row["model"]: row["base"] for row in shipped["heads"]["variants"]}
            self._rows = [dict(row, origin="site") for row in site_rows]
            self._rows += [dict(row, origin="shipped") for row in heads + drafts]
            for row in self._rows:
                row["target"], row["model"], row["method"]  # noqa: B018  (a row without them is no row)
        except (KeyError, TypeError) as exc:
            raise PlanError("bad_catalogue", f"the catalogue is incomplete ({exc}); reinstall the collection") from exc

    def base_of(self, model: str) -> str | None:
        """The model that this one is declared to be a quantised copy of."""
        return self._bases.get(model)

    def find(
        self, target: str, method: str | None, obstacle: Callable[[dict[str, Any]], str | None]
    ) -> tuple[dict[str, Any] | None, list[str]]:
        """The first usable row for ``target``, a site row before a shipped one, a head before a draft.

        ``method`` restricts the search; ``obstacle`` says why a row can't be used here, or None.
        Returns the row, with ``via_base`` when it is the base's, and what was passed over and why.
        """
        names = [name for name in (target, self.base_of(target)) if name]
        passed_over: list[str] = []
        for origin, preference in (("site", SITE_ORDER), ("shipped", SHIPPED_ORDER)):
            for wanted in [method] if method else preference:
                rows = [row for row in self._rows if row["origin"] == origin and row["method"] == wanted]
                for name in names:
                    for row in rows:
                        if row["target"] != name:
                            continue
                        why_not = obstacle(row)
                        if why_not is None:
                            return dict(row, via_base=name if name != target else None), passed_over
                        passed_over.append("{}: {}".format(row["model"], why_not))
        return None, passed_over

    def knows(self, target: str, method: str, model: str) -> bool:
        """Is this exact pairing in the catalogue?"""
        names = (target, self.base_of(target))
        return any(row["target"] in names and row["method"] == method and row["model"] == model for row in self._rows)
