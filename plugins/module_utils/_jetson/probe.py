# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The probe: puts identity, release and memory together into one truthful answer. PRIVATE to this collection."""

from __future__ import annotations

import os
import platform
import re
import sys
from typing import Any, Collection

from .errors import ProbeError, Warnings, show
from .identity import Identity, identify, split_compatible, variant_of
from .l4t import DPKG_QUERY, RELEASE_FILE, Release, check_pair, decide, jetpack_of
from .memory import MEMINFO, SWAPS, Memory, parse_meminfo, zram_kib
from .reading import Reader, Unreadable, text_of
from .tables import NVIDIA_NAMES, PARTS

COMPATIBLE = "/sys/firmware/devicetree/base/compatible"
COMPATIBLE_SECOND = "/proc/device-tree/compatible"
MODEL = "/sys/firmware/devicetree/base/model"
SOC_FAMILY = "/sys/devices/soc0/family"
DMI_PRODUCT = "/sys/class/dmi/id/product_name"
BOOT_ID = "/proc/sys/kernel/random/boot_id"

#: What an init calls itself in /proc/1/comm. Any other first process means an application container.
_INITS = frozenset({"systemd", "init", "openrc-init", "runit", "s6-svscan"})
_CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv", "/run/systemd/container")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
#: A clock before this (2025-01-01) has lost its time: everything supported here is younger.
_EARLIEST_CLOCK_S = 1735689600

PARTS_OF_PROBE = ("identity", "memory")


