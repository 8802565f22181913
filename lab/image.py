# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The image of a lab host: a small Debian 12 with systemd and sshd, made from the distribution's packages."""

from __future__ import annotations

import hashlib
from pathlib import Path

from lab.machine import Podman
from lab.paths import LAB, Paths
from lab.shell import run, step

SUITE = "bookworm"
# What a lab host has. libnuma1 and libgomp1 are what vLLM on CPU links to.
PACKAGES = (
    "systemd",
    "systemd-sysv",
    "dbus",
    "libpam-systemd",
    "openssh-server",
    "sudo",
    "python3",
    "ca-certificates",
    "curl",
    "iproute2",
    "iputils-ping",
    "procps",
    "libnuma1",
    "libgomp1",
)
NAME = "localhost/specdec-lab-host"
FILES = LAB / "image" / "files"
CUSTOMIZE = LAB / "image" / "customize.sh"


def make_key(paths: Paths) -> None:
    """The key with which the controller reaches the hosts; made once."""
    if not paths.key.exists():
        paths.cache.mkdir(parents=True, exist_ok=True)
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "specdec-lab", "-f", str(paths.key)])


def tag(public_key: bytes) -> str:
    """The image's name. It changes with everything that goes into the image, so a stale image is never used."""
    digest = hashlib.sha256()
    digest.update(repr((SUITE, PACKAGES)).encode())
    digest.update(public_key)
    for path in sorted([CUSTOMIZE, *(p for p in FILES.rglob("*") if p.is_file())]):
        digest.update(str(path.relative_to(LAB)).encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{NAME}:{digest.hexdigest()[:12]}"


def ensure(paths: Paths, podman: Podman) -> str:
    """Make the image unless it is there; returns its name."""
    make_key(paths)
    public = paths.key.with_suffix(".pub")
    name = tag(public.read_bytes())
    if podman("image", "exists", name, check=False).returncode == 0:
        return name
    tar = paths.cache / "image.tar"
    with step("host image (packages of Debian 12)"):
        run(bootstrap_command(tar, public), timeout_s=1800)
        podman(
            "import",
            "-q",
            "--change",
            'CMD ["/usr/local/sbin/lab-boot"]',
            "--change",
            "STOPSIGNAL SIGRTMIN+3",
            str(tar),
            name,
            timeout_s=600,
        )
        tar.unlink()
    return name


def bootstrap_command(tar: Path, public_key: Path) -> list[str]:
    """The one command that makes the root file system."""
    return [
        "mmdebstrap",
        "--quiet",
        "--variant=minbase",
        f"--include={','.join(PACKAGES)}",
        '--aptopt=Apt::Install-Recommends "false"',
        "--dpkgopt=path-exclude=/usr/share/man/*",
        "--dpkgopt=path-exclude=/usr/share/doc/*",
        "--dpkgopt=path-exclude=/usr/share/locale/*",
        f"--customize-hook=sync-in {FILES} /",
        f'--customize-hook=sh {CUSTOMIZE} "$1" {public_key}',
        SUITE,
        str(tar),
    ]
