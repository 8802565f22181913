#!/usr/bin/python
# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
# Apache License 2.0, which is compatible with the GNU General Public License v3.0 that Ansible itself is under.

# The documentation of an action plugin: everything happens on the controller.
from __future__ import annotations

DOCUMENTATION = r"""
---
module: specdec_report
short_description: Print the fleet table of a rollout and write its report
version_added: 1.0.0
description:
  - Takes what the hosts recorded, prints a table with each host's numbers before and after, its verdict and one
    sentence of reason, and writes the same as JSON and as Markdown.
  - Runs on the controller. Prints nothing where the stdout callback is one that programs read (C(json), C(jsonl)).
  - A field that is missing in a result is C(-) in the table and C(null) in JSON, never 0.
author:
  - The jetson.specdec authors (@jetson-specdec)
extends_documentation_fragment:
  - jetson.specdec.attributes
attributes:
  check_mode:
    support: full
    details:
      - Prints the table, says that nothing was changed, and writes no file.
  diff_mode:
    support: none
    details:
      - There is nothing to show a difference of.
options:
  results:
    description:
      - One dict for each host, with C(host), C(state), C(code), C(text), and where there are any C(next), C(plan),
        C(summary), C(effect) and C(slot).
    type: list
    elements: dict
    required: true
  members:
    description:
      - All hosts of the run, in the order of the table. One without a result is reported as failed.
    type: list
    elements: str
    default: []
  run:
    description:
      - About the run, C(id), C(started), C(owner), C(profile), C(check) and C(halted), the sentence of why it stopped.
    type: dict
    default: {}
  dest:
    description:
      - Folder on the controller below which a folder of the run's id takes C(report.json) and C(report.md).
      - Empty for no files, for instance in AWX, whose job folder is gone when the job ends. The report is in
        RV(report), too.
      - A file that can't be written is a warning.
    type: str
    default: ""
  fail_on:
    description:
      - States that make the run fail.
    type: list
    elements: str
    choices: [kept, rolled_back, inconclusive, planned, skipped, refused, not_attempted, unreachable, failed, broken]
    default: [refused, unreachable, not_attempted, broken, failed]
  fail:
    description:
      - Fail the task when a host ended in one of O(fail_on). Without it RV(failing) tells.
    type: bool
    default: true
  print:
    description:
      - Print the table.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Report two hosts, and write no files
  jetson.specdec.specdec_report:
    results:
      - {host: nano-01, state: skipped, code: family, text: "an Orin Nano is not fast enough to gain"}
      - {host: thor-01, state: kept, code: already_confirmed, text: "nothing to do"}
    members: [thor-01, nano-01]
    run:
      id: 20261201-101500-a91f
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
report:
  description:
    - The report of form C(jetson.specdec/report/1), as in C(report.json).
  type: dict
  returned: always
lines:
  description: The lines of the table, without colors.
  type: list
  elements: str
  returned: always
counts:
  description: How many hosts ended in which state.
  type: dict
  returned: always
  sample: {kept: 2, rolled_back: 1, skipped: 3}
failing:
  description: Hosts that ended in one of O(fail_on).
  type: list
  elements: str
  returned: always
path:
  description: Folder of the files, V(none) where none were written.
  type: str
  returned: always
  sample: /home/operator/reports/20261201-101500-a91f
"""
