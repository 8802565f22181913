# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Creating, starting, killing and removing lab hosts. One container is one host with its own systemd and sshd."""

from __future__ import annotations

import json
import shutil
import socket
import time
from collections.abc import Callable, Sequence

from lab import foreign, image, machine
from lab.jetson_files import Fleet, Host, files, overlays
from lab.machine import NETWORK, Podman
from lab.paths import Paths
from lab.shell import LabError, say, step, write_in_place, write_whole

PREFIX = "specdec-lab-"
BOOT_LIMIT_S = 60.0
SERVER_LIMIT_S = 180.0


class Lab:
    """The hosts of the lab on this machine."""

    def __init__(self, paths: Paths, fleet: Fleet, podman: Podman) -> None:
        self.paths = paths
        self.fleet = fleet
        self.podman = podman

    def clear(self, hosts: Sequence[Host] | None = None) -> None:
        """Remove hosts (all, if none are given), whatever state a killed run left them in.

        After everything was killed, podman's first removal can fail on a state that it only then corrects.
        """
        wanted = None if hosts is None else {host.container for host in hosts}
        left: list[str] = []
        for attempt in range(4):
            left = [name for name in self._containers() if wanted is None or name in wanted]
            if not left:
                break
            if attempt:
                time.sleep(1)
            self.podman("rm", "-f", "-t", "0", "-v", *left, check=False)
        if left and (left := [name for name in self._containers() if name in left]):
            raise LabError(f"podman does not remove {', '.join(left)}: look with `python3 lab/lab.py podman -- ps -a`")
        self._forget_connections()
        if wanted is None:
            machine.close_network(self.podman, self.fleet.subnet)
            shutil.rmtree(self.paths.cache / "hosts", ignore_errors=True)

    def _forget_connections(self) -> None:
        """Ansible keeps ssh connections open for the next run; one to a host that is gone would fail that run."""
        shutil.rmtree(self.paths.connections, ignore_errors=True)

    def create(self, hosts: Sequence[Host], image_name: str) -> None:
        """Create and boot hosts, and learn their keys. Returns when all answer and the foreign server serves."""
        machine.open_network(self.podman, self.fleet.subnet)
        with step(f"booting {', '.join(host.name for host in hosts)}"):
            for host in hosts:
                self._lay_files(host)
                self.podman(*self._create_command(host, image_name))
            for host in hosts:
                self._wait_booted(host)
            self.write_ssh_files()
        serving = [host for host in hosts if host.serves]
        for host in serving:
            self._set_up_foreign_server(host)
        for host in serving:
            with step(f"{host.name}: the vllm.service that is not ours, serving {host.serves}"):
                self._wait_serving(host)

    def kill(self, host: Host) -> None:
        """Cut the power: every process of the host is gone at once, its disk stays."""
        self.podman("kill", "--signal", "KILL", host.container, check=False)
        self._forget_connections()
        self._wait(lambda: self.state(host) in ("exited", "stopped"), f"{host.name} to be off", 15)

    def start(self, host: Host) -> None:
        """Switch a host on that was killed, and wait until it has booted."""
        if self.state(host) != "running":
            self.podman("start", host.container)
        self._wait_booted(host)

    def shell(self, host: Host, *command: str, check: bool = True) -> str:
        """Run a command as root on a host, without ssh; returns what it prints."""
        return self.podman("exec", host.container, *command, check=check).stdout

    def set_available(self, host: Host, available_mib: int) -> None:
        """Change MemAvailable of a running host: the mounted file is rewritten in place."""
        if not host.is_jetson:
            raise LabError(f"{host.name} is not a Jetson: it shows the machine's own memory")
        changed = Host(**{**vars(host), "mem_available": available_mib})
        write_in_place(self.paths.host_files(host.name) / "meminfo", files(changed)["meminfo"])

    def state(self, host: Host) -> str:
        """Podman's word for the container's state, `absent` if there is none."""
        shown = self.podman("inspect", "--format", "{{.State.Status}}", host.container, check=False)
        return shown.stdout.strip() if shown.returncode == 0 else "absent"

    def status_rows(self) -> list[tuple[str, str, str, str]]:
        """Name, address, state of the system, what its vllm.service does: one row for each host."""
        rows = []
        for host in self.fleet.hosts.values():
            system, server = self.state(host), "-"
            if system == "running":
                system = self.shell(host, "systemctl", "is-system-running", check=False).strip() or "no answer"
                server = self.shell(host, "systemctl", "is-active", "vllm.service", check=False).strip()
            rows.append((host.name, host.address, system, server))
        return rows

    def write_ssh_files(self) -> None:
        """Record the hosts' keys as they are, read from inside and not from the network, and how to log in by name."""
        lines = []
        names = [f"Host {host.name}\n  HostName {host.address}\n" for host in self.fleet.hosts.values()]
        common = {
            "User": "ansible",
            "IdentityFile": self.paths.key,
            "IdentitiesOnly": "yes",
            "UserKnownHostsFile": self.paths.known_hosts,
            "ConnectTimeout": 5,
        }
        names += ["Host *\n", *(f"  {name} {value}\n" for name, value in common.items())]
        write_whole(self.paths.ssh_config, "".join(names))
        for host in self.fleet.hosts.values():
            if self.state(host) == "running":
                key = self.shell(host, "cat", "/etc/ssh/ssh_host_ed25519_key.pub").split()
                lines.append(f"{host.name},{host.address} {key[0]} {key[1]}\n")
        write_whole(self.paths.known_hosts, "".join(lines))

    def ssh_command(self, host: Host) -> list[str]:
        """The ssh command line that logs in on a host."""
        return ["ssh", "-F", str(self.paths.ssh_config), host.name]

    def _containers(self) -> list[str]:
        listed = self.podman("ps", "-a", "--format", "json", check=False).stdout
        try:
            names = [name for entry in json.loads(listed or "[]") or [] for name in entry["Names"]]
        except ValueError:
            return []
        return [name for name in names if name.startswith(PREFIX)]

    def _lay_files(self, host: Host) -> None:
        folder = self.paths.host_files(host.name)
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files(host).items():
            write_in_place(folder / name, content)

    def _create_command(self, host: Host, image_name: str) -> list[str]:
        folder = self.paths.host_files(host.name)
        mounts = [f"{folder / name}:{target}" for name, target in overlays(host).items()]
        # The same path as on the machine: a virtual environment cannot be moved, and this way it is not copied.
        mounts += [f"{path}:{path}:ro" for path in (self.paths.vllm, self.paths.models)]
        mounts.append(f"{self.paths.vllm_cache}:{self.paths.vllm_cache}:O")  # each host writes to a layer of its own
        return [
            "run",
            "--detach",
            f"--name={host.container}",
            f"--hostname={host.name}",
            "--privileged",
            # With podman's own systemd mode the hosts would share the machine's cgroup root.
            "--systemd=false",
            "--cgroupns=private",
            "--pids-limit=-1",
            "--shm-size=2g",
            # A reboot inside ends the container; this is what boots it again.
            "--restart=always",
            "--stop-signal=SIGRTMIN+3",
            "--env=container=podman",
            "--tmpfs=/run:rw,mode=755,size=256m,exec",
            "--tmpfs=/run/lock",
            "--tmpfs=/tmp:mode=1777,exec",
            f"--network={NETWORK}",
            f"--ip={host.address}",
            # The same at each boot: this machine remembers for a while which card has an address.
            f"--mac-address=02:00:{':'.join(f'{int(part):02x}' for part in host.address.split('.'))}",
            *(f"--volume={mount}" for mount in mounts),
            image_name,
        ]

    def _wait_booted(self, host: Host) -> None:
        def booted() -> bool:
            seen = self.podman(
                "exec",
                host.container,
                "systemctl",
                "is-active",
                "ssh.service",
                "multi-user.target",
                check=False,
                timeout_s=20,
            )
            return seen.stdout.split() == ["active", "active"] and answers(host.address)

        self._wait(booted, f"{host.name} to boot", BOOT_LIMIT_S)

    def _set_up_foreign_server(self, host: Host) -> None:
        for path, text in (
            (foreign.CONFIG_PATH, foreign.config(self.paths, host.serves)),
            (foreign.UNIT_PATH, foreign.unit(self.paths)),
        ):
            self.podman(
                "exec",
                "-i",
                host.container,
                "sh",
                "-c",
                'mkdir -p "$(dirname "$1")" && cat >"$1"',
                "lay",
                path,
                stdin=text,
            )
        self.shell(host, "systemctl", "daemon-reload")
        self.shell(host, "systemctl", "enable", "-q", "--now", "vllm.service")

    def _wait_serving(self, host: Host) -> None:
        def serving() -> bool:
            url = f"http://127.0.0.1:{foreign.PORT}/health"
            probe = self.podman("exec", host.container, "curl", "-sf", "-m", "3", url, check=False)
            return probe.returncode == 0

        self._wait(serving, f"{host.name} to serve (see `journalctl -u vllm` there)", SERVER_LIMIT_S)

    def _wait(self, condition: Callable[[], bool], what: str, limit_s: float) -> None:
        end = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > end:
                raise LabError(f"waited {limit_s:.0f} s for {what}, in vain")
            time.sleep(0.2)


def answers(address: str, port: int = 22) -> bool:
    """Does a server on a host accept connections from this machine?"""
    try:
        with socket.create_connection((address, port), timeout=2):
            return True
    except OSError:
        return False


def bring_up(lab: Lab, hosts: Sequence[Host], everything: bool) -> None:
    """Clear what is there of these hosts and create them anew."""
    with step("clearing what an earlier run left"):
        lab.clear(None if everything else hosts)
    name = image.ensure(lab.paths, lab.podman)
    lab.create(hosts, name)
    say(f"up: {', '.join(host.name for host in hosts)}")
