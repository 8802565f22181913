# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Chips, modules and carriers of the Jetson line, as data. PRIVATE to this collection.

Sources: the ``compatible`` lists in NVIDIA's device trees and in Linux ``arch/arm64/boot/dts/nvidia``, the pin table of
jetson-gpio at 8e5f0a0, jetson-stats 7.2.2 (facts only), and meta-tegra at d5d93dc. A number that is not here is
reported as read and guessed at in no way.
"""

from __future__ import annotations

from typing import NamedTuple


class Soc(NamedTuple):
    """One chip entry of ``compatible``."""

    generation: str
    compute_capability: str


#: Digits after ``nvidia,tegra`` -> chip. 23x is the generic name that stands beside 234.
SOCS: dict[str, Soc] = {
    "264": Soc("thor", "11.0"),
    "234": Soc("orin", "8.7"),
    "23x": Soc("orin", "8.7"),
    "194": Soc("xavier", "7.2"),
    "186": Soc("tx2", "6.2"),
    "210": Soc("tegra210", "5.3"),
}


class Part(NamedTuple):
    """One module. ``memory_gib`` is the size on its label, None where one number stands for several sizes."""

    family: str
    name: str
    variant: str
    memory_gib: int | None


PARTS: dict[str, Part] = {
    "p3834-0008": Part("thor", "Jetson T5000", "thor-t5000", 128),
    "p3834-0000": Part("thor", "Jetson T4000", "thor-t4000", 64),
    "p3834-0005": Part("thor", "Jetson Thor (early module p3834-0005)", "unknown", None),
    "p3701-0000": Part("agx_orin", "Jetson AGX Orin", "unknown", None),
    "p3701-0001": Part("agx_orin", "Jetson AGX Orin (engineering sample)", "unknown", None),
    "p3701-0002": Part("agx_orin", "IGX Orin (p3701-0002)", "unknown", None),
    "p3701-0004": Part("agx_orin", "Jetson AGX Orin 32GB", "orin-agx-32gb", 32),
    "p3701-0005": Part("agx_orin", "Jetson AGX Orin 64GB", "orin-agx-64gb", 64),
    "p3701-0008": Part("agx_orin", "Jetson AGX Orin Industrial / IGX Orin", "orin-agx-industrial", 64),
    "p3767-0000": Part("orin_nx", "Jetson Orin NX 16GB", "orin-nx-16gb", 16),
    "p3767-0001": Part("orin_nx", "Jetson Orin NX 8GB", "orin-nx-8gb", 8),
    "p3767-0002": Part("orin_nx", "Jetson Orin NX 16GB (p3767-0002)", "orin-nx-16gb", 16),
    "p3767-0003": Part("orin_nano", "Jetson Orin Nano 8GB", "orin-nano-8gb", 8),
    "p3767-0004": Part("orin_nano", "Jetson Orin Nano 4GB", "orin-nano-4gb", 4),
    "p3767-0005": Part("orin_nano", "Jetson Orin Nano 8GB (developer kit)", "orin-nano-8gb", 8),
    "p2888-0001": Part("agx_xavier", "Jetson AGX Xavier", "unknown", None),
    "p2888-0004": Part("agx_xavier", "Jetson AGX Xavier 32GB", "unknown", 32),
    "p2888-0006": Part("agx_xavier", "Jetson AGX Xavier 8GB", "unknown", 8),
    "p3668-0000": Part("xavier_nx", "Jetson Xavier NX (developer kit)", "unknown", None),
    "p3668-0001": Part("xavier_nx", "Jetson Xavier NX", "unknown", None),
    "p3668-0003": Part("xavier_nx", "Jetson Xavier NX 16GB", "unknown", 16),
    "p3636-0001": Part("tx2", "Jetson TX2 NX", "unknown", None),
    "p3310-1000": Part("tx2", "Jetson TX2", "unknown", None),
    "p3448-0000": Part("nano", "Jetson Nano (developer kit)", "unknown", None),
    "p3448-0002": Part("nano", "Jetson Nano", "unknown", None),
    "p2180-1000": Part("tx1", "Jetson TX1", "unknown", None),
}

#: First half of a module number -> family, where it decides. p3767 does not: it is Orin NX and Orin Nano.
MODULE_PREFIXES: dict[str, str | None] = {
    "p3834": "thor",
    "p3701": "agx_orin",
    "p3767": None,
    "p2888": "agx_xavier",
    "p3668": "xavier_nx",
    "p3636": "tx2",
    "p3489": "tx2",
    "p3310": "tx2",
    "p3448": "nano",
    "p2180": "tx1",
}

#: Whole entries (after ``nvidia,``) that name a board and by it a family, used on releases without a module entry.
NAMED_BOARDS: dict[str, str] = {
    "p2972-0000": "agx_xavier",
    "p2972-0006": "agx_xavier",
    "jetson-xavier": "agx_xavier",
    "jetson-xavier-industrial": "agx_xavier",
    "galen-industrial": "agx_xavier",
    "p2771-0000": "tx2",
    "quill": "tx2",
    "lightning": "tx2",
    "storm": "tx2",
    "lanai-3636": "tx2",
    "p3450-0000": "nano",
    "p3450-0002": "nano",
    "p3541-0000": "nano",
    "jetson-nano": "nano",
    "p2371-2180": "tx1",
    "jetson-cv": "tx1",
}

#: First half of the numbers of NVIDIA's own carriers. Another number is a third party's and is reported as read.
CARRIER_PREFIXES = frozenset(
    {
        "p4071",
        "p3971",
        "p3740",
        "p3737",
        "p3768",
        "p3509",
        "p3449",
        "p2822",
        "p2972",
        "p2771",
        "p2597",
        "p2371",
        "p3450",
        "p3541",
    }
)

#: Family -> generation of its chip.
GENERATIONS: dict[str, str] = {
    "thor": "thor",
    "agx_orin": "orin",
    "orin_nx": "orin",
    "orin_nano": "orin",
    "agx_xavier": "xavier",
    "xavier_nx": "xavier",
    "tx2": "tx2",
    "nano": "tegra210",
    "tx1": "tegra210",
}

#: Family -> (sku, product_line) in the vocabulary of NVIDIA's detect_jetson.sh, which knows only these.
NVIDIA_NAMES: dict[str, tuple[str, str]] = {
    "thor": ("thor", "thor-agx"),
    "agx_orin": ("orin-agx", "orin-agx"),
    "orin_nx": ("orin-nx", "orin-nx"),
    "orin_nano": ("orin-nano", "orin-nano"),
}

#: Parts that come with several sizes: (least MiB, at most MiB, variant). MemTotal is a bit less than the label says.
MEMORY_VARIANTS: dict[str, tuple[tuple[int, int, str], ...]] = {
    "p3701-0000": ((28 * 1024, 32 * 1024, "orin-agx-32gb"), (56 * 1024, 64 * 1024, "orin-agx-64gb")),
}
