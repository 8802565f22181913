# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The module as it runs on a host: a process of its own, arguments in, one JSON object out."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import yaml

from ansible_collections.jetson.specdec.plugins.modules import specdec_plan
from ansible_collections.jetson.specdec.plugins.plugin_utils import _data

MODULE = "ansible_collections.jetson.specdec.plugins.modules.specdec_plan"
THOR = {"is_jetson": True, "family": "thor", "l4t": "38.4.0", "l4t_parts": [38, 4, 0], "mem_total_mib": 125788}
NANO = {"is_jetson": True, "family": "orin_nano", "l4t": "36.4.4", "l4t_parts": [36, 4, 4], "mem_total_mib": 7620}


@pytest.fixture
def run(tmp_path):
    """Run the module; returns its result and whether it failed."""

    def _run(catalogue=True, **parameters):
        arguments = dict(
            {"state_dir": str(tmp_path / "state"), "unit": "jetson-specdec-not-there.service"}, **parameters
        )
        if catalogue:
            arguments["catalogue"] = {name: _data.load(name) for name in ("heads", "drafts", "runtimes")}
        path = tmp_path / "arguments.json"
        path.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": arguments}))
        code = f"import sys; sys.path[:0] = {sys.path!r}; from {MODULE} import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60, check=False
        )
        assert "Traceback" not in done.stderr, done.stderr
        result = json.loads(done.stdout)
        assert bool(result.get("failed")) == (done.returncode != 0)
        return result

    return _run


def service(**changes):
    return dict(
        {
            "model": "Qwen/Qwen3-8B",
            "max_model_len": 4096,
            "gpu_memory_utilization": 0.75,
            "runtime": {"path": "/opt/none/bin/vllm"},
        },
        **changes,
    )


def test_defaults_fill_the_plan(run):
    result = run(jetson=NANO)
    assert result["changed"] is False
    plan = result["plan"]
    assert (plan["decision"], plan["code"]) == ("skip", "family")
    assert (plan["lease_s"], plan["start_deadline_s"], plan["measure_deadline_s"]) == (600, 900, 1800)
    assert plan["gate"]["prompts"] == 32 and plan["gate"]["min_gain"] == 0.3
    assert plan["installed"] is None and plan["served_by"] == "nothing"


def test_the_host_is_looked_at(run):
    plan = run(jetson=THOR, service=service())["plan"]
    assert plan["code"] in ("runtime_missing", "no_systemd")
    assert len(plan["baseline"]["digest"]) == 12


def test_the_marker_is_read(run, tmp_path):
    state = tmp_path / "state"
    state.mkdir()
    marker = {"schema": 1, "state": "baseline", "baseline": "0123456789ab", "candidate": None, "confirmed": None}
    (state / "state.json").write_text(json.dumps(marker))
    assert run(jetson=NANO)["plan"]["installed"] == marker


def test_a_broken_marker_is_a_reason_not_a_traceback(run, tmp_path):
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "state.json").write_text('{"schema": 1, "state": "sideways"}')
    plan = run(jetson=THOR, service=service())["plan"]
    assert (plan["decision"], plan["code"]) == ("refuse", "state_unreadable")


@pytest.mark.parametrize(
    ("parameters", "parts"),
    [
        (
            {"speculation": {"num_speculative_tokens": 0}},
            ["speculation.num_speculative_tokens must be at least 1, got 0"],
        ),
        ({"speculation": {"num_tokens": 3}}, ["speculation.num_tokens"]),
        ({"speculation": {"gate": {"promts": 3}}}, ["speculation.gate.promts"]),
        ({"speculation": {"gate": {"prompts": "many"}}}, ["prompts", "speculation -> gate"]),
        ({"speculation": {"method": "medusa"}}, ["method", "medusa"]),
        ({"speculation": {"catalogue": [{"target": "a/b"}]}}, ["model", "speculation -> catalogue"]),
        ({"service": service(prot=1)}, ["service.prot"]),
        ({"service": service(port="http")}, ["port", "service"]),
        ({"service": {"model": "a/b"}}, ["gpu_memory_utilization", "max_model_len", "service"]),
        ({"service": service(runtime={"type": "docker", "path": "/x"})}, ["docker", "service -> runtime"]),
        ({"service": service(extra_config={"speculative-config": {}})}, ["service.extra_config.speculative-config"]),
        ({"jetson": {"family": "thor"}}, ["jetson.is_jetson is missing"]),
    ],
)
def test_bad_settings_fail_and_name_the_field(run, parameters, parts):
    result = run(**dict({"jetson": THOR, "service": service()}, **parameters))
    assert result["failed"] is True
    for part in parts:
        assert part in result["msg"]


def test_without_its_action_plugin_it_says_what_is_missing(run):
    result = run(jetson=THOR, service=service(), catalogue=False)
    assert (result["failed"], result["code"]) == (True, "bad_catalogue")


def test_the_documentation_knows_every_option():
    documented = yaml.safe_load(specdec_plan.DOCUMENTATION)["options"]

    def compare(spec, options):
        assert set(spec) == set(options)
        for name, about in spec.items():
            assert options[name]["type"] == about["type"], name
            assert options[name].get("default") == about.get("default"), name
            assert options[name].get("choices") == about.get("choices"), name
            if "options" in about:
                compare(about["options"], options[name]["suboptions"])

    compare(specdec_plan.ARGUMENT_SPEC, documented)


def test_the_documentation_knows_every_key_of_the_plan(run):
    documented = yaml.safe_load(specdec_plan.RETURN)["plan"]["contains"]
    plan = run(jetson=NANO)["plan"]
    assert set(plan) == set(documented)
    assert set(plan["runtime"]) == set(documented["runtime"]["contains"])
