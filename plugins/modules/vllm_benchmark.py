#!/usr/bin/python
# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
# Apache License 2.0, which is compatible with the GNU General Public License v3.0 that Ansible itself is under.

from __future__ import annotations

DOCUMENTATION = r"""
---
module: vllm_benchmark
short_description: Measure a running vLLM server at one concurrency, on the device
version_added: 1.0.0
description:
  - Drives the server in a closed loop of streamed completions and returns samples and summary of one arm at one
    concurrency, a level.
  - The measuring runs on the host, against its own address, as a detached transient unit that writes its result to
    disk. The first call starts it, each call waits for O(wait_s) at most, and a call that finds the result returns it.
    A lost connection neither ends nor spoils a measurement. Call the module in an C(until) loop on RV(finished).
  - Proxies are never used. The device package must have been laid by M(jetson.specdec.specdec_slot).
  - TPOT is (latency - TTFT) / (output tokens - 1) with tokens from C(usage); throughput is output tokens / wall time.
    The gap between chunks (C(itl_ms_p50)) is not the time of a token, since a chunk carries several under speculation.
  - Both arms get the same prompts in the same order. A short mark at the start of each prompt and a cache salt keep
    the prefix cache out of the measurement.
  - Foreseen bad ends are reported in RV(outcome) and do not fail the task.
author:
  - The jetson.specdec authors (@jetson-specdec)
extends_documentation_fragment:
  - jetson.specdec.attributes
  - jetson.specdec.lease
attributes:
  check_mode:
    support: partial
    details:
      - Checks its arguments, measures nothing and says so, with RV(outcome.code=check_mode).
  diff_mode:
    support: none
  idempotent:
    support: full
    details:
      - Measuring changes no setting, so RV(ignore:changed) is always false. A second call with the same O(run_id),
        O(arm) and O(concurrency) returns what was measured.
  platform:
    support: full
    platforms: posix
    details:
      - Needs systemd and root.
options:
  arm:
    description: Which setting is measured.
    type: str
    required: true
    choices: [baseline, candidate]
  run_id:
    description:
      - Names the measurement together with O(arm) and O(concurrency). Letters, digits and C(_.:-), 64 at most.
    type: str
    required: true
  slot:
    description: Digest of the slot that serves, recorded with the figures.
    type: str
  state_dir:
    description: State directory of this collection on the host.
    type: path
    default: /var/lib/jetson-specdec
  client:
    description: The server, as RV(jetson.specdec.specdec_plan#module:plan) has it in C(client).
    type: dict
    required: true
    suboptions:
      host:
        description: Address at which the server listens, as seen on the host itself.
        type: str
        default: 127.0.0.1
      port:
        description: Port at which the server listens.
        type: int
        default: 8000
      model:
        description: Id under which the model is served.
        type: str
        required: true
  num_speculative_tokens:
    description: Number of speculative tokens that should be live; a difference is a warning in the level.
    type: int
    default: 0
  concurrency:
    description: Number of requests that are under way at any time.
    type: int
    default: 1
  requests:
    description: Number of requests that are measured. Prompts are taken in turn, after the last the first again.
    type: int
    default: 32
  prompts:
    description:
      - The prompts. Without it, the first O(prompt_count) of the collection's own are taken, its four kinds in turn.
    type: list
    elements: dict
    suboptions:
      id:
        description: Name of the prompt, by which the arms are paired.
        type: str
        required: true
      kind:
        description: Group of the prompt, by which the gate resamples.
        type: str
        default: site
      text:
        description: The prompt. It must fit the model's context together with O(max_tokens).
        type: str
        required: true
  prompt_count:
    description: Number of the collection's own prompts to use, 32 at most. Not used with O(prompts).
    type: int
    default: 32
  max_tokens:
    description: Longest answer, in tokens.
    type: int
    default: 256
  temperature:
    description: Sampling temperature. Never left to the server, whose default makes speculation look worse.
    type: float
    default: 0.0
  ignore_eos:
    description:
      - Go on to O(max_tokens) even where the model would end.
      - Text beyond its natural end repeats itself and flatters the draft, so leave this off outside of tests.
    type: bool
    default: false
  warmup_min:
    description: Least number of discarded requests before the measuring.
    type: int
    default: 0
  warmup_max:
    description: Greatest number of discarded requests; V(0) for no warm-up.
    type: int
    default: 0
  warmup_tolerance:
    description: The warm-up ends when three medians of TPOT in a row lie within this share of each other.
    type: float
    default: 0.03
  wait_s:
    description: Longest time, in seconds, that one call waits.
    type: int
    default: 15
  deadline_s:
    description: Longest time, in seconds, that the measuring may take. What is not done by then is not measured.
    type: int
    default: 1800
seealso:
  - module: jetson.specdec.vllm_ready
  - module: jetson.specdec.specdec_gate
"""