def probe(reader: Reader, gather: Collection[str] = PARTS_OF_PROBE) -> dict[str, Any]:
    """Everything that was asked for, as plain data; keys that were not gathered are None.

    :param gather: parts out of :data:`PARTS_OF_PROBE`.
    :raises ProbeError: the host contradicts itself, or cannot be read where an answer would be a guess.
    """
    warnings = Warnings()
    facts = _empty()
    facts.update(_base(reader, warnings))
    facts["gathered"] = [part for part in PARTS_OF_PROBE if part in gather]

    memory, memory_error = _memory(reader)
    identity = None
    if "identity" in gather:
        identity = _identity(reader, warnings)
        if identity is None:
            facts.update(_not_a_jetson(reader))
        else:
            facts.update(_jetson(reader, identity, memory.total_kib // 1024 if memory else None, warnings))
    if "memory" in gather:
        if memory is not None:
            facts.update(_memory_facts(reader, memory))
        elif identity is None and "identity" in gather:
            # On a host that no rule applies to, a broken meminfo must not hide the clean answer.
            warnings.add("memory_unread", memory_error.text if memory_error else "")
        elif memory_error is not None:
            raise memory_error
    facts["warnings"] = warnings.rows
    return facts


def _empty() -> dict[str, Any]:
    keys = (
        "is_jetson why_not family soc module module_name carrier model emulated_on l4t l4t_parts l4t_source jetpack"
        " compute_capability mem_total_mib mem_available_mib swap_total_mib swap_free_mib zram_mib mem_total_gb"
    )
    facts: dict[str, Any] = dict.fromkeys(keys.split())
    facts.update(dict.fromkeys(("sku", "generation", "product_line", "variant", "l4t_version"), "unknown"), super=False)
    return facts


def _base(reader: Reader, warnings: Warnings) -> dict[str, Any]:
    boot_id = text_of(reader, BOOT_ID)
    if boot_id is None or not _UUID.fullmatch(boot_id):
        warnings.add("not_read", f"{BOOT_ID} gave no boot id.")
        boot_id = None
    now = reader.clock()
    if now < _EARLIEST_CLOCK_S:
        text = f"The clock of the host stands at {int(now)} seconds after 1970, before 2025."
        warnings.add("clock_wrong", text)
    return {
        "boot_id": boot_id,
        "architecture": reader.machine,
        "hostname": show(os.uname().nodename)[1:-1],
        "python": {"executable": sys.executable, "version": platform.python_version()},
    }


def _identity(reader: Reader, warnings: Warnings) -> Identity | None:
    data = reader.read(COMPATIBLE)
    second = reader.read(COMPATIBLE_SECOND)
    if data is not None and second is not None and data != second:
        raise ProbeError("compatible_witnesses_differ", f"{COMPATIBLE} and {COMPATIBLE_SECOND} differ.")
    data = data if data is not None else second
    identity = identify(split_compatible(data), warnings) if data is not None else None
    dmi = text_of(reader, DMI_PRODUCT) or ""
    family = text_of(reader, SOC_FAMILY) or ""
    if identity is None:
        for path, said, word in ((SOC_FAMILY, family, "tegra"), (DMI_PRODUCT, dmi, "jetson")):
            if word in said.lower():
                raise ProbeError(
                    "witnesses_disagree", f"{path} says {show(said)}, but the device tree names no Tegra chip."
                )
        if data is None and reader.machine == "aarch64" and _container(reader) == "application":
            text = "The host is a container that hides the device tree, so nobody can tell what it runs on."
            raise ProbeError("inside_container", text)
        return None
    other = {"thor": "orin", "orin": "thor"}.get(identity.generation)
    if "jetson" in dmi.lower() and other is not None and other in dmi.lower():
        text = f"{DMI_PRODUCT} says {show(dmi)}, but the device tree names the chip {identity.soc}."
        raise ProbeError("witnesses_disagree", text)
    if reader.machine != "aarch64":
        text = f"The device tree names the chip {identity.soc}, but the machine is {reader.machine}."
        warnings.add("not_aarch64", text)
    return identity


def _container(reader: Reader) -> str | None:
    """``system`` or ``unknown`` or ``application`` for a container, by what its first process is; None for none."""
    if not any(reader.exists(mark) for mark in _CONTAINER_MARKS):
        return None
    first = text_of(reader, "/proc/1/comm")
    if first is None:
        return "unknown"
    return "system" if first in _INITS else "application"


def _not_a_jetson(reader: Reader) -> dict[str, Any]:
    data = reader.read(RELEASE_FILE)
    if data is not None and data.strip():
        raise ProbeError("l4t_without_tegra", f"{RELEASE_FILE} is there, but the device tree names no Tegra chip.")
    compatible = text_of(reader, COMPATIBLE) or text_of(reader, COMPATIBLE_SECOND)
    dmi = text_of(reader, DMI_PRODUCT)
    if compatible is not None:
        first = compatible.split("\\x00")[0]
        why = f"The device tree names {first}, not an NVIDIA Tegra chip."
    elif dmi is not None and "spark" in dmi.lower():
        why = f"The host is a {dmi}: it has an NVIDIA chip, but it is not of the Jetson line."
    else:
        why = f"The host ({reader.machine}) has no device tree, so it is not a Jetson."
    return {"is_jetson": False, "why_not": why, "model": text_of(reader, MODEL)}


def _jetson(reader: Reader, identity: Identity, total_mib: int | None, warnings: Warnings) -> dict[str, Any]:
    release = _release(reader, identity, warnings)
    check_pair(identity.soc, identity.generation, release)
    part = PARTS.get(identity.module or "")
    sku, product_line = NVIDIA_NAMES.get(identity.family or "", ("unknown", "unknown"))
    return {
        "is_jetson": True,
        "family": identity.family,
        "soc": identity.soc,
        "module": identity.module,
        "module_name": part.name if part else None,
        "carrier": identity.carrier,
        "model": text_of(reader, MODEL),
        "super": identity.suffix == "super",
        "emulated_on": identity.emulated_on,
        "l4t": release.text,
        "l4t_parts": list(release.parts),
        "l4t_source": release.source,
        "l4t_version": release.text,
        "jetpack": jetpack_of(release, warnings),
        "compute_capability": identity.compute_capability,
        "sku": sku,
        "generation": identity.generation,
        "product_line": product_line,
        "variant": variant_of(identity.module, total_mib, warnings),
    }


def _release(reader: Reader, identity: Identity, warnings: Warnings) -> Release:
    container = _container(reader)
    data = reader.read(RELEASE_FILE)
    if container is not None and (container == "application" or (data is not None and not data.strip())):
        text = f"The device tree names the chip {identity.soc}, but this is a container, not the host."
        raise ProbeError("inside_container", text)
    release = decide(data, reader.run_all([DPKG_QUERY])[0], warnings)
    if release is None:
        if container is not None:
            text = f"The device tree names the chip {identity.soc}, but this container has no L4T."
            raise ProbeError("inside_container", text)
        text = f"The chip is a {identity.soc}, but there is neither {RELEASE_FILE} nor an installed nvidia-l4t-core."
        raise ProbeError("tegra_without_l4t", text)
    if container is not None:
        warnings.add("container_with_init", "The host carries the marks of a container.")
    return release


def _memory(reader: Reader) -> tuple[Memory | None, ProbeError | None]:
    try:
        data = reader.read(MEMINFO)
        if data is None:
            return None, ProbeError("meminfo_garbled", f"{MEMINFO} is missing.")
        return parse_meminfo(data), None
    except ProbeError as exc:
        return None, exc


def _memory_facts(reader: Reader, memory: Memory) -> dict[str, Any]:
    try:
        swaps = reader.read(SWAPS)
    except Unreadable:
        swaps = None
    return {
        "mem_total_mib": memory.total_kib // 1024,
        "mem_available_mib": memory.available_kib // 1024,
        "swap_total_mib": None if memory.swap_total_kib is None else memory.swap_total_kib // 1024,
        "swap_free_mib": None if memory.swap_free_kib is None else memory.swap_free_kib // 1024,
        "zram_mib": None if swaps is None else zram_kib(swaps) // 1024,
        # Rounded as NVIDIA's detect_jetson.sh does it.
        "mem_total_gb": int(memory.total_kib / 1024 / 1024 + 0.5),
    }
