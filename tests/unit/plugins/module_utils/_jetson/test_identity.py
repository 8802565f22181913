# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""`compatible` lists of real hosts, and lists that no host can have, against the right verdict."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.jetson.specdec.plugins.module_utils._jetson.errors import ProbeError, Warnings
from ansible_collections.jetson.specdec.plugins.module_utils._jetson.identity import (
    Identity,
    identify,
    split_compatible,
    variant_of,
)

ORIN = b"nvidia,tegra234\0"
ORIN_R35 = b"nvidia,tegra234\0nvidia,tegra23x\0"
THOR = b"nvidia,tegra264\0"


def run(data: bytes) -> tuple[Identity | None, list[str]]:
    warnings = Warnings()
    identity = identify(split_compatible(data), warnings)
    return identity, [row["code"] for row in warnings.rows]


GOOD = {
    "F01 Thor developer kit": (
        b"nvidia,p4071-0000+p3834-0008\0nvidia,p3834-0008\0" + THOR,
        dict(family="thor", soc="tegra264", module="p3834-0008", carrier="p4071-0000", compute_capability="11.0"),
        [],
    ),
    "F02 Thor, factory firmware": (
        b"nvidia,p4071-0080+p3834-0008\0nvidia,p4071-0089+p3834-0008\0nvidia,p3834-0008\0" + THOR,
        dict(family="thor", module="p3834-0008", carrier="p4071-0080"),
        [],
    ),
    "F03 T4000": (
        b"nvidia,p4071-0000+p3834-0000\0nvidia,p3834-0000\0" + THOR,
        dict(family="thor", module="p3834-0000"),
        [],
    ),
    "F04 Thor on a third party's carrier": (
        b"nvidia,p8181-0001+p3834-0008\0nvidia,p3834-0008\0" + THOR,
        dict(family="thor", module="p3834-0008", carrier="p8181-0001"),
        ["carrier_unknown"],
    ),
    "F05 the Thor chip alone": (
        THOR,
        dict(family="thor", module=None, carrier=None),
        ["module_unknown", "carrier_unknown"],
    ),
    "F06 AGX Orin on R35": (
        b"nvidia,p3737-0000+p3701-0000\0" + ORIN_R35,
        dict(family="agx_orin", soc="tegra234", module="p3701-0000", carrier="p3737-0000", compute_capability="8.7"),
        [],
    ),
    "F07 Orin Nano on R35 lists two modules of one kind": (
        b"nvidia,p3768-0000+p3767-0003\0nvidia,p3768-0000+p3767-0005\0nvidia,p3767-0003\0nvidia,p3767-0005\0"
        + ORIN_R35,
        dict(family="orin_nano", module="p3767-0003"),
        [],
    ),
    "F08 Orin Nano Super": (
        b"nvidia,p3768-0000+p3767-0005-super\0nvidia,p3767-0005\0" + ORIN,
        dict(family="orin_nano", module="p3767-0005", suffix="super"),
        [],
    ),
    "F09 Orin NX on R36": (
        b"nvidia,p3768-0000+p3767-0000\0nvidia,p3767-0000\0" + ORIN,
        dict(family="orin_nx", module="p3767-0000"),
        [],
    ),
    "F10 Orin NX that plays an Orin Nano": (
        b"nvidia,p3768-0000+p3767-0000-as-p3767-0003\0nvidia,p3767-0000\0" + ORIN_R35,
        dict(family="orin_nano", module="p3767-0003", emulated_on="p3767-0000"),
        ["module_emulated"],
    ),
    "F10 AGX Orin that plays an Orin NX": (
        b"nvidia,p3737-0000+p3701-0000-as-p3767-0000\0" + ORIN_R35,
        dict(family="orin_nx", module="p3767-0000", emulated_on="p3701-0000"),
        ["module_emulated"],
    ),
    "F11 IGX Orin": (
        b"nvidia,p3740-0002+p3701-0008\0" + ORIN,
        dict(family="agx_orin", module="p3701-0008", carrier="p3740-0002"),
        [],
    ),
    "F12 AGX Xavier": (
        b"nvidia,p2972-0000\0nvidia,jetson-xavier\0nvidia,tegra194\0",
        dict(family="agx_xavier", generation="xavier", module=None, carrier="p2972-0000"),
        [],
    ),
    "Xavier NX": (
        b"nvidia,p3509-0000+p3668-0001\0nvidia,tegra194\0",
        dict(family="xavier_nx", module="p3668-0001"),
        [],
    ),
    "Orin NX on the Xavier NX carrier a02": (
        b"nvidia,p3509-a02+p3767-0001\0" + ORIN_R35,
        dict(family="orin_nx", module="p3767-0001", carrier="p3509-a02"),
        [],
    ),
    "Nano": (
        b"nvidia,p3450-0000\0nvidia,jetson-nano\0nvidia,tegra210\0",
        dict(family="nano", carrier="p3450-0000"),
        [],
    ),
    "Orin NX PX1": (
        b"nvidia,p3768-0000+p3767-0000-px1\0nvidia,p3767-0000\0" + ORIN,
        dict(family="orin_nx", suffix="px1"),
        [],
    ),
    "a new Orin module: neither NX nor Nano is guessed": (
        b"nvidia,p3768-0000+p3767-0009\0nvidia,p3767-0009\0" + ORIN,
        dict(family=None, generation="orin", module="p3767-0009"),
        ["module_unknown", "module_unknown"],
    ),
    "a new Thor module": (
        b"nvidia,p4071-0000+p3834-0009\0" + THOR,
        dict(family="thor", module="p3834-0009"),
        ["module_unknown"],
    ),
    "an Orin chip alone is no AGX Orin": (
        ORIN_R35,
        dict(family=None, module=None, soc="tegra234"),
        ["module_unknown", "carrier_unknown"],
    ),
    "Nano of 4 or of 8 GB is not rounded up": (
        b"nvidia,p3768-0000+p3767-0003\0nvidia,p3768-0000+p3767-0004\0" + ORIN,
        dict(family="orin_nano", module=None),
        ["module_ambiguous", "module_unknown"],
    ),
    "other vendors' entries don't disturb": (
        b"seeed,recomputer-j4012\0nvidia,p3768-0000+p3767-0000\0" + ORIN,
        dict(family="orin_nx", module="p3767-0000"),
        [],
    ),
    "a board entry of a new form": (
        b"nvidia,p3768-0000+p3767-0000-hyper\0nvidia,p3767-0000\0" + ORIN,
        dict(family="orin_nx", module="p3767-0000"),
        ["board_entry_unknown", "carrier_unknown"],
    ),
}


