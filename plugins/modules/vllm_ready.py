#!/usr/bin/python
# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
# Apache License 2.0, which is compatible with the GNU General Public License v3.0 that Ansible itself is under.

from __future__ import annotations

DOCUMENTATION = r"""
---
module: vllm_ready
short_description: Find out whether the vLLM server that was just started is really ready
version_added: 1.0.0
description:
  - Climbs a ladder in which each rung is a proof. The unit has a process, the port answers, C(/health) does not say
    that the engine is dead, the model is served under its id, a completion arrives, the counters of speculation have
    moved and count the right number of tokens, and the process that answered is the one of the unit that was started.
  - C(/health) alone proves little. A server with a head of the wrong size answers 200 there, fails its first completion
    and is gone four seconds later with exit status 0.
  - A server that died is asked for its log, and the cause is named in RV(outcome).
  - One call is one poll, which blocks for O(wait_s) at most. Call it in an C(until) loop on RV(finished).
  - Foreseen bad ends are reported in RV(outcome) and do not fail the task.
author:
  - The jetson.specdec authors (@jetson-specdec)
extends_documentation_fragment:
  - jetson.specdec.attributes
  - jetson.specdec.lease
attributes:
  check_mode:
    support: full
    details:
      - Changes nothing in either mode. It does send one short completion to the server, and renews O(lease) where one
        is given, outside check mode only.
  diff_mode:
    support: none
  idempotent:
    support: full
  platform:
    support: full
    platforms: posix
    details:
      - Needs systemd, and root to see which process holds the port, unless O(unit) is empty.
options:
  host:
    description: Address at which the server listens, as seen on the host itself.
    type: str
    default: 127.0.0.1
  port:
    description: Port at which the server listens.
    type: int
    default: 8000
  model:
    description: Id under which the model must be served.
    type: str
    required: true
  num_speculative_tokens:
    description:
      - Number of speculative tokens that must be live.
      - V(0) means that speculation must be off.
    type: int
    default: 0
  unit:
    description:
      - The systemd unit that must own the answering process.
      - Empty for a server that no unit of this host runs; neither process, log nor deadline are looked at then.
    type: str
    default: vllm.service
  api_key:
    description: API key of the server.
    type: str
  wait_s:
    description:
      - Longest time, in seconds, that one call waits.
      - Collecting the last words of a dying server and a slow systemd can add a few seconds.
    type: int
    default: 15
  deadline_s:
    description:
      - Longest time, in seconds, from the start of the unit's process until it must be ready.
      - A process that is older when it is looked at first is still given one O(wait_s).
    type: int
    default: 900
  started:
    description:
      - The start that is meant, as RV(jetson.specdec.specdec_slot#module:started) has it, with the keys
        C(invocation_id) and C(main_pid). Further keys are ignored.
      - Without it, whatever the unit runs now is looked at.
    type: dict
seealso:
  - module: jetson.specdec.specdec_slot
  - module: jetson.specdec.vllm_benchmark
"""

EXAMPLES = r"""
- name: Wait until the candidate speculates with five tokens
  jetson.specdec.vllm_ready:
    model: llama-3.1-8b
    num_speculative_tokens: 5
    started: "{{ armed.started }}"
    deadline_s: 900
    lease:
      state_dir: /var/lib/jetson-specdec
      run_id: "{{ run_id }}"
      lease_s: 600
  become: true
  register: ready
  until: ready.finished
  retries: 70
  delay: 1

- name: Ask a server that systemd does not run on this host
  jetson.specdec.vllm_ready:
    host: 192.0.2.10
    model: llama-3.1-8b
    unit: ""
    wait_s: 5
  register: ready
"""

