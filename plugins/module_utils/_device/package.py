# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Lays this very code on the device, for the night when nobody is there. PRIVATE to this collection.

::

    device/<digest>/jetson_specdec/...   the wings that the device needs, as they ran in the module
    device/<digest>/entry.py             puts them on the path and calls _device.entry.main
    device/current -> <digest>
    device/interpreter                   the Python that ran the module, hence one that works
    device/run                           what units call: interpreter plus entry

One implementation serves the module and the device alone, versioned by digest.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import sys

from .._slots import disk
from . import entry

PACKAGE = "jetson_specdec"
WINGS = ("_slots", "_vllm", "_device")
MAIN = entry.main  # only what is imported travels with a module, so the entry must be
ENTRY = """\
# Written by the Ansible collection jetson.specdec. Do not edit.
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from {package}._device.entry import main  # noqa: E402

sys.exit(main(sys.argv[1:]))
"""


def sources() -> dict[str, str]:
    """The device package as ``{relative path: text}``, taken from the modules that are loaded right now.

    A module travels as a zip file, so the text comes from each module's own loader and not from the file system.
    """
    root = __name__.rsplit("._device.", 1)[0]
    files = {"entry.py": ENTRY.format(package=PACKAGE), f"{PACKAGE}/__init__.py": ""}
    for name, module in sorted(sys.modules.items()):
        if not name.startswith(root + ".") or module is None:
            continue
        parts = name[len(root) + 1 :].split(".")
        spec = getattr(module, "__spec__", None)
        if parts[0] not in WINGS or spec is None or spec.loader is None:
            continue
        text = spec.loader.get_source(name) or ""  # zipimport and plain files both have it
        tail = "/__init__.py" if spec.submodule_search_locations is not None else ".py"
        files["{}/{}{}".format(PACKAGE, "/".join(parts), tail)] = text
    return files


def digest(files: dict[str, str]) -> str:
    """12 hex digits over names and texts."""
    total = hashlib.sha256()
    for name in sorted(files):
        total.update(f"{name}\0{files[name]}\0".encode())
    return total.hexdigest()[:12]


def plan(state_dir: str) -> tuple[dict[str, str], dict[str, str]]:
    """What to write: ``(package files by absolute path, {link: target})``; pure."""
    files = sources()
    name = digest(files)
    base = os.path.join(state_dir, "device")
    wanted = {os.path.join(base, name, path): text for path, text in files.items()}
    wanted[os.path.join(base, "interpreter")] = sys.executable + "\n"
    wanted[os.path.join(base, "run")] = (
        "#!/bin/sh\n# Written by the Ansible collection jetson.specdec. Do not edit.\n"
        'exec "$(cat {0}/interpreter)" -B -I {0}/current/entry.py "$@"\n'
    ).format(shlex.quote(base))
    return wanted, {os.path.join(base, "current"): name}


def lay(state_dir: str, check: bool = False) -> bool:
    """Lay the package; True when something had to change. With ``check`` nothing is written."""
    wanted, links = plan(state_dir)
    changed = False
    for path, text in sorted(wanted.items()):
        if disk.read_text(path) == text:
            continue
        changed = True
        if not check:
            disk.write_durable(path, text, 0o755 if os.path.basename(path) == "run" else 0o644)
    for link, target in links.items():
        if os.path.islink(link) and os.readlink(link) == target:
            continue
        changed = True
        if not check:
            disk.point_link(link, target)  # last: it names a package that is complete
    return changed
