# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Release files and package states of real hosts, odd ones and broken ones."""

from __future__ import annotations

import pytest

from ansible_collections.jetson.specdec.plugins.module_utils._jetson import l4t
from ansible_collections.jetson.specdec.plugins.module_utils._jetson.errors import ProbeError, Warnings
from ansible_collections.jetson.specdec.plugins.module_utils._jetson.reading import Result
from ansible_collections.jetson.specdec.plugins.module_utils._jetson.releases import JETPACK, MAJORS

R36 = (
    b"# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64, DATE: Wed Jan  8 01:49:37 UTC 2025"
)
R35 = (
    b"# R35 (release), REVISION: 6.0, GCID: 37391689, BOARD: t186ref, EABI: aarch64, DATE: Wed Aug 28 09:12:40 UTC 2024"
)
R32 = (
    b"# R32 (release), REVISION: 7.1, GCID: 29689809, BOARD: t186ref, EABI: aarch64, DATE: Wed Feb  2 21:33:23 UTC 2022"
)
R39 = (
    b"# R39 (release), REVISION: 2.0, GCID: 45755727, BOARD: generic, EABI: aarch64,"
    b" DATE: Mon Jun  1 09:28:48 PM UTC 2026"
)
TAIL = (
    b"\n# KERNEL_VARIANT: oot\nTARGET_USERSPACE_LIB_DIR=nvidia"
    b"\nTARGET_USERSPACE_LIB_DIR_PATH=usr/lib/aarch64-linux-gnu/nvidia"
)
SEEED = (
    b"\n# Seeed Image Name mfi_recomputer-robo-agx-orin-32g-j501-6.2.1-36.4.4-2025-11-04.tar.gz\n# branch R36.4.4\n"
    b"# commit ID 0123456789abcdef\n"
)
SUMS = b"\n*0a1b2c3d4e5f60718293a4b5c6d7e8f901234567 */usr/lib/aarch64-linux-gnu/tegra/libnvos.so\n"

ABSENT = Result(1, b"", b"dpkg-query: no packages found matching nvidia-l4t-core\n")
NO_DPKG = Result(None, missing=True)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (R36 + TAIL + b"\n", "36.4.3"),
        (R36 + TAIL, "36.4.3"),
        (R36, "36.4.3"),
        (R39 + TAIL, "39.2.0"),
        (R32 + SUMS, "32.7.1"),
        (R36.replace(b"4.3", b"4.4") + TAIL + SEEED, "36.4.4"),
        ((R36 + TAIL + b"\n").replace(b"\n", b"\r\n"), "36.4.3"),
        (R36 + TAIL + b"\nINSTALL_TYPE=\n", "36.4.3"),
        (R32.replace(b"7.1", b"2"), "32.2.0"),
        (R36.replace(b"4.3", b"10.1"), "36.10.1"),
        (R36[: R36.index(b", EABI")], "36.4.3"),
        (R36 + b"\n" + R36 + b"\n", "36.4.3"),
        (R36 + b"\n\xff\xfe\x00 not text\n", "36.4.3"),
    ],
)
def test_release_files_that_say_one_thing(data: bytes, text: str) -> None:
    assert l4t.parse_release(data).text == text


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"garbage\n",
        b"\n" + R36,
        R36[:20],
        R36[: R36.index(b", BOARD")],
        R36.replace(b" REVISION: 4.3,", b""),
        R36.replace(b"REVISION: 4.3", b"REVISION: "),
        R36.replace(b"REVISION: 4.3", b"REVISION: 4."),
        R36.replace(b"REVISION: 4.3", b"REVISION: 4.3.1"),
        R36.replace(b"REVISION: 4.3", b"REVISION: four"),
        R36.replace(b"(release)", b"(devel)"),
        R36.replace(b"# R36", b"# R"),
        R36.replace(b"# R36", b"# R1000"),
        R36.replace(b"36", "\u0663\u0666".encode()),
        b"\xef\xbb\xbf" + R36,
        R36.decode().encode("utf-16"),
        R36.decode().encode("utf-16-le"),
        R36 + b"\n" + R35 + b"\n",
        R36 + b"\r" + R35,
        b"# R36.4.4\n",
        b"39.1.0\n",
    ],
)
def test_release_files_that_say_nothing_are_an_error(data: bytes) -> None:
    with pytest.raises(ProbeError) as caught:
        l4t.parse_release(data)
    assert caught.value.code == "l4t_garbled"
    assert caught.value.text.isprintable()


@pytest.mark.parametrize(
    ("out", "text"),
    [
        (b"ii \t36.4.3-20250107174145\n", "36.4.3"),
        (b"hi \t39.2.0-20260601141651\n", "39.2.0"),
        (b"ii \t32.4.4-20201016123640\n", "32.4.4"),
        (b"ii \t38.4-20251230160601\n", "38.4.0"),
        (b"ii \t36.5.0\n", "36.5.0"),
        (b"rc \t36.4.3-20250107174145\n", None),
        (b"un \t\n", None),
    ],
)
def test_package_states(out: bytes, text: str | None) -> None:
    release = l4t.parse_package(Result(0, out))
    assert (release.text if release else None) == text


