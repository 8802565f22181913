# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The lab: hosts with real systemd, sshd and vLLM on one machine. `python3 lab/lab.py --help` lists what it does."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

# The folder above, not this one: modules here are `lab.x`, and none of them can hide an installed package.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from lab import hosts, image, machine, models, paths, vllm  # noqa: E402
from lab.jetson_files import load_fleet  # noqa: E402
from lab.shell import LabError, fail, say  # noqa: E402


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="lab/lab.py", description=__doc__)
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name: str, text: str, host: str = "") -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=text, description=text)
        if host == "some":
            added.add_argument("host", nargs="*", help="only these hosts (default: all)")
        elif host == "one":
            added.add_argument("host")
        return added

    verb("setup", "install packages and vLLM, make the image and the models; boots nothing")
    verb("up", "set up, clear what is there and boot hosts anew", "some")
    verb("down", "remove all hosts; caches stay")
    verb("status", "list the hosts and what they do")
    verb("reset", "remove one host and boot it anew", "one")
    verb("kill", "cut a host's power", "one")
    verb("start", "switch a host on that was killed", "one")
    verb("power-cycle", "cut a host's power and switch it on again", "one")
    verb("shell", "log in on a host by ssh", "one")
    run = verb("exec", "run a command as root on a host, without ssh: exec HOST -- COMMAND", "one")
    run.add_argument("command", nargs=argparse.REMAINDER)
    memory = verb("memory", "change how much memory a host says is available", "one")
    memory.add_argument("available_mib", type=int)
    podman = verb("podman", "run podman on the lab's own store: podman -- ps -a")
    podman.add_argument("command", nargs=argparse.REMAINDER)
    return top


def after_dashes(command: Sequence[str]) -> list[str]:
    """The command without the `--` that divides it from our own options."""
    return list(command[1:] if command[:1] == ["--"] else command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit status."""
    args = parser().parse_args(arguments)
    where = paths.from_environment()
    fleet = load_fleet()
    podman = machine.Podman(where)
    lab = hosts.Lab(where, fleet, podman)

    if args.verb in ("setup", "up"):
        chosen = fleet.chosen(getattr(args, "host", []))
        machine.install_packages()
        podman.configure()
        vllm.ensure(where)
        models.ensure(where)
        if args.verb == "setup":
            image.ensure(where, podman)
        else:
            hosts.bring_up(lab, chosen, everything=not args.host)
        return 0
    podman.configure()
    if args.verb == "down":
        lab.clear()
        say("down")
        return 0
    if args.verb == "status":
        for name, address, system, server in lab.status_rows():
            print(f"{name:<10} {address:<14} {system:<10} vllm.service {server}")
        return 0
    if args.verb == "podman":
        os.execvpe("podman", ["podman", *after_dashes(args.command)], {**os.environ, **podman.env})
    return on_host(lab, args)


def on_host(lab: hosts.Lab, args: argparse.Namespace) -> int:
    """The verbs that name one host."""
    host = lab.fleet.chosen([args.host])[0]
    if args.verb == "reset":
        hosts.bring_up(lab, [host], everything=False)
    elif args.verb == "kill":
        lab.kill(host)
    elif args.verb == "start":
        lab.start(host)
    elif args.verb == "power-cycle":
        lab.kill(host)
        lab.start(host)
    elif args.verb == "memory":
        lab.set_available(host, args.available_mib)
    elif args.verb == "shell":
        command = lab.ssh_command(host)
        os.execvp(command[0], command)
    elif args.verb == "exec":
        command = ["podman", "exec", host.container, *after_dashes(args.command)]
        os.execvpe("podman", command, {**os.environ, **lab.podman.env})
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LabError as exc:
        fail(str(exc))
        sys.exit(1)
    except KeyboardInterrupt:
        fail("stopped")
        sys.exit(130)
