# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Where the lab keeps its things: everything that is costly to make lies in one cache folder outside the checkout."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

LAB = Path(__file__).resolve().parent
DEFAULT_CACHE = "/var/cache/jetson-specdec"


@dataclass(frozen=True)
class Paths:
    """All folders and files outside the checkout. `vllm` and `models` have the same path on the lab hosts."""

    cache: Path

    @property
    def vllm(self) -> Path:
        return self.cache / "vllm"

    @property
    def vllm_cache(self) -> Path:
        """What vLLM found out about model classes, so that a first start on a host need not find it out again."""
        return self.cache / "vllm-cache"

    @property
    def models(self) -> Path:
        return self.cache / "models"

    @property
    def key(self) -> Path:
        return self.cache / "id_ed25519"

    @property
    def known_hosts(self) -> Path:
        return self.cache / "known_hosts"

    @property
    def ssh_config(self) -> Path:
        """For `ssh -F`: the hosts by name."""
        return self.cache / "ssh_config"

    @property
    def connections(self) -> Path:
        """Sockets of the ssh connections that Ansible keeps open, as the inventory says."""
        return self.cache / "ssh"

    @property
    def podman(self) -> Path:
        return self.cache / "podman"

    @property
    def podman_run(self) -> Path:
        """What podman must forget when the machine boots. /run is emptied then; the name keeps two caches apart."""
        name = hashlib.sha256(str(self.cache).encode()).hexdigest()[:8]
        return Path("/run/jetson-specdec-lab") / name

    def host_files(self, name: str) -> Path:
        """The files that are laid over real paths of one host."""
        return self.cache / "hosts" / name


def from_environment() -> Paths:
    """The cache folder, by JETSON_SPECDEC_CACHE if that is set."""
    return Paths(Path(os.environ.get("JETSON_SPECDEC_CACHE") or DEFAULT_CACHE).absolute())
