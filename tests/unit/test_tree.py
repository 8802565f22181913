# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The rules of the house that a reader cannot check at a glance: which code may know which, and what is packed."""

from __future__ import annotations

import ast
import fnmatch
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = ROOT / "plugins"
MODULE_UTILS = PLUGINS / "module_utils"
WINGS = ("_gate", "_jetson", "_plan", "_slots", "_vllm")
# Runs on the device as well, beside no Ansible, and puts the wings together.
PUTS_TOGETHER = "_device"
LONGEST_FILE = 400
DEVICE_PYTHON = (3, 8)


def listed() -> list[str]:
    """Every file that git has or would add. Outside a git checkout there is nothing to check."""
    found = subprocess.run(
        ("git", "ls-files", "-coz", "--exclude-standard"), cwd=ROOT, check=False, capture_output=True, text=True
    )
    if found.returncode != 0:
        pytest.skip("not a git checkout")
    return sorted(name for name in found.stdout.split("\0") if name and (ROOT / name).is_file())


def python_files(*folders: Path) -> list[Path]:
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


DEVICE_CODE = python_files(PLUGINS / "modules", MODULE_UTILS)


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(path: Path) -> list[tuple[int, str]]:
    """The imports of a file as (dots, dotted name): `from ..x import y` is (2, "x.y"), `import json` is (0, "json")."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(0, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [(node.level, ".".join(filter(None, (node.module, alias.name)))) for alias in node.names]
    return found


def wing_of(path: Path) -> str:
    return path.relative_to(MODULE_UTILS).parts[0]


def wings_used(path: Path) -> set[str]:
    """The parts of module_utils that a file of module_utils reaches by its relative imports, its own not counted."""
    package = path.relative_to(MODULE_UTILS).parts[:-1]
    used = set()
    for dots, name in imports(path):
        if dots:
            base = package[: len(package) - dots + 1]
            full = (*base, *name.split("."))
            used.add(full[0])
    return used - {wing_of(path)}


def test_the_rules_see_the_code() -> None:
    assert {wing_of(path) for path in python_files(MODULE_UTILS)} == {*WINGS, PUTS_TOGETHER}
    assert len(DEVICE_CODE) > 20


@pytest.mark.parametrize("path", python_files(MODULE_UTILS), ids=relative)
def test_wings_do_not_know_each_other(path: Path) -> None:
    if wing_of(path) == PUTS_TOGETHER:
        assert wings_used(path) <= {*WINGS}
    else:
        assert wings_used(path) == set()


@pytest.mark.parametrize("path", python_files(MODULE_UTILS), ids=relative)
def test_module_utils_need_the_standard_library_only(path: Path) -> None:
    """The same files run on the device without Ansible: no AnsibleModule, nothing installed, no absolute import."""
    for dots, name in imports(path):
        if dots == 0:
            top = name.split(".")[0]
            assert top in sys.stdlib_module_names, f"{relative(path)} imports {name}"
    assert "AnsibleModule" not in path.read_text(encoding="utf-8"), f"{relative(path)} names AnsibleModule"


@pytest.mark.parametrize("path", DEVICE_CODE, ids=relative)
def test_device_code_parses_on_the_oldest_python(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=DEVICE_PYTHON)
    lazy = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
    assert lazy or not any(isinstance(node, (ast.FunctionDef, ast.AnnAssign)) for node in ast.walk(tree)), (
        f"{relative(path)} has annotations but no `from __future__ import annotations`"
    )
    assert not any(isinstance(node, getattr(ast, "Match", ())) for node in ast.walk(tree)), (
        f"{relative(path)} uses match"
    )


@pytest.mark.parametrize("path", DEVICE_CODE, ids=relative)
def test_no_generic_alias_is_made_at_run_time(path: Path) -> None:
    """`dict[str, int]` outside an annotation raises TypeError before Python 3.9."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    annotations: set[int] = set()
    for node in ast.walk(tree):
        for field in ("annotation", "returns"):
            below = getattr(node, field, None)
            if isinstance(below, ast.AST):
                annotations.update(id(inner) for inner in ast.walk(below))
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and id(node) not in annotations and isinstance(node.value, ast.Name):
            assert node.value.id not in {"dict", "frozenset", "list", "set", "tuple", "type"}, (
                f"{relative(path)}:{node.lineno}: {node.value.id}[...] at run time"
            )