EXAMPLES = r"""
- name: Measure the baseline, one request at a time
  jetson.specdec.vllm_benchmark:
    arm: baseline
    run_id: 2026-12-01T10-00-00
    client:
      model: llama-3.1-8b
    warmup_min: 8
    warmup_max: 24
  become: true
  register: low
  until: low.finished
  retries: 130
  delay: 0

- name: Measure the candidate with eight requests at a time on the site's own prompts
  jetson.specdec.vllm_benchmark:
    arm: candidate
    run_id: 2026-12-01T10-00-00
    client:
      model: llama-3.1-8b
    num_speculative_tokens: 5
    concurrency: 8
    requests: 64
    prompts:
      - id: pick-and-place
        text: Describe step by step how the arm should take the red cube out of the tray.
      - id: log-summary
        text: Summarise what this log says about the left wheel encoder, then list what to check first.
  become: true
  register: high
  until: high.finished
  retries: 130
  delay: 0
"""

RETURN = r"""
finished:
  description: The measurement has ended, with a level or without.
  returned: always
  type: bool
  sample: true
outcome:
  description:
    - How it ended; RV(outcome.code=running) while it is not finished, RV(outcome.code=measured) with a level.
    - Other codes are V(check_mode), V(deadline), V(benchmark_died), V(client_failed), V(not_started), V(not_writable),
      V(result_unreadable), V(no_systemd), V(systemd_silent), and what ended or spoiled every request, which is one of
      V(refused), V(timeout), V(connection_lost), V(truncated), V(garbage), V(stream_error), V(server_error), V(auth),
      V(rate_limited), V(bad_request), V(too_long), V(wrong_model), V(no_usage), V(wrong_counts) and V(empty).
  returned: always
  type: dict
  contains:
    ok:
      description: Nothing went wrong so far.
      type: bool
    code:
      description: Stable name of the outcome.
      type: str
    text:
      description: One sentence.
      type: str
  sample: {ok: true, code: measured, text: "32 of 32 requests completed at concurrency 1, 57.3 tok/s"}
arm:
  description: The level; C(null) while there is none. A figure that could not be taken is C(null), never 0.
  returned: always
  type: dict
  contains:
    schema:
      description: Name and version of this form.
      type: str
      sample: jetson.specdec/level/1
    arm:
      description: As given.
      type: str
    slot:
      description: As given.
      type: str
    run_id:
      description: As given.
      type: str
    concurrency:
      description: As given.
      type: int
    requests:
      description: As given.
      type: int
    max_tokens:
      description: As given.
      type: int
    temperature:
      description: As given.
      type: float
    ignore_eos:
      description: As given.
      type: bool
    completed:
      description: Number of requests that completed.
      type: int
    errors:
      description: Code and text of each request that did not, with its number, and of what ended the measuring.
      type: list
      elements: dict
    duration_s:
      description: Wall time of the measured window, in seconds.
      type: float
    output_tokens:
      description: Tokens of the completed requests, from C(usage).
      type: int
    throughput_tok_s:
      description: Output tokens / wall time, in tokens per second.
      type: float
    ttft_ms_p50:
      description: Median time to the first chunk, in milliseconds.
      type: float
    tpot_ms_p50:
      description: Median over requests of (latency - TTFT) / (output tokens - 1), in milliseconds.
      type: float
    itl_ms_p50:
      description: Median gap between chunks, in milliseconds. Not the time of a token.
      type: float
    e2e_ms_p50:
      description: Median time from request to last chunk, in milliseconds.
      type: float
    prefill_share:
      description: Sum of TTFT / sum of latency.
      type: float
    prompts_sha256:
      description: Identity of the prompts, order included.
      type: str
    samples:
      description: >-
        One record for each request that was sent, in the order of the prompts, with C(prompt), C(kind), C(status),
        C(sent_s), C(ttft_ms), C(tpot_ms), C(e2e_ms), C(chunks), C(prompt_tokens), C(output_tokens), C(finish_reason),
        C(error), C(text_sha256), C(text_head) and C(text_flags). The text itself is not kept. C(text_flags) holds
        C(empty), C(undecodable) or C(repetitive) for text that is.
      type: list
      elements: dict
    speculation:
      description: >-
        What the server's own counters say of the window, with C(num_speculative_tokens_seen), C(drafts),
        C(draft_tokens), C(accepted_tokens), C(acceptance_rate) = accepted / draft tokens, C(acceptance_length) =
        1 + accepted / drafts, and C(per_position), the share of drafts whose token at that position was accepted.
        C(null) when the server has no such counters.
      type: dict
    foreign_requests:
      description: Requests of somebody else that finished in the window. C(null) when the server does not count.
      type: int
    boot_id:
      description: The boot in which it was measured.
      type: str
    server_pid:
      description: The process that listened.
      type: int
    server_start_ticks:
      description: Its start, in clock ticks since boot.
      type: int
    started_boottime_s:
      description: When it began, in seconds of CLOCK_BOOTTIME.
      type: float
    finished_boottime_s:
      description: When it ended, in seconds of CLOCK_BOOTTIME.
      type: float
    client_cpu_s:
      description: CPU seconds of the measuring process.
      type: float
    outcome:
      description: As RV(outcome).
      type: dict
    warnings:
      description: >-
        Code and text of what makes the figures less sure, namely C(warmup_unsettled), C(busy), C(foreign_requests),
        C(prefix_cache_hits), C(preemptions), C(wrong_k) and C(no_counters).
      type: list
      elements: dict
progress:
  description: How far it is.
  returned: always
  type: dict
  contains:
    phase:
      description: One of V(starting), V(warmup) and V(measure).
      type: str
    done:
      description: Requests that have ended in this phase.
      type: int
    total:
      description: Requests of this phase; of a warm-up, the most that it may take.
      type: int
    tok_s:
      description: Output tokens per second so far; C(null) before the first.
      type: float
cpu_s:
  description: CPU seconds that this call took on the host, its children included, the detached measuring not.
  returned: always
  type: float
  sample: 0.2
"""

