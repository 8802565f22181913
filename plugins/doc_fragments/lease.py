# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The lease, which every module that waits for an armed candidate renews."""

from __future__ import annotations


class ModuleDocFragment:
    """The option by which a module is told to renew."""

    DOCUMENTATION = r"""
options:
  lease:
    description:
      - The lease of an armed candidate to renew while waiting, with the keys C(state_dir), C(run_id) and C(lease_s).
    type: dict
    suboptions:
      state_dir:
        description: State directory of this collection on the host.
        type: path
        required: true
      run_id:
        description: The run that armed the candidate.
        type: str
        required: true
      lease_s:
        description: Seconds that the lease lasts from each renewal on.
        type: int
        required: true
"""