def test_private_utils_say_so() -> None:
    for path in python_files(MODULE_UTILS):
        if path.name != "__init__.py":
            text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            assert "PRIVATE" in text, f"{relative(path)} does not say that it is PRIVATE to this collection"


def test_every_python_file_names_its_licence() -> None:
    for name in listed():
        if name.endswith(".py") and (ROOT / name).stat().st_size:
            head = (ROOT / name).read_text(encoding="utf-8").splitlines()[:5]
            assert any("SPDX-License-Identifier: Apache-2.0" in line for line in head), f"{name} has no licence line"


def length(path: Path) -> int:
    """Lines of a file; of a module without its documentation, which is as long as it has to be."""
    text = path.read_text(encoding="utf-8")
    count = text.count("\n")
    if path.parent == PLUGINS / "modules":
        for node in ast.parse(text).body:
            names = {target.id for target in getattr(node, "targets", []) if isinstance(target, ast.Name)}
            if names & {"DOCUMENTATION", "EXAMPLES", "RETURN"}:
                count -= (node.end_lineno or node.lineno) - node.lineno
    return count


def test_files_stay_readable() -> None:
    files = [ROOT / name for name in listed() if name.endswith((".py", ".yml", ".sh"))]
    long = {relative(path): length(path) for path in files if length(path) > LONGEST_FILE}
    assert not long, f"split these: {long}"


def test_nothing_depends_on_one_machine() -> None:
    """No file names a folder of a developer's machine, or the host of a package registry."""
    paths = re.compile(r"(?<![\w.])/work/|/root/(?!\.ssh)|\.pyenv\b")
    hosts = re.compile(r"\b(?:pypi|pythonhosted|npmjs)\.(?:org|com)\b|\bdeb\.debian\.org\b|\bproxy\.golang\.org\b")
    itself = relative(Path(__file__))
    for name in listed():
        if name == itself:
            continue
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            assert not paths.search(line), f"{name}:{number} names a folder of one machine: {line.strip()}"
            assert not hosts.search(line), f"{name}:{number} names the host of a registry: {line.strip()}"


def test_sanity_ignores_nothing() -> None:
    for path in (ROOT / "tests" / "sanity").glob("ignore*"):
        assert not path.read_text(encoding="utf-8").strip(), f"{relative(path)} must stay empty"


def test_modules_are_not_executable() -> None:
    for path in python_files(PLUGINS):
        assert not path.stat().st_mode & stat.S_IXUSR, f"{relative(path)} is executable"


def test_a_checkout_finds_itself() -> None:
    link = ROOT / "collections" / "ansible_collections" / "jetson" / "specdec"
    assert link.is_symlink()
    assert link.resolve() == ROOT


def test_the_packed_collection_holds_what_users_run() -> None:
    """The rules of galaxy.yml, applied as ansible-galaxy does: by the name of a file and by its path from the root."""
    patterns = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["build_ignore"]

    def ignored(name: str) -> bool:
        parts = name.split("/")
        heads = ["/".join(parts[: count + 1]) for count in range(len(parts))]
        return any(fnmatch.fnmatch(candidate, pattern) for pattern in patterns for candidate in (*heads, parts[-1]))

    packed = [name for name in listed() if not ignored(name)]
    tops = {name.split("/")[0] for name in packed}
    assert {"plugins", "roles", "playbooks", "data", "meta", "README.md", "LICENSE", "CHANGELOG.md"} <= tops
    assert not tops & {"lab", "tests", "tools", "molecule", "collections", ".ci", "requirements", "Makefile"}
