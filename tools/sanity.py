# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Run `ansible-test sanity` over the checkout, with no ignored line, on every Python that can be had.

ansible-test wants a git repository at `.../ansible_collections/jetson/specdec`, and refuses a link there. So the files
that git would commit are copied into the cache of the checkout; the link by which a checkout finds itself stays out of
the copy, as it stays out of the packed collection.

The controller's Python runs all tests; the older ones, down to the 3.8 of JetPack 5, run those that say whether the
device code compiles and imports there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / ".cache" / "sanity"
TREE = WORK / "ansible_collections" / "jetson" / "specdec"
CONTROLLER_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
DEVICE_PYTHONS = ("3.8", "3.9", "3.10", "3.12", "3.13")
DEVICE_TESTS = ("compile", "import")
SELF_LINK = "collections/ansible_collections/jetson/specdec"
OUTPUT_LINES = 200

# ansible-test fetches this script to put pip into its virtual environments. Python brings the same pip along, so the
# script is replaced by one that needs no network; the packages themselves come through pip, as configured.
BOOTSTRAP = "import ensurepip\n\nensurepip.bootstrap(default_pip=True)\n"
BOOTSTRAP_NAMES = ("get_pip_24_2.py", "get_pip_25_2.py")


def git(*args: str, cwd: Path) -> str:
    """Return what git printed; a failing git ends the run with its own message."""
    identity = ("-c", "user.name=sanity", "-c", "user.email=sanity@localhost", "-c", "commit.gpgsign=false")
    return subprocess.run(("git", *identity, *args), cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


def copy_tree() -> int:
    """Lay a fresh copy of the files that git knows or would add, and commit it. Returns how many they are."""
    shutil.rmtree(TREE, ignore_errors=True)
    TREE.mkdir(parents=True)
    count = 0
    for name in git("ls-files", "-coz", "--exclude-standard", cwd=ROOT).split("\0"):
        source = ROOT / name
        if not name or name == SELF_LINK or not os.path.lexists(source):
            continue
        target = TREE / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)
        count += 1
    git("init", "-q", cwd=TREE)
    git("add", "-A", cwd=TREE)
    git("commit", "-q", "-m", "checkout", cwd=TREE)
    return count


def environment() -> dict[str, str]:
    """An environment with a home of its own, so that nothing is left in the user's."""
    home = WORK / "home"
    cache = home / ".ansible" / "test" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    for name in BOOTSTRAP_NAMES:
        (cache / name).write_text(BOOTSTRAP, encoding="utf-8")
    env = dict(os.environ)
    env.update(HOME=str(home), PIP_NO_INPUT="1", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_QUIET="2")
    env.setdefault("PIP_CACHE_DIR", str(WORK / "pip"))
    env.pop("ANSIBLE_COLLECTIONS_PATH", None)
    env.pop("ANSIBLE_CONFIG", None)
    return env


def interpreter(version: str, env: dict[str, str]) -> str | None:
    """Where Python X.Y is, or None.

    The one on the path may be the launcher of a version manager that starts nothing until told to; such a manager keeps
    its interpreters in `../versions` beside its launchers.
    """
    program = shutil.which(f"python{version}", path=env["PATH"])
    if program is None:
        return None
    managed = Path(program).parent.parent.glob(f"versions/{version}.*/bin/python{version}")
    probe = "import sys, ensurepip, venv; print('%d.%d' % sys.version_info[:2])"
    for candidate in (program, *map(str, sorted(managed))):
        found = subprocess.run((candidate, "-c", probe), env=env, check=False, capture_output=True, text=True)
        if found.returncode == 0 and found.stdout.strip() == version:
            return candidate
    return None


def sanity(env: dict[str, str], python: str, tests: tuple[str, ...]) -> bool:
    """Run the named tests (all, when none is named) under one Python. Prints the output only when one is red."""
    begun = time.monotonic()
    command = ["ansible-test", "sanity", "--color", "no", "--python", python]
    for test in tests:
        command += ["--test", test]
    done = subprocess.run(
        command,
        cwd=TREE,
        env=env,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    what = ", ".join(tests) or "all tests"
    verdict = "green" if done.returncode == 0 else "RED"
    print(f"-- sanity on Python {python} ({what}): {verdict} after {time.monotonic() - begun:.0f} s", flush=True)
    if done.returncode != 0:
        lines = done.stdout.splitlines()
        errors = [line for line in lines if line.startswith(("ERROR", "FATAL"))] or lines
        print("\n".join(errors[:OUTPUT_LINES]), flush=True)
        if len(errors) > OUTPUT_LINES:
            print(f"... and {len(errors) - OUTPUT_LINES} more lines", flush=True)
    return done.returncode == 0


def main() -> int:
    """Return 0 when every run was green."""
    env = environment()
    # Found interpreters are linked into a folder at the front of the path: ansible-test looks for them by name.
    links = WORK / "bin"
    links.mkdir(parents=True, exist_ok=True)
    outer = dict(env)
    env["PATH"] = f"{links}:{env['PATH']}"
    print(f"-- sanity: {copy_tree()} files", flush=True)
    green = sanity(env, CONTROLLER_PYTHON, ())
    for version in DEVICE_PYTHONS:
        program = interpreter(version, outer)
        if program is not None:
            link = links / f"python{version}"
            link.unlink(missing_ok=True)
            link.symlink_to(program)
            green = sanity(env, version, DEVICE_TESTS) and green
        else:
            print(f"-- sanity on Python {version}: not run, there is no python{version} here", flush=True)
    return 0 if green else 1


if __name__ == "__main__":
    sys.exit(main())
