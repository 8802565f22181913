#!/usr/bin/python
# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
# Apache License 2.0, which is compatible with the GNU General Public License v3.0 that Ansible itself is under.
from __future__ import annotations

DOCUMENTATION = r"""
---
module: specdec_plan
short_description: Decide what a Jetson may run with speculative decoding, and why
version_added: 0.1.0
description:
  - Applies the rules of NVIDIA's skill for speculative decoding on Jetson to one host. From what the host is and what
    the inventory wants served, it decides whether the host may speculate, by which method and with which draft, with
    how many tokens, on which vLLM and with how much memory.
  - Reads the configuration and the file sizes of local models and the package metadata of vLLM. Loads no weights,
    starts nothing and changes nothing.
  - A host that may not speculate is not a failure, its plan says C(skip). A host that lacks what its settings name has
    a plan that says C(refuse). The task fails only for settings that make no sense on any host.
author:
  - The jetson.specdec authors (@jetson-specdec)
extends_documentation_fragment:
  - jetson.specdec.attributes
attributes:
  check_mode:
    support: full
    details:
      - Reads only, check mode makes no difference.
  diff_mode:
    support: none
    details:
      - There is nothing that could differ.
options:
  jetson:
    description:
      - The host, as RV(jetson.specdec.jetson_info#module:jetson) describes it, with identity and memory.
    type: dict
    required: true
  service:
    description:
      - What the host serves without speculation; its baseline.
      - May be left out for hosts that can't speculate anyway.
    type: dict
    suboptions:
      model:
        description:
          - The served model, as an absolute path on the host or as a hub id.
          - Pairing with a head goes by this exact string.
        type: str
        required: true
      served_model_name:
        description:
          - Name under which clients ask for the model. Defaults to O(service.model).
        type: str
      host:
        description:
          - Address to listen on.
        type: str
        default: 127.0.0.1
      port:
        description:
          - Port to listen on.
        type: int
        default: 8000
      max_model_len:
        description:
          - Longest sequence, prompt and answer together, in tokens.
        type: int
        required: true
      gpu_memory_utilization:
        description:
          - Share of all memory that vLLM may use, between 0 and 1. The host's own value, which the candidate lowers by
            0.05.
        type: float
        required: true
      max_num_seqs:
        description:
          - Most sequences that are decoded at once.
        type: int
        default: 16
      extra_config:
        description:
          - Further options of vLLM, named as in its YAML configuration file.
          - Options that have a place of their own here, C(speculative-config) and secrets are refused.
        type: dict
        default: {}
      environment:
        description:
          - Environment of the server. Stored readable on the host, so it must hold no secrets.
        type: dict
        default: {}
      runtime:
        description:
          - The vLLM that serves.
        type: dict
        required: true
        suboptions:
          type:
            description:
              - How vLLM is installed.
            type: str
            choices: [native]
            default: native
          path:
            description:
              - Absolute path of the C(vllm) executable on the host.
            type: path
            required: true
          validated_by:
            description:
              - Who validated this runtime on this kind of host. Needed where the rules name another runtime, and shown
                wherever the plan is.
            type: str
  speculation:
    description:
      - How speculation is rolled out.
    type: dict
    default: {}
    suboptions:
      method:
        description:
          - Method to use instead of what the catalogue says.
        type: str
        choices: [eagle3, draft_model, mtp, ngram, dflash]
      draft:
        description:
          - Head or draft model to use instead of what the catalogue says, as an absolute path or a hub id. Needs
            O(speculation.method).
        type: str
      num_speculative_tokens:
        description:
          - Tokens proposed per step, at least 1. Defaults to the family's, 5 on Thor and 3 on AGX Orin.
        type: int
      concurrency:
        description:
          - How many clients the host serves at once, as far as its operator knows.
        type: int
        default: 1
      allow_high_concurrency:
        description:
          - Go on where O(speculation.concurrency) is 8 or more.
        type: bool
        default: false
      catalogue:
        description:
          - The site's own heads and drafts. They win over the shipped ones.
        type: list
        elements: dict
        default: []
        suboptions:
          target:
            description:
              - The served model, exactly as in O(service.model).
            type: str
            required: true
          method:
            description:
              - How vLLM is to use it.
            type: str
            choices: [eagle3, draft_model, dflash]
            default: eagle3
          model:
            description:
              - The head or draft, as an absolute path or a hub id.
            type: str
            required: true
          note:
            description:
              - Anything worth remembering about this pair.
            type: str
      lease_s:
        description:
          - How long an unconfirmed candidate outlives its controller, in seconds, at least 15.
        type: int
        default: 600
      start_deadline_s:
        description:
          - How long a server may take to start, in seconds.
        type: int
        default: 900
      measure_deadline_s:
        description:
          - How long a candidate may stay unconfirmed after it became ready, in seconds.
        type: int
        default: 1800
      headroom_gib:
        description:
          - Memory that must stay free beside vLLM and the system, in GiB.
        type: float
        default: 2.0
      gate:
        description:
          - What is measured, and what decides.
        type: dict
        default: {}
        suboptions:
          name:
            description:
              - Name of this profile, for reports.
            type: str
            default: default
          prompts:
            description:
              - Requests at concurrency 1.
            type: int
            default: 32
          max_tokens:
            description:
              - Longest answer, in tokens.
            type: int
            default: 256
          c8_requests:
            description:
              - Requests at O(speculation.gate.concurrency_high).
            type: int
            default: 64
          concurrency_high:
            description:
              - The higher concurrency, at which throughput must not fall.
            type: int
            default: 8
          warmup_min:
            description:
              - Fewest requests before measuring.
            type: int
            default: 8
          warmup_max:
            description:
              - Most requests before measuring.
            type: int
            default: 24
          warmup_tolerance:
            description:
              - Relative spread at which the server counts as warm.
            type: float
            default: 0.03
          min_gain:
            description:
              - Relative gain in throughput at concurrency 1 from which the candidate is kept.
            type: float
            default: 0.3
          min_tpot_drop:
            description:
              - Relative drop of the median time per output token that a kept candidate also shows.
            type: float
            default: 0.2
          rollback_below:
            description:
              - Relative gain below which the candidate is rolled back.
            type: float
            default: 0.1
          high_margin:
            description:
              - Relative loss of throughput at the higher concurrency that is still noise.
            type: float
            default: 0.03
          temperature:
            description:
              - Sampling temperature, the same in both arms.
            type: float
            default: 0.0
          band_policy:
            description:
              - What happens to a candidate between the two limits.
            type: str
            choices: [rollback]
            default: rollback
          resamples:
            description:
              - Resamples for the confidence interval.
            type: int
            default: 2000
  state_dir:
    description:
      - Where the collection keeps its state on the host.
    type: path
    default: /var/lib/jetson-specdec
  unit:
    description:
      - Name of the server's unit.
    type: str
    default: vllm.service
  catalogue:
    description:
      - The shipped catalogue. Filled in on the controller; not for playbooks.
    type: dict
seealso:
  - module: jetson.specdec.jetson_info
  - module: jetson.specdec.specdec_slot
"""

