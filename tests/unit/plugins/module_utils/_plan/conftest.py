# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Hosts, settings and models to plan with: real folders, invented sizes."""

from __future__ import annotations

import copy
import json

import pytest

from ansible_collections.jetson.specdec.plugins.module_utils._plan import decision
from ansible_collections.jetson.specdec.plugins.plugin_utils import _data

GATE = {
    "name": "default",
    "prompts": 32,
    "max_tokens": 256,
    "c8_requests": 64,
    "concurrency_high": 8,
    "warmup_min": 8,
    "warmup_max": 24,
    "warmup_tolerance": 0.03,
    "min_gain": 0.3,
    "min_tpot_drop": 0.2,
    "rollback_below": 0.1,
    "high_margin": 0.03,
    "temperature": 0.0,
    "band_policy": "rollback",
    "resamples": 2000,
}
SPECULATION = {
    "method": None,
    "draft": None,
    "num_speculative_tokens": None,
    "concurrency": 1,
    "allow_high_concurrency": False,
    "catalogue": [],
    "lease_s": 600,
    "start_deadline_s": 900,
    "measure_deadline_s": 1800,
    "headroom_gib": 2.0,
    "gate": GATE,
}
QWEN = {
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "hidden_size": 4096,
    "vocab_size": 151936,
    "torch_dtype": "bfloat16",
}
TOTALS = {"thor": 125788, "agx_orin": 62841}


def facts(family="thor", l4t="38.4.0", total_mib=None, **more):
    """What the probe says about a Jetson."""
    about = {
        "is_jetson": True,
        "why_not": None,
        "family": family,
        "module_name": "Jetson",
        "l4t": l4t,
        "l4t_parts": [int(part) for part in l4t.split(".")] if l4t else None,
        "mem_total_mib": total_mib or TOTALS.get(family, 7620),
        "mem_available_mib": None,
    }
    about.update(more)
    return about


class Workshop:
    """Makes models and runtimes below a folder and plans with them."""

    def __init__(self, root):
        self.root = root
        self.vllm = self.runtime("0.32.0+cpu")

    def model(self, name, weights=("model.safetensors",), size=1024, config=None, **changes):
        """A model's folder; returns its path."""
        folder = self.root / name
        folder.mkdir(parents=True, exist_ok=True)
        text = config if isinstance(config, str) else json.dumps(dict(QWEN if config is None else config, **changes))
        (folder / "config.json").write_text(text)
        for part in weights:
            with open(folder / part, "wb") as handle:
                handle.truncate(size)  # sparse: a file can be as large as a model without taking the room
        return str(folder)

    def runtime(self, version, packages="site-packages", name="vllm"):
        """An environment that looks like vLLM of that version; returns its executable."""
        prefix = self.root / f"env-{name}-{version}-{packages}"
        (prefix / "bin").mkdir(parents=True)
        executable = prefix / "bin" / "vllm"
        executable.write_text("#!/bin/sh\n")
        executable.chmod(0o755)
        if version:
            info = prefix / "lib" / "python3.11" / packages / f"{name}-{version}.dist-info"
            info.mkdir(parents=True)
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nVersion: 9.9\n")
        return str(executable)

    def service(self, **changes):
        """Service settings as the module's argument spec delivers them."""
        settings = {
            "model": "Qwen/Qwen3-8B",
            "served_model_name": None,
            "host": "127.0.0.1",
            "port": 8000,
            "max_model_len": 4096,
            "gpu_memory_utilization": 0.75,
            "max_num_seqs": 16,
            "extra_config": {},
            "environment": {},
            "runtime": {"type": "native", "path": self.vllm, "validated_by": None},
        }
        runtime = changes.pop("runtime", {})
        settings.update(changes)
        settings["runtime"] = dict(settings["runtime"], **runtime)
        return settings

    def plan(self, host=None, service=None, speculation=None, served=None, marker=None, shipped=None):
        """Decide, with defaults for all that is not given."""
        return decision.decide(
            facts() if host is None else host,
            self.service() if service is None else service,
            dict(copy.deepcopy(SPECULATION), **(speculation or {})),
            shipped or {name: _data.load(name) for name in ("heads", "drafts", "runtimes")},
            served or {"by": "nothing", "text": "no vllm.service and nothing on port 8000"},
            marker,
            lambda spec: f"{spec['kind']}-{json.dumps(spec, sort_keys=True).__hash__() & 0xFFFFFF:06x}",
        )


@pytest.fixture
def workshop(tmp_path):
    return Workshop(tmp_path)
