# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""What makes a lab host a Jetson: files laid over the real paths, with the content that real devices have. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomllib

from lab.paths import LAB
from lab.shell import LabError


@dataclass(frozen=True)
class Host:
    """One lab host. Memory is in MiB; a host without `compatible` has no files laid over it."""

    name: str
    address: str
    release: str = ""
    model: str = ""
    compatible: tuple[str, ...] = ()
    mem_total: int = 0
    mem_available: int = 0
    serves: str = ""

    @property
    def container(self) -> str:
        """The container's name; everything that the lab creates begins with this."""
        return f"specdec-lab-{self.name}"

    @property
    def is_jetson(self) -> bool:
        return bool(self.compatible)


@dataclass(frozen=True)
class Fleet:
    """All hosts of the lab, by name, and the network in which they lie."""

    subnet: str
    hosts: Mapping[str, Host]

    def chosen(self, names: list[str]) -> list[Host]:
        """The hosts with these names, all if none is named. Raises LabError for a name that does not exist."""
        unknown = [name for name in names if name not in self.hosts]
        if unknown:
            raise LabError(f"no lab host is named {', '.join(unknown)}; there are {', '.join(self.hosts)}")
        return [self.hosts[name] for name in names] if names else list(self.hosts.values())


def load_fleet(path: Path = LAB / "hosts.toml") -> Fleet:
    """Read the hosts. Raises LabError if an entry has a key that does not exist or lacks one."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    hosts: dict[str, Host] = {}
    for name, entry in data["hosts"].items():
        fields: dict[str, Any] = {**entry, "compatible": tuple(entry.get("compatible", ()))}
        try:
            hosts[name] = Host(name=name, **fields)
        except TypeError as exc:
            raise LabError(f"{path.name}, host {name}: {exc}") from exc
    return Fleet(subnet=data["subnet"], hosts=hosts)


def nv_tegra_release(line: str) -> bytes:
    """The whole file, in the form of L4T R36 and later."""
    return (
        f"{line}\n"
        "# KERNEL_VARIANT: oot\n"
        "TARGET_USERSPACE_LIB_DIR=nvidia\n"
        "TARGET_USERSPACE_LIB_DIR_PATH=usr/lib/aarch64-linux-gnu/nvidia\n"
    ).encode("ascii")


def device_tree(*strings: str) -> bytes:
    """A property of the device tree: each string ends in NUL."""
    return b"".join(text.encode("ascii") + b"\0" for text in strings)


def meminfo(total_mib: int, available_mib: int) -> bytes:
    """/proc/meminfo for a module of that size.

    What is not available is taken by processes and the kernel; of what is available, a third is page cache, so that
    MemFree is well below MemAvailable, as on a device that has read a model from its disk.
    """
    if not 0 < available_mib <= total_mib:
        raise LabError(f"{available_mib} MiB of {total_mib} MiB cannot be available")
    total, available = total_mib * 1024, available_mib * 1024
    free = available * 2 // 3
    cached = available - free
    used = total - available
    rows = (
        ("MemTotal", total),
        ("MemFree", free),
        ("MemAvailable", available),
        ("Buffers", cached // 20),
        ("Cached", cached - cached // 20),
        ("SwapCached", 0),
        ("Active", used // 2 + cached // 2),
        ("Inactive", cached // 2),
        ("Active(anon)", used // 2),
        ("Inactive(anon)", 0),
        ("Active(file)", cached // 2),
        ("Inactive(file)", cached // 2),
        ("Unevictable", 0),
        ("Mlocked", 0),
        ("SwapTotal", 0),
        ("SwapFree", 0),
        ("Dirty", 0),
        ("Writeback", 0),
        ("AnonPages", used // 2),
        ("Mapped", used // 8),
        ("Shmem", used // 50),
        ("KReclaimable", cached // 30),
        ("Slab", used // 10),
        ("SReclaimable", cached // 30),
        ("SUnreclaim", used // 20),
        ("CommitLimit", total // 2),
        ("Committed_AS", used),
    )
    return "".join(f"{name + ':':<15}{value:>9} kB\n" for name, value in rows).encode("ascii")


def overlays(host: Host) -> dict[str, str]:
    """What is mounted where: path below the host's files folder to path on the host."""
    if not host.is_jetson:
        return {}
    return {
        "nv_tegra_release": "/etc/nv_tegra_release",
        # The whole folder: on a machine that is no Jetson there is no devicetree in it that could be covered.
        "firmware": "/sys/firmware",
        "meminfo": "/proc/meminfo",
    }


def files(host: Host) -> dict[str, bytes]:
    """The content of every file below the host's files folder."""
    if not host.is_jetson:
        return {}
    base = "firmware/devicetree/base"
    return {
        "nv_tegra_release": nv_tegra_release(host.release),
        f"{base}/model": device_tree(host.model),
        f"{base}/compatible": device_tree(*host.compatible),
        "meminfo": meminfo(host.mem_total, host.mem_available),
    }