@pytest.mark.parametrize(("data", "expected", "codes"), GOOD.values(), ids=GOOD.keys())
def test_real_hosts(data: bytes, expected: dict[str, Any], codes: list[str]) -> None:
    identity, warned = run(data)
    assert identity is not None
    assert {key: getattr(identity, key) for key in expected} == expected
    assert warned == codes


@pytest.mark.parametrize(
    "data",
    [
        b"raspberrypi,5-model-b\0brcm,bcm2712\0",
        b"linux,dummy-virt\0",
        b"radxa,rock-5b\0rockchip,rk3588\0",
        b"apple,j274\0Power Macintosh\0",
    ],
)
def test_other_boards_are_no_tegra(data: bytes) -> None:
    assert run(data) == (None, [])


BAD = {
    "empty": (b"", "compatible_garbled"),
    "only NULs": (b"\0\0", "compatible_garbled"),
    "F57 glued by a shell": (b"nvidia,p4071-0000+p3834-0008nvidia,p3834-0008nvidia,tegra264", "compatible_glued"),
    "F57 glued, with a NUL at the end": (b"nvidia,p3834-0008nvidia,tegra264\0", "compatible_glued"),
    "glued beside a good entry": (b"nvidia,p3834-0008nvidia,tegra264\0nvidia,tegra264\0", "compatible_glued"),
    "F58 two chips": (b"nvidia,tegra264\0nvidia,tegra234\0", "two_families"),
    "two module families": (b"nvidia,p3701-0005\0nvidia,p3767-0000\0" + ORIN, "two_families"),
    "a Thor module on an Orin chip": (b"nvidia,p4071-0000+p3834-0008\0" + ORIN, "module_soc_mismatch"),
    "an Orin module on a Thor chip": (b"nvidia,p3737-0000+p3701-0005\0" + THOR, "module_soc_mismatch"),
    "an unknown Orin module on a Thor chip": (b"nvidia,p3768-0000+p3767-0009\0" + THOR, "module_soc_mismatch"),
    "a chip of tomorrow": (b"nvidia,tegra999\0", "soc_unknown"),
    "tegra, but no chip": (b"nvidia,tegra\0", "soc_missing"),
    "wrong case": (b"NVIDIA,Tegra264\0", "soc_missing"),
    "a module without a chip": (b"nvidia,p3834-0008\0", "soc_missing"),
    "a named board without a chip": (b"nvidia,jetson-xavier\0", "soc_missing"),
    "cut inside the chip": (b"nvidia,p3834-0008\0nvidia,tegra26", "compatible_garbled"),
    "line end instead of NUL": (b"nvidia,p3834-0008\0nvidia,tegra264\0\n", "compatible_garbled"),
    "byte order mark": (b"\xef\xbb\xbfnvidia,tegra264\0", "compatible_garbled"),
    "UTF-16": ("nvidia,tegra264\0".encode("utf-16-le"), "compatible_garbled"),
    "bytes of an erased EEPROM": (
        b"nvidia,p\xff\xff\xff\xff-\xff\xff\xff\xff\0nvidia,tegra234\0",
        "compatible_garbled",
    ),
}


@pytest.mark.parametrize(("data", "code"), BAD.values(), ids=BAD.keys())
def test_impossible_trees_are_named_errors(data: bytes, code: str) -> None:
    with pytest.raises(ProbeError) as caught:
        run(data)
    assert caught.value.code == code
    assert caught.value.text.isprintable() and caught.value.text.endswith(".")


@pytest.mark.parametrize(
    ("module", "total_mib", "variant", "codes"),
    [
        ("p3834-0008", 125772, "thor-t5000", []),
        ("p3834-0008", None, "thor-t5000", []),
        ("p3834-0000", None, "thor-t4000", []),
        ("p3701-0000", 62841, "orin-agx-64gb", []),
        ("p3701-0000", 30697, "orin-agx-32gb", []),
        ("p3701-0000", 48 * 1024, "unknown", ["variant_unknown"]),
        ("p3701-0000", 125772, "unknown", ["variant_unknown"]),
        ("p3701-0000", None, "unknown", ["variant_unknown"]),
        ("p3767-0005", 7486, "orin-nano-8gb", []),
        ("p3767-0003", 62841, "orin-nano-8gb", ["memory_implausible"]),
        ("p3834-0009", 125772, "unknown", []),
        (None, 125772, "unknown", []),
    ],
)
def test_variant(module: str | None, total_mib: int | None, variant: str, codes: list[str]) -> None:
    warnings = Warnings()
    assert variant_of(module, total_mib, warnings) == variant
    assert [row["code"] for row in warnings.rows] == codes
