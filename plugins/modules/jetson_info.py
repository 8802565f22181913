#!/usr/bin/python
# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
# Apache License 2.0, which is compatible with the GNU General Public License v3.0 that Ansible itself is under.
"""Tell truthfully which Jetson a host is, or that it is none."""

from __future__ import annotations

DOCUMENTATION = r"""
module: jetson_info
short_description: Tell truthfully which Jetson a host is, or that it is none
version_added: 1.0.0
description:
  - Reads the device tree, the L4T release and the memory of a host. Changes nothing, needs no root and no network.
  - The family comes from the device tree's C(compatible) and never from its C(model), which is free text. What cannot
    be told apart for sure is C(null), with a row in RV(jetson.warnings); nothing is rounded up to a bigger module.
  - A host that is not a Jetson is a clean answer, RV(jetson.is_jetson=false) with a sentence in RV(jetson.why_not).
  - A host that contradicts itself makes the module fail with a RV(code), for example a chip with an L4T release
    that was never made for it, a container, a DRIVE, or a device tree that names two families.
author:
  - The jetson.specdec authors (@jetson-specdec)
extends_documentation_fragment:
  - jetson.specdec.attributes
attributes:
  check_mode:
    support: full
    details: The module only reads.
  diff_mode:
    support: N/A
    details: The module changes nothing.
options:
  gather:
    description:
      - The parts to read. Keys of a part that was not read are C(null), or V(unknown) where NVIDIA's words say so.
      - V(identity) is family, chip, module, carrier, L4T and JetPack. V(memory) is memory and swap.
    type: list
    elements: str
    choices:
      - identity
      - memory
    default:
      - identity
      - memory
  as_facts:
    description:
      - Also return the answer as the fact C(ansible_facts.jetson).
    type: bool
    default: false
notes:
  - Free memory is always C(MemAvailable), which is also what vLLM takes as free on these chips.
seealso:
  - module: jetson.specdec.specdec_plan
"""

EXAMPLES = r"""
- name: Ask every host what it is
  jetson.specdec.jetson_info:
  register: probe

- name: Show family, release and free memory
  ansible.builtin.debug:
    msg: >-
      {{ probe.jetson.family if probe.jetson.is_jetson else probe.jetson.why_not }},
      L4T {{ probe.jetson.l4t }}, {{ probe.jetson.mem_available_mib }} MiB available

- name: Keep the identity as a fact, without memory
  jetson.specdec.jetson_info:
    gather:
      - identity
    as_facts: true
"""

