# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Chip, module, carrier and family from the device tree's ``compatible``. PRIVATE to this collection.

Never from ``model``, which is free text: one release calls an Orin NX "NVIDIA Orin NX Developer Kit", a factory Thor
lacks its "AGX", and ``Jetson-AGX`` is both a Xavier and an Orin.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .errors import ProbeError, Warnings, show
from .tables import (
    CARRIER_PREFIXES,
    GENERATIONS,
    MEMORY_VARIANTS,
    MODULE_PREFIXES,
    NAMED_BOARDS,
    PARTS,
    SOCS,
)

_SOC = re.compile(r"nvidia,tegra(\d{2}[0-9x])")
_BOARD = re.compile(
    r"nvidia,(?:(?P<carrier>[a-z]\d{4}(?:-[0-9a-z]{3,4})?)\+)?(?P<mod>p\d{4}-\d{4})"
    r"(?P<suffix>-super|-px1|-safety)?(?:-as-(?P<as>p\d{4}-\d{4}))?"
)
_BOARD_LIKE = re.compile(r"nvidia,p\d{4}")
_VENDOR_NAME = re.compile(r"[^,]+,[^,]")
_PRINTABLE = re.compile(r"[\x20-\x7e]+")


class Identity(NamedTuple):
    """What ``compatible`` says. Unknown parts are None, never a guess."""

    soc: str
    generation: str
    compute_capability: str
    family: str | None
    module: str | None
    carrier: str | None
    suffix: str | None
    emulated_on: str | None


def split_compatible(data: bytes) -> list[str]:
    """The entries of a ``compatible`` property: NUL-terminated printable ASCII.

    :raises ProbeError: ``compatible_garbled`` or ``compatible_glued``.
    """
    if not data:
        raise ProbeError("compatible_garbled", "The device tree's compatible property is empty.")
    if not data.endswith(b"\0"):
        code = "compatible_garbled" if b"\0" in data else "compatible_glued"
        raise ProbeError(code, f"The device tree's compatible property does not end in NUL: {show(data[-80:])}.")
    entries = []
    for raw in data.split(b"\0"):
        if not raw:
            continue
        text = raw.decode("latin-1")
        if not _PRINTABLE.fullmatch(text):
            raise ProbeError("compatible_garbled", f"An entry of compatible holds bytes that no name has: {show(raw)}.")
        if text.count(",") > 1 and text.count("nvidia,") > 1:
            raise ProbeError("compatible_glued", f"Entries of compatible are glued together: {show(raw)}.")
        entries.append(text)
    # "vendor,name" is the form of the standard; text in UTF-16 falls apart into single letters.
    if not any(_VENDOR_NAME.match(entry) for entry in entries):
        raise ProbeError("compatible_garbled", f"No entry of compatible has the form vendor,name: {show(data[:80])}.")
    return entries


def identify(entries: list[str], warnings: Warnings) -> Identity | None:
    """Identity of a Tegra host; None when nothing in ``compatible`` names a Tegra chip or a Jetson board.

    :param entries: from :func:`split_compatible`.
    :raises ProbeError: ``soc_missing``, ``soc_unknown``, ``two_families``, ``module_soc_mismatch``.
    """
    soc = _soc(entries)
    if soc is None:
        return None
    generation = SOCS[soc].generation
    boards = [match for match in map(_BOARD.fullmatch, entries) if match]
    named = [entry for entry in entries if _is_named(entry)]
    for entry in entries:
        if _BOARD_LIKE.match(entry) and not _BOARD.fullmatch(entry) and entry not in named:
            warnings.add(
                "board_entry_unknown", f"The board entry {show(entry)} has a form that the probe doesn't know."
            )

    modules, emulated_on = _modules(boards, warnings)
    family = _family(generation, modules, [NAMED_BOARDS[entry[len("nvidia,") :]] for entry in named])
    module = _module(modules, warnings)
    if family is None or module is None:
        what = "kind of Jetson" if family is None else "module"
        # A board entry without a module is all that old releases give: the family is known, no rule misses anything.
        if family is None or not named:
            warnings.add("module_unknown", f"compatible names the chip tegra{soc} but not the exact {what}.")
    suffix = next((match["suffix"][1:] for match in boards if match["suffix"]), None)
    return Identity(
        soc=f"tegra{soc}",
        generation=generation,
        compute_capability=SOCS[soc].compute_capability,
        family=family,
        module=module,
        carrier=_carrier(boards, named, warnings),
        suffix=suffix,
        emulated_on=emulated_on,
    )


def _is_named(entry: str) -> bool:
    return entry.startswith("nvidia,") and entry[len("nvidia,") :] in NAMED_BOARDS