@pytest.mark.parametrize("result", [ABSENT, NO_DPKG])
def test_no_package(result: Result) -> None:
    assert l4t.parse_package(result) is None


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (Result(0, b"iF \t36.4.7-20250918154033\n"), "dpkg_half_configured"),
        (Result(0, b"iU \t36.4.7-20250918154033\n"), "dpkg_half_configured"),
        (Result(0, b"iHR\t36.4.7-20250918154033\n"), "dpkg_half_configured"),
        (Result(0, b"iiR\t36.4.7-20250918154033\n"), "dpkg_half_configured"),
        (Result(0, b"rcR\t36.4.7-20250918154033\n"), "dpkg_half_configured"),
        (Result(0, b"ii \tunknown\n"), "dpkg_version_garbled"),
        (Result(0, b"ii \t5.15.148-tegra-36.4.0-20240912212859\n"), "dpkg_version_garbled"),
        (Result(0, b"ii \t\n"), "dpkg_version_garbled"),
        (Result(0, b""), "l4t_unreadable"),
        (Result(0, b"ii 36.4.3\n"), "l4t_unreadable"),
        (Result(0, b"ii \t36.4.3-1\nii \t36.4.4-1\n"), "l4t_unreadable"),
        (Result(2, b"", b"dpkg-query: error: cannot read the database\n"), "l4t_unreadable"),
        (Result(None, stopped="did not end within its time limit"), "l4t_unreadable"),
    ],
)
def test_package_states_that_are_errors(result: Result, code: str) -> None:
    with pytest.raises(ProbeError) as caught:
        l4t.parse_package(result)
    assert caught.value.code == code


def test_half_configured_says_what_to_do() -> None:
    with pytest.raises(ProbeError, match="dpkg --configure -a"):
        l4t.parse_package(Result(0, b"iF \t36.4.7-20250918154033\n"))


def test_file_and_package_agree() -> None:
    release = l4t.decide(R36, Result(0, b"ii \t36.4.3-20250107174145\n"), Warnings())
    assert release == ((36, 4, 3), "file")


def test_file_and_package_disagree() -> None:
    with pytest.raises(ProbeError, match=r"36\.4\.3.*36\.4\.7") as caught:
        l4t.decide(R36, Result(0, b"ii \t36.4.7-20250918154033\n"), Warnings())
    assert caught.value.code == "l4t_sources_disagree"


def test_package_answers_for_a_missing_file_but_not_for_a_garbled_one() -> None:
    installed = Result(0, b"ii \t36.4.3-20250107174145\n")
    assert l4t.decide(None, installed, Warnings()) == ((36, 4, 3), "dpkg")
    with pytest.raises(ProbeError) as caught:
        l4t.decide(b"", installed, Warnings())
    assert caught.value.code == "l4t_garbled"


def test_neither_file_nor_package() -> None:
    assert l4t.decide(None, ABSENT, Warnings()) is None


def test_a_silent_dpkg_is_a_warning_beside_a_file_and_an_error_without() -> None:
    silent = Result(None, stopped="did not end within its time limit")
    warnings = Warnings()
    assert l4t.decide(R36, silent, warnings) == ((36, 4, 3), "file")
    assert [row["code"] for row in warnings.rows] == ["dpkg_unread"]
    with pytest.raises(ProbeError) as caught:
        l4t.decide(None, silent, Warnings())
    assert caught.value.code == "l4t_unreadable"


@pytest.mark.parametrize(
    ("parts", "jetpack", "codes"),
    [
        ((38, 4, 0), "7.1", ["r38_page_pool"]),
        ((39, 2, 0), "7.2", []),
        ((36, 4, 4), "6.2.1", []),
        ((36, 4, 7), "6.2.1", ["l4t_36_4_7_memory"]),
        ((36, 5, 0), "6.2.2", []),
        ((36, 6, 0), None, ["jetpack_unknown"]),
        ((36, 4, 8), None, ["jetpack_unknown"]),
        ((28, 2, 1), None, ["jetpack_unknown"]),
        ((40, 0, 0), None, ["l4t_newer", "jetpack_unknown"]),
    ],
)
def test_jetpack_is_exact_or_unknown(parts: tuple[int, int, int], jetpack: str | None, codes: list[str]) -> None:
    warnings = Warnings()
    assert l4t.jetpack_of(l4t.Release(parts, "file"), warnings) == jetpack
    assert [row["code"] for row in warnings.rows] == codes


def test_every_row_has_a_source_and_fits_a_chip() -> None:
    for parts, (jetpack, source) in JETPACK.items():
        assert jetpack and source
        assert any(majors.allow(parts[0]) for majors in MAJORS.values()), parts


@pytest.mark.parametrize(
    ("generation", "good", "bad"),
    [
        ("thor", (38, 39, 40), (32, 35, 36, 37)),
        ("orin", (34, 35, 36, 39, 40), (32, 38)),
        ("xavier", (32, 34, 35), (36, 38, 39, 40)),
        ("tx2", (28, 32), (34, 35, 36)),
        ("tegra210", (28, 32), (34, 35, 36)),
    ],
)
def test_impossible_pairs(generation: str, good: tuple[int, ...], bad: tuple[int, ...]) -> None:
    for major in good:
        l4t.check_pair("tegra", generation, l4t.Release((major, 1, 0), "file"))
    for major in bad:
        with pytest.raises(ProbeError) as caught:
            l4t.check_pair("tegra", generation, l4t.Release((major, 1, 0), "file"))
        assert caught.value.code == "impossible_pair"
