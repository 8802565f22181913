# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever the bytes: a value or our own named error, nothing else, and no invented value."""

from __future__ import annotations

import re
from typing import Any, Callable

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.jetson.specdec.plugins.module_utils._jetson import codes, identity, l4t, memory, tables
from ansible_collections.jetson.specdec.plugins.module_utils._jetson.errors import ProbeError, Warnings, show
from ansible_collections.jetson.specdec.plugins.module_utils._jetson.reading import Result

TREE_WORDS = [
    b"nvidia,",
    b"p3834-0008",
    b"p3701-0005",
    b"p3767-0003",
    b"p4071-0000+",
    b"-as-",
    b"-super",
    b"\0",
    b"tegra",
]
TREE_WORDS += [b"nvidia,tegra264\0", b"nvidia,tegra234\0", b"nvidia,tegra23x\0", b"jetson-xavier", b"\xff", b",", b"\n"]
LINE_WORDS = [
    b"# R",
    b"36",
    b" (release), ",
    b"REVISION: ",
    b"4.3",
    b", ",
    b"GCID: 1",
    b"BOARD: generic",
    b"\n",
    b"\r",
    b".",
]
LINE_WORDS += [
    b"# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic",
    b"# R35 (release)",
    b"\xef\xbb\xbf",
    b"\0",
]
MEM_WORDS = [
    b"MemTotal",
    b"MemAvailable",
    b"MemFree",
    b":",
    b" ",
    b"100",
    b"99",
    b" kB",
    b" MB",
    b"\n",
    b"\r\n",
    b"-",
    b"\xff",
]
MEM_WORDS += [b"MemTotal: 100 kB\n", b"MemAvailable: 99 kB\n"]
DPKG_WORDS = [b"ii ", b"iF ", b"rc ", b"hi ", b"\t", b"36.4.3", b"-2025", b"\n", b"\xff", b"R", b"un "]


def soup(words: list[bytes]) -> st.SearchStrategy[bytes]:
    """Any bytes, and lists of words that are nearly right."""
    return st.binary(max_size=200) | st.lists(st.sampled_from(words), max_size=12).map(b"".join)


def value_or_named_error(parse: Callable[[], Any]) -> Any:
    try:
        return parse()
    except ProbeError as exc:
        assert exc.code in codes.ERRORS
        assert exc.text.isprintable() and len(exc.text) < 500
        return None


@given(soup(TREE_WORDS))
def test_compatible(data: bytes) -> None:
    warnings = Warnings()
    found = value_or_named_error(lambda: identity.identify(identity.split_compatible(data), warnings))
    assert all(row["code"] in codes.WARNINGS and row["text"].isprintable() for row in warnings.rows)
    if found is None:
        return
    # Nothing is invented: chip, module and carrier stand in the bytes, and the family follows from them.
    assert b"nvidia," + found.soc.encode() in data
    for part in (found.module, found.carrier):
        assert part is None or part.encode() in data
    if found.family is not None:
        assert tables.GENERATIONS[found.family] == found.generation
    if found.family is None:
        assert any(row["code"] == "module_unknown" for row in warnings.rows)


@given(soup(TREE_WORDS))
def test_a_tegra_in_the_bytes_is_never_a_clean_no(data: bytes) -> None:
    try:
        found = identity.identify(identity.split_compatible(data), Warnings())
    except ProbeError:
        return
    assert found is not None or b"tegra" not in data.lower()


@given(soup(LINE_WORDS))
def test_release_file(data: bytes) -> None:
    found = value_or_named_error(lambda: l4t.parse_release(data))
    if found is not None:
        major, minor, patch = found.parts
        assert re.match(rb"# R%d \(release\), REVISION: 0*%d(\.0*%d)?\b" % (major, minor, patch), data)
        value_or_named_error(lambda: l4t.check_pair("tegra234", "orin", found))
        l4t.jetpack_of(found, Warnings())


@given(soup(DPKG_WORDS), soup(DPKG_WORDS), st.sampled_from([None, 0, 1, 2, 127]), st.booleans())
def test_package(out: bytes, err: bytes, rc: int | None, stopped: bool) -> None:
    result = Result(rc, out, err, stopped="did not end" if stopped else "")
    found = value_or_named_error(lambda: l4t.parse_package(result))
    if found is not None:
        assert rc == 0 and not stopped
        assert out.startswith((b"ii ", b"hi ")) or out[1:3] == b"i "


@given(soup(LINE_WORDS) | st.none(), soup(DPKG_WORDS))
def test_both_sources(data: bytes | None, out: bytes) -> None:
    value_or_named_error(lambda: l4t.decide(data, Result(0, out), Warnings()))


@given(soup(MEM_WORDS))
def test_meminfo(data: bytes) -> None:
    found = value_or_named_error(lambda: memory.parse_meminfo(data))
    if found is not None:
        assert 0 <= found.available_kib <= found.total_kib > 0
        assert b"MemAvailable" in data and str(found.available_kib).encode() in data


@given(st.binary(max_size=200))
def test_swaps(data: bytes) -> None:
    assert memory.zram_kib(data) >= 0


@given(st.none() | st.sampled_from(sorted(tables.PARTS)), st.none() | st.integers(0, 10**7))
def test_variant(module: str | None, total_mib: int | None) -> None:
    variant = identity.variant_of(module, total_mib, Warnings())
    known = {part.variant for part in tables.PARTS.values()}
    known |= {row[2] for rows in tables.MEMORY_VARIANTS.values() for row in rows}
    assert variant in known


@given(st.binary(max_size=400))
def test_show(data: bytes) -> None:
    assert show(data).isprintable() and len(show(data)) <= 123
