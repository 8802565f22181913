# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""L4T release: strict first line of ``/etc/nv_tegra_release``, else the package; both must agree.

PRIVATE to this collection.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .errors import ProbeError, Warnings, show
from .reading import Result
from .releases import JETPACK, MAJORS, NEWEST_MAJOR

RELEASE_FILE = "/etc/nv_tegra_release"
DPKG_QUERY = ("dpkg-query", "-W", "-f=${db:Status-Abbrev}\\t${Version}\\n", "nvidia-l4t-core")

_LINE = re.compile(
    r"# R(?P<major>[0-9]{2,3}) \(release\), REVISION: (?P<revision>[0-9]{1,4}(?:\.[0-9]{1,4}){0,2}),"
    r" GCID: [0-9]+, BOARD: [^,]+(?:, .*)?"
)
_HEADER = re.compile(rb"# R[0-9]+ \(")
_VERSION = re.compile(r"([0-9]{2,3})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?(?:-[0-9A-Za-z.+~]+)?")


class Release(NamedTuple):
    """A release, padded to three numbers for comparison, and where it came from (``file`` or ``dpkg``)."""

    parts: tuple[int, int, int]
    source: str

    @property
    def text(self) -> str:
        return ".".join(str(number) for number in self.parts)


def parse_release(data: bytes) -> Release:
    """Release from the bytes of ``/etc/nv_tegra_release``. The DATE field is not read: its form changed in R39.

    :raises ProbeError: ``l4t_garbled``.
    """
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    match = _LINE.fullmatch(lines[0].decode("latin-1"))
    if match is None:
        what = "is empty" if not data.strip() else f"starts with {show(lines[0])}"
        raise ProbeError("l4t_garbled", f"{RELEASE_FILE} {what}; that is not the line that an L4T release writes.")
    numbers = [int(number) for number in match["revision"].split(".")]
    # Two numbers follow the major in every release: a third would be a fourth level that no release has.
    if len(numbers) > 2:
        text = f"{RELEASE_FILE} names the revision {match['revision']}, which has one level too many."
        raise ProbeError("l4t_garbled", text)
    numbers += [0] * (2 - len(numbers))
    release = Release((int(match["major"]), numbers[0], numbers[1]), "file")
    for line in lines[1:]:
        if _HEADER.match(line) and line != lines[0]:
            raise ProbeError("l4t_garbled", f"{RELEASE_FILE} names a second release: {show(line)}.")
    return release


def parse_package(result: Result) -> Release | None:
    """Release from the answer of :data:`DPKG_QUERY`; None when the package is not installed.

    :raises ProbeError: ``l4t_unreadable`` (no usable answer), ``dpkg_half_configured``, ``dpkg_version_garbled``.
    """
    if result.missing:
        return None
    if result.stopped:
        raise ProbeError("l4t_unreadable", f"dpkg-query {result.stopped}.")
    if result.rc == 1 and not result.out.strip() and b"no packages found" in result.err:
        return None
    if result.rc != 0:
        raise ProbeError("l4t_unreadable", f"dpkg-query failed with status {result.rc}: {show(result.err.strip())}.")
    lines = list(dict.fromkeys(line for line in result.out.split(b"\n") if line.strip()))
    if len(lines) != 1 or lines[0].count(b"\t") != 1:
        raise ProbeError("l4t_unreadable", f"dpkg-query gave an answer of an unknown form: {show(result.out)}.")
    raw_status, raw_version = lines[0].split(b"\t")
    status = raw_status.decode("latin-1").ljust(3)
    # First letter: what is wanted (a held package reads 'hi'); second: what is; third: R when it must be reinstalled.
    if status[1] in "nc" and status[2:].strip() == "":
        return None
    if status[1] != "i" or status[2:].strip() != "":
        raise ProbeError(
            "dpkg_half_configured",
            f"The package nvidia-l4t-core has the status {show(status.strip())}, neither installed nor absent.",
        )
    match = _VERSION.fullmatch(raw_version.decode("latin-1"))
    if match is None:
        raise ProbeError("dpkg_version_garbled", f"The package nvidia-l4t-core has the version {show(raw_version)}.")
    return Release((int(match[1]), int(match[2]), int(match[3] or 0)), "dpkg")


def decide(data: bytes | None, package: Result, warnings: Warnings) -> Release | None:
    """One release from both sources; None when there is neither file nor package.

    :param data: bytes of the release file, None when it is missing.
    :raises ProbeError: as the two parsers, and ``l4t_sources_disagree``.
    """
    from_file = parse_release(data) if data is not None else None
    try:
        from_package = parse_package(package)
    except ProbeError as exc:
        # Without an answer the file still stands; a half-configured package means that it may be about to change.
        if from_file is None or exc.code != "l4t_unreadable":
            raise
        warnings.add("dpkg_unread", exc.text)
        return from_file
    if from_file and from_package and from_file.parts != from_package.parts:
        raise ProbeError(
            "l4t_sources_disagree",
            f"{RELEASE_FILE} says {from_file.text}, but the installed nvidia-l4t-core is {from_package.text}.",
        )
    return from_file or from_package


def check_pair(soc: str, generation: str, release: Release) -> None:
    """Refuse a release that was never made for the chip.

    :raises ProbeError: ``impossible_pair``.
    """
    if not MAJORS[generation].allow(release.parts[0]):
        raise ProbeError("impossible_pair", f"L4T {release.text} does not exist for the chip {soc}.")


def jetpack_of(release: Release, warnings: Warnings) -> str | None:
    """JetPack by exact table, None on a miss; and the warnings that a release deserves."""
    if release.parts[0] > NEWEST_MAJOR:
        warnings.add("l4t_newer", f"L4T {release.text} is newer than the newest line known here (R{NEWEST_MAJOR}).")
    if release.parts == (36, 4, 7):
        warnings.add("l4t_36_4_7_memory", "L4T 36.4.7 has a security fix that broke large memory allocations.")
    if release.parts[0] == 38:
        warnings.add("r38_page_pool", "On L4T R38 the driver keeps the pages of an ended GPU process in a pool.")
    row = JETPACK.get(release.parts)
    if row is None:
        warnings.add("jetpack_unknown", f"No JetPack is known for L4T {release.text}.")
        return None
    return row[0]
