#!/usr/bin/python
# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
# Apache License 2.0, which is compatible with the GNU General Public License v3.0 that Ansible itself is under.

from __future__ import annotations

DOCUMENTATION = r"""
---
module: specdec_gate
short_description: Decide whether speculative decoding pays, from two measured arms
version_added: 1.0.0
description:
  - Compares what M(jetson.specdec.vllm_benchmark) measured without and with speculation, and says V(kept),
    V(rolled_back) or V(inconclusive), with a reason code, the effect and its interval.
  - Pure and deterministic. The same measurements give the same verdict, on every machine.
  - A measurement that is missing, zero, of a wrong type, unequal between the arms or at odds with itself is never a
    pass and never an error. It is V(inconclusive), with a code that starts with C(invalid_) and the name of the field.
  - The interval comes from a paired bootstrap over the prompts, drawn within their kind, widened by 1.5 % for what two
    starts of the same server differ. A level with fewer than 8 answers decides nothing.
author:
  - The jetson.specdec authors (@jetson-specdec)
extends_documentation_fragment:
  - jetson.specdec.attributes
attributes:
  check_mode:
    support: full
    details:
      - Never changes anything.
  diff_mode:
    support: none
    details:
      - There is nothing to show a difference of.
options:
  baseline:
    description:
      - The arm without speculation.
    type: dict
    required: true
    suboptions: &levels
      low:
        description:
          - What RV(jetson.specdec.vllm_benchmark#module:arm) says of one request at a time.
        type: dict
      high:
        description:
          - The same at O(profile.concurrency_high) requests at a time.
          - Without it in O(candidate) this is an early look, which only says V(rolled_back), V(inconclusive) or
            V(continue).
        type: dict
  candidate:
    description:
      - The arm with speculation.
    type: dict
    required: true
    suboptions: *levels
  slot:
    description:
      - Digest of the slot that the candidate was measured as. The receipt is for this slot and no other.
    type: str
    required: true
  num_speculative_tokens:
    description:
      - Number of tokens that the candidate must have drafted at a time.
    type: int
    required: true
  profile:
    description:
      - What was to be measured, and the thresholds.
    type: dict
    default: {}
    suboptions:
      name:
        description: Name of the profile, for reports.
        type: str
        default: default
      prompts:
        description: Answers that the low level must have, at least.
        type: int
        default: 32
      max_tokens:
        description: Longest answer, in tokens. Must be what was measured with.
        type: int
        default: 256
      c8_requests:
        description: Answers that the high level must have, at least.
        type: int
        default: 64
      concurrency_high:
        description: Requests at a time in the high level.
        type: int
        default: 8
      warmup_min:
        description: Fewest discarded requests. Recorded in the receipt, not judged.
        type: int
        default: 8
      warmup_max:
        description: Most discarded requests. Recorded in the receipt, not judged.
        type: int
        default: 24
      warmup_tolerance:
        description: Ratio within which the last warm-up medians agree. Recorded in the receipt, not judged.
        type: float
        default: 0.03
      min_gain:
        description: Ratio by which throughput at one request at a time must rise, V(0.3) is 30 %.
        type: float
        default: 0.3
      min_tpot_drop:
        description: Ratio by which the median time per output token must fall.
        type: float
        default: 0.2
      rollback_below:
        description: Gain below which speculation is taken back.
        type: float
        default: 0.1
      high_margin:
        description: Ratio by which throughput of the high level may fall. V(0) is the literal rule of NVIDIA's skill.
        type: float
        default: 0.03
      temperature:
        description: Sampling temperature. Must be what was measured with.
        type: float
        default: 0.0
      band_policy:
        description: What happens between O(profile.rollback_below) and O(profile.min_gain).
        type: str
        choices: [rollback]
        default: rollback
      resamples:
        description: Draws of the bootstrap. Fewer than 200 are taken as 200.
        type: int
        default: 2000
"""

EXAMPLES = r"""
- name: Decide, in a play that has measured both arms
  jetson.specdec.specdec_gate:
    baseline:
      low: "{{ baseline_c1.arm }}"
      high: "{{ baseline_c8.arm }}"
    candidate:
      low: "{{ candidate_c1.arm }}"
      high: "{{ candidate_c8.arm }}"
    slot: "{{ plan.candidate.digest }}"
    num_speculative_tokens: "{{ plan.num_speculative_tokens }}"
    profile: "{{ plan.gate }}"
  register: gate

- name: Look early, before the second level is measured
  jetson.specdec.specdec_gate:
    baseline:
      low: "{{ baseline_c1.arm }}"
    candidate:
      low: "{{ candidate_c1.arm }}"
    slot: "{{ plan.candidate.digest }}"
    num_speculative_tokens: 5
  register: look

- name: Decide on nothing, which is inconclusive and no error
  jetson.specdec.specdec_gate:
    baseline: {}
    candidate: {}
    slot: 3f2c90ab11de
    num_speculative_tokens: 5
  register: nothing
"""

