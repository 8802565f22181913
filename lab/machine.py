# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The machine that the lab runs on: distribution packages, podman's settings, the network."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess

from lab.paths import Paths
from lab.shell import LabError, run, step, write_whole

PACKAGES = ("podman", "runc", "netavark", "iptables", "iproute2", "openssh-client", "mmdebstrap", "python3-venv")
NETWORK = "specdec-lab"
# The default of 128 ends at about 20 hosts with systemd.
INOTIFY_INSTANCES = 8192

STORAGE_CONF = """\
[storage]
driver = "overlay"
runroot = "{run}/storage"
graphroot = "{store}"
"""

# runc: crun refuses a machine whose cgroups are in hybrid mode. Limits are named because podman's own defaults are
# above what a machine without CAP_SYS_RESOURCE may set.
CONTAINERS_CONF = """\
[containers]
default_ulimits = ["nofile=20000:20000", "nproc=20000:20000"]
[engine]
cgroup_manager = "cgroupfs"
runtime = "runc"
events_logger = "file"
tmp_dir = "{run}/libpod"
[network]
network_backend = "netavark"
network_config_dir = "{networks}"
"""


def install_packages() -> None:
    """Install what is missing, from the distribution only."""
    seen = run(["dpkg-query", "-W", "-f=${Package} ${db:Status-Abbrev}\n", *PACKAGES], check=False).stdout
    there = {line.split()[0] for line in seen.splitlines() if line.split()[1:] == ["ii"]}
    missing = [package for package in PACKAGES if package not in there]
    if not missing:
        return
    if os.geteuid() != 0:
        raise LabError(f"packages are missing ({' '.join(missing)}): run this as root")
    with step(f"packages: {' '.join(missing)}"):
        quiet = {"DEBIAN_FRONTEND": "noninteractive"}
        run(["apt-get", "update", "-q"], env=quiet)
        run(["apt-get", "install", "-q", "-y", "--no-install-recommends", *missing], env=quiet, timeout_s=1200)


class Podman:
    """Podman with a store, settings and networks of the lab's own: it sees nothing else on the machine."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._env = {
            "CONTAINERS_STORAGE_CONF": str(paths.podman / "storage.conf"),
            "CONTAINERS_CONF": str(paths.podman / "containers.conf"),
        }

    @property
    def env(self) -> dict[str, str]:
        """What somebody who runs podman by hand has to export to see the lab."""
        return dict(self._env)

    def configure(self) -> None:
        """Write the settings; has to be done before any other call."""
        root, run_dir = self._paths.podman, self._paths.podman_run
        networks = root / "networks"
        for folder in (networks, root / "store", run_dir):
            folder.mkdir(parents=True, exist_ok=True)
        write_whole(root / "storage.conf", STORAGE_CONF.format(run=run_dir, store=root / "store"))
        write_whole(root / "containers.conf", CONTAINERS_CONF.format(run=run_dir, networks=networks))

    def __call__(
        self, *arguments: str, check: bool = True, stdin: str | None = None, timeout_s: float = 120.0
    ) -> CompletedProcess[str]:
        return run(["podman", *arguments], env=self._env, check=check, stdin=stdin, timeout_s=timeout_s)

    def lines(self, *arguments: str) -> Sequence[str]:
        """The non-empty lines that a podman command prints."""
        return [line for line in self(*arguments).stdout.splitlines() if line.strip()]


def open_network(podman: Podman, subnet: str) -> None:
    """Create the lab's bridge.

    Hosts reach each other and the machine: they drop their default route when they boot (podman's own `--internal`
    gives the bridge no address, so that the machine could not reach them). A route to nowhere lies behind the bridge:
    traffic for a lab host never leaves by the machine's default route while the bridge is down.
    """
    ipaddress.ip_network(subnet)
    raise_inotify_limit()
    run(["ip", "route", "replace", "blackhole", subnet, "metric", "9999"])
    if podman("network", "exists", NETWORK, check=False).returncode != 0:
        podman("network", "create", "--disable-dns", "--subnet", subnet, NETWORK)


def close_network(podman: Podman, subnet: str) -> None:
    """Remove the bridge and the route behind it; neither needs to be there."""
    podman("network", "rm", "-f", NETWORK, check=False)
    run(["ip", "route", "del", "blackhole", subnet, "metric", "9999"], check=False)


def raise_inotify_limit(knob: Path = Path("/proc/sys/fs/inotify/max_user_instances")) -> None:
    """Raise the machine's limit if it is too low for several systemds; never lower it."""
    if int(knob.read_text()) < INOTIFY_INSTANCES:
        knob.write_text(str(INOTIFY_INSTANCES))
