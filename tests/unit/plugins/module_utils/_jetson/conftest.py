# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""A host made of plain files in a temporary folder, read by the real reading layer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.jetson.specdec.plugins.module_utils._jetson.reading import Reader

TREE = "/sys/firmware/devicetree/base"
NO_PACKAGE = "echo 'dpkg-query: no packages found matching nvidia-l4t-core' >&2; exit 1"


class FakeHost:
    def __init__(self, root: Path) -> None:
        self.root = root

    def file(self, path: str, data: bytes) -> FakeHost:
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        return self

    def command(self, name: str, script: str) -> FakeHost:
        self.file(f"/usr/bin/{name}", f"#!/bin/sh\n{script}\n".encode())
        (self.root / "usr/bin" / name).chmod(0o755)
        return self

    def compatible(self, data: bytes) -> FakeHost:
        return self.file(f"{TREE}/compatible", data)

    def release(self, major: int, revision: str) -> FakeHost:
        line = f"# R{major} (release), REVISION: {revision}, GCID: 43443517, BOARD: generic, EABI: aarch64, DATE: x y"
        return self.file("/etc/nv_tegra_release", line.encode() + b"\n# KERNEL_VARIANT: oot\n")

    def package(self, status: str, version: str) -> FakeHost:
        return self.command("dpkg-query", f"printf '%s\\t%s\\n' '{status}' '{version}'")

    def no_package(self) -> FakeHost:
        return self.command("dpkg-query", NO_PACKAGE)

    def memory(self, total_mib: int, available_mib: int = 2048) -> FakeHost:
        text = (
            f"MemTotal:       {total_mib * 1024} kB\nMemFree:          102400 kB\n"
            f"MemAvailable:   {available_mib * 1024} kB\nSwapTotal:       1048576 kB\nSwapFree:         524288 kB\n"
        )
        return self.file("/proc/meminfo", text.encode())

    def reader(self, **kwargs: Any) -> Reader:
        kwargs.setdefault("machine", "aarch64")
        return Reader(str(self.root), **kwargs)


@pytest.fixture
def host(tmp_path: Path) -> FakeHost:
    """An aarch64 host with 15656 MiB, a boot id and systemd, and nothing else."""
    fake = FakeHost(tmp_path / "host")
    fake.file("/proc/sys/kernel/random/boot_id", b"0d8f3c1e-0c7f-4b8e-9d5a-0f5f4f2f7f11\n")
    fake.file("/proc/1/comm", b"systemd\n")
    return fake.memory(15656)
