# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""What a role says about its variables is what it does: argument_specs.yml, defaults/main.yml and the modules agree."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ROLES = sorted(path for path in (ROOT / "roles").iterdir() if path.is_dir())

# A role variable that is handed to a module as it is: role, variable, module, parameter.
HANDED_ON = [
    ("specdec_rollout", "specdec_rollout_settings", "specdec_plan", "speculation"),
    ("specdec_rollout", "vllm_service_settings", "specdec_plan", "service"),
]
COMPARED = ("type", "elements", "default", "choices", "required")


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else None


def entry_points(role: Path) -> dict[str, Any]:
    specs = load(role / "meta" / "argument_specs.yml")
    assert specs, f"{role.name} has no meta/argument_specs.yml"
    return specs["argument_specs"]


def walk(options: dict[str, Any], above: str = "") -> list[tuple[str, dict[str, Any]]]:
    found = []
    for name, option in options.items():
        found.append((f"{above}{name}", option))
        found += walk(option.get("options") or {}, f"{above}{name}.")
    return found


def module_options(name: str) -> dict[str, Any]:
    tree = ast.parse((ROOT / "plugins" / "modules" / f"{name}.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == "DOCUMENTATION" for t in node.targets
        ):
            return yaml.safe_load(ast.literal_eval(node.value))["options"]
    raise AssertionError(f"module {name} has no DOCUMENTATION")


def comparable(options: dict[str, Any], nested: str) -> dict[str, Any]:
    """Names, types and defaults of options; `nested` is what the format calls the options of a dict."""
    plain = {}
    for name, option in options.items():
        plain[name] = {key: option.get(key) for key in COMPARED}
        plain[name]["required"] = bool(option.get("required"))
        plain[name]["below"] = comparable(option.get(nested) or {}, nested)
    return plain


def test_there_are_roles() -> None:
    assert {"specdec_rollout", "vllm_service"} <= {role.name for role in ROLES}


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_every_default_is_an_option_with_that_default(role: Path) -> None:
    options = entry_points(role)["main"].get("options") or {}
    for name, value in (load(role / "defaults" / "main.yml") or {}).items():
        assert name in options, f"{role.name}: {name} is in defaults/main.yml only"
        assert "default" in options[name], f"{role.name}: {name} has a default that its specification does not name"
        assert options[name]["default"] == value, f"{role.name}: {name} has two defaults"


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_every_option_with_a_default_has_it_in_the_defaults(role: Path) -> None:
    defaults = load(role / "defaults" / "main.yml") or {}
    for point, spec in entry_points(role).items():
        for name, option in (spec.get("options") or {}).items():
            if option.get("default") is not None:
                assert name in defaults, f"{role.name}: {point} promises a default for {name} that nothing sets"


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_every_option_says_what_it_is(role: Path) -> None:
    for point, spec in entry_points(role).items():
        assert spec.get("short_description"), f"{role.name}: {point} has no short_description"
        assert spec.get("description"), f"{role.name}: {point} has no description"
        for name, option in walk(spec.get("options") or {}):
            assert option.get("description"), f"{role.name}: {point}: {name} has no description"
            assert option.get("type"), f"{role.name}: {point}: {name} has no type"
            assert not (option.get("required") and "default" in option), (
                f"{role.name}: {name} is required, so its default is dead"
            )


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_variables_of_a_role_carry_its_name(role: Path) -> None:
    for name in load(role / "defaults" / "main.yml") or {}:
        assert name.startswith(f"{role.name}_"), f"{role.name}: {name} may collide with another role's variable"


@pytest.mark.parametrize(("role", "variable", "module", "parameter"), HANDED_ON)
def test_a_setting_is_described_alike_in_role_and_module(role: str, variable: str, module: str, parameter: str) -> None:
    # One entry point lists the keys, others may refer to it; every list must be the module's.
    named = [(spec.get("options") or {}).get(variable) or {} for spec in entry_points(ROOT / "roles" / role).values()]
    lists = [option["options"] for option in named if option.get("options")]
    assert lists, f"{role} does not describe the keys of {variable}"
    in_module = module_options(module)[parameter]
    for options in lists:
        assert comparable(options, "options") == comparable(in_module["suboptions"], "suboptions")