EXAMPLES = r"""
- name: Find out what this host is
  jetson.specdec.jetson_info:
    gather: [identity, memory]
  register: host

- name: Plan its speculation
  jetson.specdec.specdec_plan:
    jetson: "{{ host.jetson }}"
    service:
      model: Qwen/Qwen3-8B
      max_model_len: 8192
      gpu_memory_utilization: 0.75
      runtime:
        path: /opt/vllm/bin/vllm
    speculation:
      concurrency: 2
  register: planned

- name: Show the decision
  ansible.builtin.debug:
    msg: "{{ planned.plan.decision }}: {{ planned.plan.text }}"

- name: Plan with a head of our own for a model of our own
  jetson.specdec.specdec_plan:
    jetson: "{{ host.jetson }}"
    service:
      model: /srv/models/robot-8b
      max_model_len: 4096
      gpu_memory_utilization: 0.7
      runtime:
        path: /opt/vllm/bin/vllm
    speculation:
      catalogue:
        - target: /srv/models/robot-8b
          method: eagle3
          model: /srv/models/robot-8b-eagle3
"""

RETURN = r"""
plan:
  description: What this host may run, and why.
  returned: success
  type: dict
  contains:
    decision:
      description: V(speculate), V(skip) by the rules, or V(refuse) because the host lacks or contradicts what is set.
      type: str
      sample: speculate
    code:
      description: Stable name of the reason.
      type: str
      sample: speculate
    text:
      description: The decision in one sentence, with its numbers.
      type: str
      sample: eagle3 with RedHatAI/Qwen3-8B-speculator.eagle3, 5 tokens, on vLLM 0.32.0;
        gpu-memory-utilization 0.75 -> 0.70, headroom 28.8 GiB
    reasons:
      description: Every check that was made, in order, with its code and a sentence. The last one decided.
      type: list
      elements: dict
      sample: [{code: jetson, text: this is a Jetson T5000}]
    family:
      description: Family of the Jetson.
      type: str
      sample: thor
    l4t:
      description: Release of the L4T system.
      type: str
      sample: 38.4.0
    method:
      description: Method of speculation; null where none was chosen.
      type: str
      sample: eagle3
    draft:
      description: Head or draft model; null for methods without one.
      type: str
      sample: RedHatAI/Qwen3-8B-speculator.eagle3
    num_speculative_tokens:
      description: Tokens proposed per step.
      type: int
      sample: 5
    runtime:
      description: The vLLM that serves both arms, and whether it follows the rule or the operator.
      type: dict
      contains:
        type:
          description: How it is installed.
          type: str
          sample: native
        path:
          description: Its executable.
          type: str
          sample: /opt/vllm/bin/vllm
        image:
          description: Its image; null for a native one.
          type: str
        vllm_version:
          description: Its version; null where it was not looked at.
          type: str
          sample: 0.32.0
        operator_decision:
          description: Whether the rules name another runtime for this host.
          type: bool
          sample: false
        validated_by:
          description: Who validated it here.
          type: str
        text:
          description: The rule and how this runtime stands to it.
          type: str
    memory:
      description: Memory figures in GiB and utilisations as fractions; null where a figure is not known, null as a
        whole where the plan ended before.
      type: dict
      sample: {total_gib: 122.84, candidate_utilization: 0.7, outside_budget_gib: 36.85, headroom_gib: 28.85}
    drop_caches:
      description: Whether caches must be dropped between stop and start for memory to come back.
      type: bool
      sample: true
    served_by:
      description: Whose server runs, V(nothing), V(ours) or V(foreign); null where that could not be found out.
      type: str
      sample: ours
    served_text:
      description: The same in a sentence.
      type: str
    installed:
      description: What the state directory says is installed; null where nothing is.
      type: dict
    baseline:
      description: The slot without speculation, as digest and spec; null without O(service).
      type: dict
    candidate:
      description: The slot with speculation, as digest and spec; null unless the decision is V(speculate).
      type: dict
    already_confirmed:
      description: Whether exactly this candidate, over exactly this baseline, has passed its gate on this host.
      type: bool
      sample: false
    client:
      description: Host, port and model name to ask; null without O(service).
      type: dict
      sample: {host: 127.0.0.1, port: 8000, model: Qwen/Qwen3-8B}
    gate:
      description: The profile of the gate with all defaults.
      type: dict
    lease_s:
      description: How long an unconfirmed candidate outlives its controller, in seconds.
      type: int
      sample: 600
    start_deadline_s:
      description: How long a server may take to start, in seconds.
      type: int
      sample: 900
    measure_deadline_s:
      description: How long a candidate may stay unconfirmed after it became ready, in seconds.
      type: int
      sample: 1800
code:
  description: Stable name of what is wrong with the settings.
  returned: failure
  type: str
  sample: bad_setting
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._plan.decision import decide
from ..module_utils._plan.errors import PlanError
from ..module_utils._plan.settings import METHODS
from ..module_utils._slots import store, units
from ..module_utils._slots.errors import SlotError

RUNTIME_SPEC = {
    "type": {"type": "str", "choices": ["native"], "default": "native"},
    "path": {"type": "path", "required": True},
    "validated_by": {"type": "str"},
}

SERVICE_SPEC = {
    "model": {"type": "str", "required": True},
    "served_model_name": {"type": "str"},
    "host": {"type": "str", "default": "127.0.0.1"},
    "port": {"type": "int", "default": 8000},
    "max_model_len": {"type": "int", "required": True},
    "gpu_memory_utilization": {"type": "float", "required": True},
    "max_num_seqs": {"type": "int", "default": 16},
    "extra_config": {"type": "dict", "default": {}},
    "environment": {"type": "dict", "default": {}},
    "runtime": {"type": "dict", "required": True, "options": RUNTIME_SPEC},
}

GATE_SPEC = {
    "name": {"type": "str", "default": "default"},
    "prompts": {"type": "int", "default": 32},
    "max_tokens": {"type": "int", "default": 256, "no_log": False},
    "c8_requests": {"type": "int", "default": 64},
    "concurrency_high": {"type": "int", "default": 8},
    "warmup_min": {"type": "int", "default": 8},
    "warmup_max": {"type": "int", "default": 24},
    "warmup_tolerance": {"type": "float", "default": 0.03},
    "min_gain": {"type": "float", "default": 0.3},
    "min_tpot_drop": {"type": "float", "default": 0.2},
    "rollback_below": {"type": "float", "default": 0.1},
    "high_margin": {"type": "float", "default": 0.03},
    "temperature": {"type": "float", "default": 0.0},
    "band_policy": {"type": "str", "choices": ["rollback"], "default": "rollback"},
    "resamples": {"type": "int", "default": 2000},
}

SITE_ROW_SPEC = {
    "target": {"type": "str", "required": True},
    "method": {"type": "str", "choices": ["eagle3", "draft_model", "dflash"], "default": "eagle3"},
    "model": {"type": "str", "required": True},
    "note": {"type": "str"},
}

SPECULATION_SPEC = {
    "method": {"type": "str", "choices": list(METHODS)},
    "draft": {"type": "str"},
    "num_speculative_tokens": {"type": "int", "no_log": False},
    "concurrency": {"type": "int", "default": 1},
    "allow_high_concurrency": {"type": "bool", "default": False},
    "catalogue": {"type": "list", "elements": "dict", "default": [], "options": SITE_ROW_SPEC},
    "lease_s": {"type": "int", "default": 600},
    "start_deadline_s": {"type": "int", "default": 900},
    "measure_deadline_s": {"type": "int", "default": 1800},
    "headroom_gib": {"type": "float", "default": 2.0},
    "gate": {"type": "dict", "default": {}, "options": GATE_SPEC},
}

ARGUMENT_SPEC = {
    "jetson": {"type": "dict", "required": True},
    "service": {"type": "dict", "options": SERVICE_SPEC},
    "speculation": {"type": "dict", "default": {}, "options": SPECULATION_SPEC},
    "state_dir": {"type": "path", "default": "/var/lib/jetson-specdec"},
    "unit": {"type": "str", "default": "vllm.service"},
    "catalogue": {"type": "dict"},
}


def main() -> None:
    module = AnsibleModule(argument_spec=ARGUMENT_SPEC, supports_check_mode=True)
    parameters = module.params
    service = parameters["service"]
    try:
        marker = None
        served: dict[str, str | None] = {"by": "nothing", "text": "nothing is set to be served"}
        try:
            marker = store.read_marker(parameters["state_dir"])
            if service:
                served.update(units.who_serves(parameters["unit"], service["host"], service["port"]))
        except SlotError as exc:
            served = {"by": None, "code": exc.code, "text": exc.text}
        except OSError as exc:
            served = {"by": None, "code": "state_unreadable", "text": f"{exc.filename} can't be read: {exc.strerror}"}
        plan = decide(
            parameters["jetson"],
            service,
            parameters["speculation"],
            parameters["catalogue"] or {},
            served,
            marker,
            store.slot_digest,
        )
    except PlanError as exc:
        module.fail_json(msg=exc.text, code=exc.code)
    module.exit_json(changed=False, plan=plan)


if __name__ == "__main__":
    main()