RETURN = r"""
verdict:
  description:
    - V(kept), V(rolled_back) or V(inconclusive); V(continue) for an early look that decides nothing yet.
  type: str
  returned: success
  sample: kept
outcome:
  description: The verdict as a step's outcome. C(ok) is true for V(kept) and V(continue).
  type: dict
  returned: success
  sample:
    ok: false
    code: below_10
    text: "c=1 throughput +3.3% (27.1 -> 28.0 tok/s, 95 % interval +0.1% to +6.4%, n=32), TPOT p50 -3.1%
      (35.20 -> 34.11 ms): below the 10% under which it rolls back"
effect:
  description:
    - Candidate against baseline, as ratios (V(0.3) is 30 %). V(none) where the measurements could not be compared.
  type: dict
  returned: success
  contains:
    gain:
      description: Change of throughput at one request at a time, by wall time.
      type: float
      returned: always
    gain_ci:
      description: Its 95 % interval, low and high.
      type: list
      elements: float
      returned: always
    tpot_drop:
      description: Fall of the median time per output token at one request at a time. Positive is faster.
      type: float
      returned: always
    tpot_drop_ci:
      description: Its 95 % interval, low and high.
      type: list
      elements: float
      returned: always
    high_gain:
      description: Change of throughput of the high level, V(none) in an early look.
      type: float
      returned: always
    high_gain_ci:
      description: Its 95 % interval, low and high.
      type: list
      elements: float
      returned: always
    n:
      description: Requests in each arm at one at a time.
      type: int
      returned: always
    n_high:
      description: Requests in each arm of the high level.
      type: int
      returned: always
    prefill_share:
      description: Share of the baseline's request time that passes before the first token.
      type: float
      returned: always
    prompts_sha256:
      description: Digest of the prompts of the low level.
      type: str
      returned: always
summary:
  description:
    - Figures of each arm and level, V(none) where they could not be compared. C(throughput_tok_s) is in output tokens
      per second of wall time, C(tpot_ms_p50) and C(ttft_ms_p50) in milliseconds, C(n) counts requests.
    - The candidate has C(acceptance_length), tokens per step with the one that is always right, and C(acceptance_rate),
      accepted per drafted token, too.
  type: dict
  returned: success
warnings_found:
  description: What does not decide but matters, each with C(code) and C(text).
  type: list
  elements: dict
  returned: success
receipt:
  description:
    - What M(jetson.specdec.specdec_slot) demands for a confirm. V(none) for V(continue).
    - C(finished_boottime_s) is the host's CLOCK_BOOTTIME in seconds at the end of the last measurement.
  type: dict
  returned: success
  sample:
    schema: jetson.specdec/receipt/1
    verdict: kept
    slot: 3f2c90ab11de
    boot_id: 3c5f1a52-6b5e-4c57-9d0e-5a1c6d5d4f10
    finished_boottime_s: 8123.4
    samples_sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    profile_sha256: 60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.jetson.specdec.plugins.module_utils._gate.errors import GateError
from ansible_collections.jetson.specdec.plugins.module_utils._gate.verdict import decide


def main() -> None:
    """Entry point."""
    levels: dict[str, Any] = {"low": {"type": "dict"}, "high": {"type": "dict"}}
    module = AnsibleModule(
        argument_spec={
            "baseline": {"type": "dict", "required": True, "options": levels},
            "candidate": {"type": "dict", "required": True, "options": levels},
            "slot": {"type": "str", "required": True},
            "num_speculative_tokens": {"type": "int", "required": True, "no_log": False},
            "profile": {
                "type": "dict",
                "default": {},
                "options": {
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
                },
            },
        },
        supports_check_mode=True,
    )
    try:
        found = decide(
            module.params["baseline"],
            module.params["candidate"],
            module.params["profile"],
            module.params["slot"],
            module.params["num_speculative_tokens"],
        )
    except GateError as error:
        module.fail_json(msg=error.text, code=error.code)
    # "warnings" is Ansible's own key: what stands there is printed as a warning of the task.
    module.exit_json(changed=False, warnings_found=found.pop("warnings"), **found)


if __name__ == "__main__":
    main()
