# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The settings of the inventory, checked beyond their types and brought into one form. PRIVATE to this collection."""

from __future__ import annotations

import math
import re
from typing import Any

from .errors import PlanError

METHODS = ("eagle3", "draft_model", "mtp", "ngram", "dflash")
NEEDS_DRAFT = ("eagle3", "draft_model", "dflash")

# Options of vLLM that have a place of their own in the settings, and where.
PLACED = {
    "model": "service.model",
    "served-model-name": "service.served_model_name",
    "host": "service.host",
    "port": "service.port",
    "max-model-len": "service.max_model_len",
    "gpu-memory-utilization": "service.gpu_memory_utilization",
    "max-num-seqs": "service.max_num_seqs",
    "speculative-config": "speculation",
    "spec-method": "speculation.method",
    "spec-model": "speculation.draft",
    "spec-tokens": "speculation.num_speculative_tokens",
}
SECRET_OPTIONS = ("api-key", "hf-token")
SECRET_VARIABLES = ("VLLM_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")

# field -> (smallest value, largest value or None); below and above, the setting makes no sense.
SERVICE_RANGES = {
    "port": (1, 65535),
    "max_model_len": (1, None),
    "max_num_seqs": (1, None),
}
SPECULATION_RANGES = {
    "num_speculative_tokens": (1, None),
    "concurrency": (1, None),
    "lease_s": (15, None),
    "start_deadline_s": (1, None),
    "measure_deadline_s": (1, None),
    "headroom_gib": (0, None),
}
GATE_RANGES = {
    "prompts": (1, None),
    "max_tokens": (2, None),  # time per token is taken from the second token on
    "c8_requests": (1, None),
    "concurrency_high": (2, None),
    "warmup_min": (0, None),
    "warmup_max": (0, None),
    "warmup_tolerance": (0, 1),
    "min_gain": (0, None),
    "min_tpot_drop": (0, 1),
    "rollback_below": (0, None),
    "high_margin": (0, 1),
    "temperature": (0, None),
    "resamples": (1, None),
}

HUB_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9._-]+)?")


def is_local(model: str | None) -> bool:
    """Is this a folder on the host, rather than a hub id?"""
    return bool(model) and str(model).startswith("/")


def normalise_service(service: dict[str, Any]) -> dict[str, Any]:
    """The service settings with defaults filled and vLLM's own options spelt with dashes.

    Raises PlanError ``bad_setting``, naming the field.
    """
    _check_ranges("service", service, SERVICE_RANGES)
    _check_model("service.model", service["model"])
    utilization = service["gpu_memory_utilization"]
    if not 0.05 < utilization <= 1.0:  # a candidate takes 0.05 less; also false for NaN
        raise _bad("service.gpu_memory_utilization", "must be above 0.05 and at most 1", utilization)
    runtime = service["runtime"]
    if not is_local(runtime.get("path")):
        raise _bad("service.runtime.path", "must be the absolute path of the vllm executable", runtime.get("path"))
    settled = dict(service)
    settled["served_model_name"] = service.get("served_model_name") or service["model"]
    settled["extra_config"] = _extra_config(service.get("extra_config") or {})
    settled["environment"] = _environment(service.get("environment") or {})
    return settled


def normalise_speculation(speculation: dict[str, Any]) -> dict[str, Any]:
    """The speculation settings, free of contradictions.

    Raises PlanError ``bad_setting``, naming the field.
    """
    _check_ranges("speculation", speculation, SPECULATION_RANGES)
    method, draft = speculation.get("method"), speculation.get("draft")
    if method is not None and method not in METHODS:
        raise _bad("speculation.method", "must be one of {}".format(", ".join(METHODS)), method)
    if draft is not None:
        _check_model("speculation.draft", draft)
        if method is None:
            raise _bad("speculation.method", f"must be given with speculation.draft ({draft})", method)
        if method == "ngram":
            raise _bad("speculation.draft", "must be left out with method ngram, which uses no model", draft)
    for number, row in enumerate(speculation.get("catalogue") or []):
        for name in ("target", "model"):
            _check_model(f"speculation.catalogue[{number}].{name}", row.get(name))
    gate = speculation["gate"]
    _check_ranges("speculation.gate", gate, GATE_RANGES)
    if gate["warmup_min"] > gate["warmup_max"]:
        raise _bad(
            "speculation.gate.warmup_min",
            "must not be above warmup_max ({})".format(gate["warmup_max"]),
            gate["warmup_min"],
        )
    if gate["rollback_below"] > gate["min_gain"]:
        raise _bad(
            "speculation.gate.rollback_below",
            "must not be above min_gain ({})".format(gate["min_gain"]),
            gate["rollback_below"],
        )
    return dict(speculation, catalogue=list(speculation.get("catalogue") or []))


def _extra_config(given: dict[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for name, value in given.items():
        option = str(name).strip().lstrip("-").replace("_", "-")
        field = f"service.extra_config.{name}"
        if option in PLACED:
            raise _bad(field, f"must be given as {PLACED[option]}", value)
        if option in SECRET_OPTIONS:
            raise PlanError(
                "bad_setting", f"{field} is a secret, and this setting is stored readable; nothing was changed"
            )
        if option == "disable-log-stats" and value is not False:
            raise _bad(field, "must be left out: it stops the counters that the gate reads", value)
        if option in options:
            raise _bad(field, "must be given once; it is there in two spellings", value)
        options[option] = value
    return options


def _environment(given: dict[str, Any]) -> dict[str, str]:
    variables = {}
    for name, value in given.items():
        field = f"service.environment.{name}"
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", str(name)):
            raise _bad(field, "must have the name of an environment variable", name)
        if name in SECRET_VARIABLES:
            raise PlanError(
                "bad_setting", f"{field} is a secret, and this setting is stored readable; nothing was changed"
            )
        if isinstance(value, (dict, list)) or value is None:
            raise _bad(field, "must be a string", value)
        variables[str(name)] = value if isinstance(value, str) else _as_text(value)
    return variables


def _as_text(value: Any) -> str:
    # YAML turns an unquoted 1 or true into what it looks like; a process only gets strings.
    return str(int(value)) if isinstance(value, bool) else str(value)


def _check_ranges(prefix: str, settings: dict[str, Any], ranges: dict[str, Any]) -> None:
    for name, (least, most) in ranges.items():
        value = settings.get(name)
        if value is None:
            continue
        field = f"{prefix}.{name}"
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise _bad(field, "must be a number", value)
        if value < least:
            raise _bad(field, f"must be at least {least}", value)
        if most is not None and value > most:
            raise _bad(field, f"must be at most {most}", value)


def _check_model(field: str, model: Any) -> None:
    if not isinstance(model, str) or not (is_local(model) or HUB_ID.fullmatch(model)):
        raise _bad(field, "must be an absolute path or a hub id such as Qwen/Qwen3-8B", model)


def _bad(field: str, rule: str, value: Any) -> PlanError:
    return PlanError("bad_setting", f"{field} {rule}, got {_shown(value)}; nothing was changed")


def _shown(value: Any) -> str:
    if isinstance(value, (bool, dict, list)) or value is None:
        value = repr(value)
    text = repr(value) if value == "" else str(value)
    return text if len(text) <= 80 else text[:77] + "..."
