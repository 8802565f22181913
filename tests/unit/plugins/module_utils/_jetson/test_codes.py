# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Every code that the probe uses is in the table with its advice, and the table holds no other."""

from __future__ import annotations

import re
from pathlib import Path

from ansible_collections.jetson.specdec.plugins.module_utils._jetson import codes, probe, tables


def used(pattern: str) -> set[str]:
    found: set[str] = set()
    for path in Path(probe.__file__).parent.glob("*.py"):
        found.update(re.findall(pattern, path.read_text()))
    return found


def test_errors() -> None:
    direct = used(r'(?:ProbeError|super\(\).__init__)\(\s*"([a-z_0-9]+)"')
    by_name = used(r'code = "([a-z_]+)" if') | used(r'code = "[a-z_]+" if .* else "([a-z_]+)"')
    assert direct | by_name == set(codes.ERRORS)


def test_warnings() -> None:
    assert used(r'warnings\.add\(\s*"([a-z_0-9]+)"') == set(codes.WARNINGS)


def test_advice_is_a_sentence() -> None:
    for text in (*codes.ERRORS.values(), *codes.WARNINGS.values()):
        assert text[0].isupper() or text.startswith("nvidia"), text
        assert text.endswith("."), text


def test_tables_agree_with_each_other() -> None:
    generations = {soc.generation for soc in tables.SOCS.values()}
    assert set(tables.GENERATIONS.values()) == generations
    for number, part in tables.PARTS.items():
        assert part.family in tables.GENERATIONS
        assert tables.MODULE_PREFIXES[number.split("-", maxsplit=1)[0]] in (part.family, None)
    assert set(tables.NAMED_BOARDS.values()) <= set(tables.GENERATIONS)
    assert set(tables.MEMORY_VARIANTS) <= set(tables.PARTS)
