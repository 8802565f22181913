# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The models of the lab: made on the spot from numbers, never downloaded and never committed."""

from __future__ import annotations

import hashlib
import os
import shutil

from lab.paths import LAB, Paths
from lab.shell import run, step, write_whole

MAKER = LAB / "make_models.py"


def ensure(paths: Paths) -> None:
    """Make the models unless they are there, made by the present recipe.

    They are made in a folder beside and moved one by one, the stamp last: a killed run leaves no half model. The
    folder itself stays, because running hosts have it mounted.
    """
    digest = hashlib.sha256(MAKER.read_bytes()).hexdigest()[:12]
    stamp = paths.models / ".lab-stamp"
    if stamp.exists() and stamp.read_text() == digest:
        return
    fresh = paths.cache / "models.new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    with step(f"models into {paths.models}"):
        run([str(paths.vllm / "bin" / "python"), str(MAKER), str(fresh)], timeout_s=900)
        stamp.unlink(missing_ok=True)
        paths.models.mkdir(exist_ok=True)
        for made in sorted(fresh.iterdir()):
            shutil.rmtree(paths.models / made.name, ignore_errors=True)
            os.replace(made, paths.models / made.name)
        write_whole(stamp, digest)
    fresh.rmdir()