import os
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.jetson.specdec.plugins.module_utils._slots import lease
from ansible_collections.jetson.specdec.plugins.module_utils._vllm import benchmark, detached
from ansible_collections.jetson.specdec.plugins.module_utils._vllm.errors import VllmError

# What the caller has to change; everything else is an outcome.
BAD_INPUT = ("bad_spec", "spec_changed", "no_device_package")
SPEC_NAMES = (
    "arm",
    "run_id",
    "slot",
    "client",
    "num_speculative_tokens",
    "concurrency",
    "requests",
    "prompts",
    "max_tokens",
    "temperature",
    "ignore_eos",
    "warmup_min",
    "warmup_max",
    "warmup_tolerance",
    "deadline_s",
)


def main() -> None:
    """Entry point."""
    module = AnsibleModule(
        argument_spec={
            "arm": {"type": "str", "required": True, "choices": ["baseline", "candidate"]},
            "run_id": {"type": "str", "required": True},
            "slot": {"type": "str"},
            "state_dir": {"type": "path", "default": "/var/lib/jetson-specdec"},
            "client": {
                "type": "dict",
                "required": True,
                "options": {
                    "host": {"type": "str", "default": "127.0.0.1"},
                    "port": {"type": "int", "default": 8000},
                    "model": {"type": "str", "required": True},
                },
            },
            "num_speculative_tokens": {"type": "int", "default": 0, "no_log": False},
            "concurrency": {"type": "int", "default": 1},
            "requests": {"type": "int", "default": 32},
            "prompts": {
                "type": "list",
                "elements": "dict",
                "options": {
                    "id": {"type": "str", "required": True},
                    "kind": {"type": "str", "default": "site"},
                    "text": {"type": "str", "required": True},
                },
            },
            "prompt_count": {"type": "int", "default": 32},
            "max_tokens": {"type": "int", "default": 256, "no_log": False},
            "temperature": {"type": "float", "default": 0.0},
            "ignore_eos": {"type": "bool", "default": False},
            "warmup_min": {"type": "int", "default": 0},
            "warmup_max": {"type": "int", "default": 0},
            "warmup_tolerance": {"type": "float", "default": 0.03},
            "wait_s": {"type": "int", "default": 15},
            "deadline_s": {"type": "int", "default": 1800},
            "lease": {
                "type": "dict",
                "options": {
                    "state_dir": {"type": "path", "required": True},
                    "run_id": {"type": "str", "required": True},
                    "lease_s": {"type": "int", "required": True},
                },
            },
        },
        supports_check_mode=True,
    )
    given = module.params
    spec = dict({name: given[name] for name in SPEC_NAMES}, schema=benchmark.SPEC_SCHEMA)
    result: dict[str, Any] = {"finished": False, "level": None, "progress": None}
    try:
        detached_arm = detached.Detached(given["state_dir"], spec)
        if module.check_mode:
            result["outcome"] = {"ok": True, "code": "check_mode", "text": "nothing is measured in check mode"}
        else:
            with lease.kept(given["lease"]):
                result = detached_arm.poll(float(given["wait_s"]))
    except VllmError as exc:
        if exc.code in BAD_INPUT:
            module.fail_json(msg=exc.text, code=exc.code)
        result.update(finished=True, outcome={"ok": False, "code": exc.code, "text": exc.text})
    module.exit_json(
        changed=False,
        finished=result["finished"],
        outcome=result["outcome"],
        arm=result["level"],
        progress=result["progress"],
        cpu_s=round(sum(os.times()[:4]), 3),
    )


if __name__ == "__main__":
    main()
