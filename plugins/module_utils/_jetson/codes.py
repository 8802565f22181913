# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Every error and warning code of the probe, with what to do about it. PRIVATE to this collection.

One table, so that messages and documentation cannot drift apart.
"""

from __future__ import annotations

_TREE = "Compare /sys/firmware/devicetree/base/compatible with a healthy host of the same kind; reflash if it differs."

#: Code -> advice, appended to the message of a :class:`ProbeError`.
ERRORS: dict[str, str] = {
    "file_unreadable": "Check the file with 'ls -l' and 'dmesg'; the probe needs to read it.",
    "compatible_garbled": _TREE,
    "compatible_glued": "A device tree separates its entries with NUL bytes; look for a copied or re-typed file.",
    "compatible_witnesses_differ": "Look for a bind mount over one of the two paths.",
    "soc_missing": _TREE,
    "soc_unknown": "Update the collection, or leave this host out of the rollout.",
    "two_families": _TREE,
    "module_soc_mismatch": _TREE,
    "witnesses_disagree": "Look for a copied device tree, or for a bind mount over it.",
    "inside_container": "Point Ansible at the host itself, not at a container on it.",
    "tegra_without_l4t": "DRIVE and plain Linux on Tegra are not supported. On a Jetson, reinstall nvidia-l4t-core.",
    "l4t_without_tegra": "Remove the stray L4T file or package, or find out whose disk image this host runs.",
    "l4t_garbled": "Restore the file from the package: 'apt-get install --reinstall nvidia-l4t-core'.",
    "l4t_sources_disagree": "Finish or undo the upgrade of the nvidia-l4t packages, then reboot.",
    "l4t_unreadable": "Run 'dpkg-query -W nvidia-l4t-core' on the host and see why it does not answer.",
    "dpkg_half_configured": "Run 'dpkg --configure -a' on the host and repair what it names.",
    "dpkg_version_garbled": "Reinstall nvidia-l4t-core from NVIDIA's repository.",
    "impossible_pair": "Look for a container, a copied file or a disk image of another kind of Jetson.",
    "meminfo_garbled": "Look at /proc/meminfo on the host; MemFree is never used in place of MemAvailable.",
}

#: Code -> advice, appended to the text of a warning.
WARNINGS: dict[str, str] = {
    "module_unknown": "Nothing is guessed from it; update the collection if the module is new.",
    "module_ambiguous": "Nothing is rounded up: rules that need the exact module take it as unknown.",
    "module_emulated": "Rules follow the emulated module.",
    "variant_unknown": "Gather memory as well, or look at the label of the module.",
    "carrier_unknown": "This is normal on a third-party carrier and changes no rule.",
    "board_entry_unknown": "The entry was left out of the identification.",
    "not_aarch64": "No Jetson is anything else: expect a simulated host.",
    "container_with_init": "A system container is accepted because it runs its own init.",
    "dpkg_unread": "The release file was not cross-checked against the installed package.",
    "jetpack_unknown": "Rules use the L4T release; update the collection to see its JetPack name.",
    "l4t_newer": "Rules written for older releases may not hold.",
    "l4t_36_4_7_memory": "Large GPU allocations can fail on this release; update to L4T 36.5.",
    "r38_page_pool": "Drop the caches between stopping one server and starting the next.",
    "memory_implausible": "Check the device tree and the memory of this host.",
    "memory_unread": "Memory is reported as null.",
    "not_read": "The field is null.",
    "clock_wrong": "Set the clock (an RTC battery or NTP) before anything that uses TLS or dates.",
}