RETURN = r"""
ready:
  description: The whole ladder was climbed.
  returned: always
  type: bool
  sample: true
finished:
  description: Looking again would change nothing, because the server is ready or has failed for good.
  returned: always
  type: bool
  sample: true
stage:
  description: The rung at which this look ended.
  returned: always
  type: str
  sample: ready
outcome:
  description:
    - How it ended. RV(outcome.code=waiting) while it is not finished.
    - Other codes are V(ready), V(start_failed), V(oom), V(rejected_config), V(wrong_head), V(missing_model),
      V(port_taken), V(unsupported_gpu), V(crash), V(hang), V(deadline), V(auth), V(wrong_model),
      V(speculation_inactive), V(speculation_in_baseline), V(wrong_k), V(wrong_process), V(no_systemd) and
      V(systemd_silent).
  returned: always
  type: dict
  contains:
    ok:
      description: The server is ready.
      type: bool
    code:
      description: Stable name of the outcome.
      type: str
    text:
      description: One sentence, with the line of the log that gave the name.
      type: str
  sample: {ok: true, code: ready, text: "tiny at 127.0.0.1:8000 completes with 5 speculative tokens"}
failure:
  description: More on a failure that the log named; C(null) otherwise.
  returned: always
  type: dict
  contains:
    failure_class:
      description: Finer name than RV(outcome.code), such as C(OOM_KV).
      type: str
    answer:
      description: What helps. One of V(roll_back), V(free_memory), V(retry_once) and V(stop_fleet).
      type: str
server:
  description: What is known of the server; C(null) for what the ladder did not reach.
  returned: always
  type: dict
  contains:
    version:
      description: Version of vLLM.
      type: str
    model:
      description: Id of the served model.
      type: str
    max_model_len:
      description: Longest context, in tokens.
      type: int
    num_speculative_tokens_seen:
      description: Number of positions that the running server counts; 0 without speculation.
      type: int
    main_pid:
      description: Main process of the unit.
      type: int
    invocation_id:
      description: What systemd calls this start.
      type: str
    started_monotonic_s:
      description: Start of the main process, in seconds of the host's CLOCK_MONOTONIC.
      type: float
waited_s:
  description: Seconds that this call waited.
  returned: always
  type: float
  sample: 4.2
cpu_s:
  description: CPU seconds that this call took on the host, its children included.
  returned: always
  type: float
  sample: 0.2
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.jetson.specdec.plugins.module_utils._slots import lease
from ansible_collections.jetson.specdec.plugins.module_utils._vllm import ready
from ansible_collections.jetson.specdec.plugins.module_utils._vllm.errors import VllmError


def main() -> None:
    """Entry point."""
    module = AnsibleModule(
        argument_spec={
            "host": {"type": "str", "default": "127.0.0.1"},
            "port": {"type": "int", "default": 8000},
            "model": {"type": "str", "required": True},
            "num_speculative_tokens": {"type": "int", "default": 0, "no_log": False},
            "unit": {"type": "str", "default": "vllm.service"},
            "api_key": {"type": "str", "no_log": True},
            "wait_s": {"type": "int", "default": 15},
            "deadline_s": {"type": "int", "default": 900},
            "started": {"type": "dict"},
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
    for name, least in (("port", 1), ("num_speculative_tokens", 0), ("wait_s", 1), ("deadline_s", 1)):
        if given[name] < least:
            module.fail_json(msg=f"{name} must be {least} or more, not {given[name]}", code="bad_setting")
    started = given["started"] or {}
    settings = ready.ReadySettings(
        host=given["host"],
        port=given["port"],
        model=given["model"],
        num_speculative_tokens=given["num_speculative_tokens"],
        unit=given["unit"],
        api_key=given["api_key"],
        invocation_id=started.get("invocation_id") or None,
        main_pid=int(started.get("main_pid") or 0) or None,
        deadline_s=float(given["deadline_s"]),
    )
    try:
        with lease.kept(None if module.check_mode else given["lease"]):
            result = ready.wait(settings, float(given["wait_s"]))
    except VllmError as exc:
        result = ready.ReadyResult(False, True, "process", exc.code, exc.text)
    failure = None
    if result.failure_class:
        failure = {"failure_class": result.failure_class, "answer": result.answer}
    module.exit_json(
        changed=False,
        ready=result.ready,
        finished=result.finished,
        stage=result.stage,
        outcome=result.outcome(),
        failure=failure,
        server=result.server,
        waited_s=result.waited_s,
        cpu_s=round(sum(os.times()[:4]), 3),
    )


if __name__ == "__main__":
    main()