RETURN = r"""
jetson:
  description: What the host is. Every key is always there; C(null) means unknown, not gathered, or not a Jetson.
  returned: success
  type: dict
  contains:
    is_jetson:
      description: Whether the host is a Jetson with L4T. C(null) when V(identity) was not gathered.
      type: bool
      sample: true
    why_not:
      description: A sentence that says why the host is not a Jetson.
      type: str
      sample: null
    family:
      description:
        - The family that rules hang on. One of V(thor), V(agx_orin), V(orin_nx), V(orin_nano), V(agx_xavier),
          V(xavier_nx), V(tx2), V(nano), V(tx1).
        - C(null) on a Jetson whose exact kind the device tree does not name; a warning says so.
      type: str
      sample: thor
    soc:
      description: The chip.
      type: str
      sample: tegra264
    module:
      description: Part number of the module; of the emulated one where a module emulates another.
      type: str
      sample: p3834-0008
    module_name:
      description: Name of the module. C(null) for a part number that is not in the table.
      type: str
      sample: Jetson T5000
    carrier:
      description: Part number of the carrier board, as read. Third-party carriers are reported, with a warning.
      type: str
      sample: p4071-0000
    model:
      description: The device tree's free text, for display only.
      type: str
      sample: NVIDIA Jetson AGX Thor Developer Kit
    super:
      description: Whether the device tree is a Super one.
      type: bool
      sample: false
    emulated_on:
      description: Part number of the module that is really there, where it emulates another one.
      type: str
      sample: null
    l4t:
      description: L4T release, always three numbers.
      type: str
      sample: 38.4.0
    l4t_parts:
      description: The three numbers of RV(jetson.l4t), for comparisons.
      type: list
      elements: int
      sample: [38, 4, 0]
    l4t_source:
      description: Where the release was read, V(file) or V(dpkg). Where both are there they agree.
      type: str
      sample: file
    jetpack:
      description: JetPack of this L4T release, from an exact table. C(null) when the release is not in it.
      type: str
      sample: "7.1"
    compute_capability:
      description: CUDA compute capability of the chip.
      type: str
      sample: "11.0"
    mem_total_mib:
      description: C(MemTotal), in MiB.
      type: int
      sample: 125772
    mem_available_mib:
      description: C(MemAvailable), in MiB.
      type: int
      sample: 118034
    swap_total_mib:
      description: C(SwapTotal), in MiB.
      type: int
      sample: 0
    swap_free_mib:
      description: C(SwapFree), in MiB.
      type: int
      sample: 0
    zram_mib:
      description: Size of the swap that lies in compressed memory, in MiB.
      type: int
      sample: 0
    boot_id:
      description: The kernel's id of this boot.
      type: str
      sample: 0d8f3c1e-0c7f-4b8e-9d5a-0f5f4f2f7f11
    architecture:
      description: Machine name of the kernel.
      type: str
      sample: aarch64
    hostname:
      description: The host's own name.
      type: str
      sample: thor-01
    python:
      description: The interpreter that ran the module.
      type: dict
      contains:
        executable:
          description: Its path.
          type: str
          sample: /usr/bin/python3
        version:
          description: Its version.
          type: str
          sample: 3.12.3
    sku:
      description:
        - V(thor), V(orin-agx), V(orin-nx), V(orin-nano) or V(unknown), the words of NVIDIA's C(detect_jetson.sh).
      type: str
      sample: thor
    generation:
      description: V(thor), V(orin), V(xavier), V(tx2), V(tegra210) or V(unknown).
      type: str
      sample: thor
    product_line:
      description: V(thor-agx), V(orin-agx), V(orin-nx), V(orin-nano) or V(unknown).
      type: str
      sample: thor-agx
    variant:
      description: The module with its size, or V(unknown) where it cannot be told for sure.
      type: str
      sample: thor-t5000
    mem_total_gb:
      description: C(MemTotal) rounded to whole GiB, as NVIDIA's C(detect_jetson.sh) does it.
      type: int
      sample: 123
    l4t_version:
      description: The same as RV(jetson.l4t), or V(unknown).
      type: str
      sample: 38.4.0
    gathered:
      description: The parts that were read.
      type: list
      elements: str
      sample: [identity, memory]
    warnings:
      description: What is odd about the host without making the answer wrong.
      type: list
      elements: dict
      contains:
        code:
          description: A stable name for programs.
          type: str
          sample: jetpack_unknown
        text:
          description: What, why and what to do.
          type: str
          sample: >-
            No JetPack is known for L4T 36.6.0. Rules use the L4T release; update the collection to see its JetPack
            name.
ansible_facts:
  description: The answer as a fact.
  returned: when O(as_facts=true)
  type: dict
  contains:
    jetson:
      description: The same as RV(jetson).
      type: dict
      returned: when O(as_facts=true)
code:
  description: A stable name of the reason.
  returned: failure
  type: str
  sample: impossible_pair
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._jetson.errors import ProbeError
from ..module_utils._jetson.probe import PARTS_OF_PROBE, probe
from ..module_utils._jetson.reading import Reader


def main() -> None:
    parts = list(PARTS_OF_PROBE)
    module = AnsibleModule(
        argument_spec={
            "gather": {"type": "list", "elements": "str", "choices": parts, "default": parts},
            "as_facts": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    try:
        facts = probe(Reader(), module.params["gather"])
    except ProbeError as exc:
        module.fail_json(msg=exc.text, code=exc.code)
    result: dict[str, Any] = {"changed": False, "jetson": facts}
    if module.params["as_facts"]:
        result["ansible_facts"] = {"jetson": facts}
    module.exit_json(**result)


if __name__ == "__main__":
    main()
