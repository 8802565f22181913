# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""What each module says about check mode, diff mode and idempotence, in the words that ansible-doc knows."""

from __future__ import annotations


class ModuleDocFragment:
    """Descriptions of the attributes. Each module states its support, with details wherever it is not full."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying the target.
  diff_mode:
    description:
      - Will return details on what has changed, or would change in C(check_mode), when in diff mode.
  idempotent:
    description: When run twice in a row outside check mode, with the same arguments, the second run reports no change.
    support: full
  platform:
    description: Target OS and families that can be operated against.
    support: full
    platforms: linux
"""