def _soc(entries: list[str]) -> str | None:
    found = [match[1] for match in map(_SOC.fullmatch, entries) if match]
    if not found:
        strange = [
            entry for entry in entries if "tegra" in entry.lower() or _BOARD_LIKE.match(entry) or _is_named(entry)
        ]
        if strange:
            raise ProbeError("soc_missing", f"compatible has {show(strange[0])} but no entry that names the chip.")
        return None
    for digits in found:
        if digits not in SOCS:
            raise ProbeError("soc_unknown", f"The chip tegra{digits} is unknown to this collection.")
    generations = sorted({SOCS[digits].generation for digits in found})
    if len(generations) > 1:
        raise ProbeError("two_families", f"compatible names chips of two generations: {' and '.join(generations)}.")
    # The exact chip wins over the generic tegra23x.
    return next((digits for digits in found if digits.isdigit()), found[0])


def _modules(boards: list[re.Match[str]], warnings: Warnings) -> tuple[list[str], str | None]:
    """Effective module numbers in order, each once, and the physical module where another one is emulated."""
    physical: dict[str, str] = {match["mod"]: match["as"] for match in boards if match["as"]}
    modules: list[str] = []
    for match in boards:
        number = match["as"] or physical.get(match["mod"], match["mod"])
        # A bare board number (p2972-0000) fits the pattern of a module: only known halves are modules.
        if number.split("-")[0] in MODULE_PREFIXES:
            modules.append(number)
        elif match["carrier"] is not None:
            warnings.add("board_entry_unknown", f"The module number {show(number)} in {show(match[0])} is unknown.")
        elif number not in NAMED_BOARDS and number.split("-")[0] not in CARRIER_PREFIXES:
            text = f"The number in {show(match[0])} is neither a known module nor a known board."
            warnings.add("board_entry_unknown", text)
    emulated_on = next(iter(physical), None)
    if emulated_on is not None:
        warnings.add("module_emulated", f"The host is a {emulated_on} that runs as {physical[emulated_on]}.")
    return list(dict.fromkeys(modules)), emulated_on


def _family_of(module: str) -> str | None:
    part = PARTS.get(module)
    return part.family if part else MODULE_PREFIXES[module.split("-")[0]]


def _family(generation: str, modules: list[str], named: list[str]) -> str | None:
    families = {_family_of(module) for module in modules}
    known = families - {None} | set(named)
    # p3767 with an unknown second half is an Orin NX or an Orin Nano: the chip is known, the family is not.
    generations = {GENERATIONS[family] for family in known if family} | {
        "orin" for family in families if family is None
    }
    if generations and generations != {generation}:
        names = ", ".join(modules) or ", ".join(named)
        text = f"The board entries ({names}) don't belong to the {generation} chip that compatible names."
        raise ProbeError("module_soc_mismatch", text)
    if len(known) > 1:
        text = f"compatible names modules of several families: {', '.join(sorted(map(str, known)))}."
        raise ProbeError("two_families", text)
    if generation == "thor":
        # Only one module line has this chip, so the chip alone decides the family (not the module).
        return "thor"
    if None in families:
        return None
    return next(iter(known), None)


def _module(modules: list[str], warnings: Warnings) -> str | None:
    if not modules:
        return None
    variants = {(PARTS[module].family, PARTS[module].variant) if module in PARTS else module for module in modules}
    if len(variants) > 1:
        text = f"compatible names several modules ({', '.join(modules)}) and cannot say which one this is."
        warnings.add("module_ambiguous", text)
        return None
    if modules[0] not in PARTS:
        warnings.add("module_unknown", f"The module {modules[0]} is not in the table of this collection.")
    return modules[0]


def _carrier(boards: list[re.Match[str]], named: list[str], warnings: Warnings) -> str | None:
    carrier = next((match["carrier"] for match in boards if match["carrier"]), None)
    if carrier is None:
        carrier = next((entry[len("nvidia,") :] for entry in named if _BOARD_LIKE.match(entry)), None)
    if carrier is None:
        warnings.add("carrier_unknown", "compatible names no carrier board.")
    elif carrier.split("-")[0] not in CARRIER_PREFIXES:
        warnings.add("carrier_unknown", f"The carrier board {carrier} is not one of NVIDIA's.")
    return carrier


def variant_of(module: str | None, total_mib: int | None, warnings: Warnings) -> str:
    """Variant name of the module, ``unknown`` where it cannot be told for sure; never the bigger one of two.

    :param total_mib: MemTotal in MiB; used only where one part number stands for several sizes, and to doubt a
        host that has more memory than its module.
    """
    part = PARTS.get(module or "")
    if part is None:
        return "unknown"
    if part.memory_gib is not None and total_mib is not None and total_mib > part.memory_gib * 1024:
        text = f"The host has {total_mib} MiB, more than the {part.memory_gib} GiB of a {part.name}."
        warnings.add("memory_implausible", text)
    rows = MEMORY_VARIANTS.get(module or "")
    if rows is None:
        return part.variant
    for least, most, variant in rows:
        if total_mib is not None and least <= total_mib <= most:
            return variant
    size = "an unknown size" if total_mib is None else f"{total_mib} MiB"
    warnings.add("variant_unknown", f"{part.name} ({module}) comes in several sizes, and {size} fits none of them.")
    return part.variant
