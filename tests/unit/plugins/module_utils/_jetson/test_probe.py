# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Whole hosts, laid out as files: the right answer, a clean no, or a named error."""

from __future__ import annotations

import re
from typing import Any, Callable

import pytest

from ansible_collections.jetson.specdec.plugins.module_utils._jetson import probe as probe_module
from ansible_collections.jetson.specdec.plugins.module_utils._jetson.errors import ProbeError
from ansible_collections.jetson.specdec.plugins.module_utils._jetson.probe import probe

THOR = b"nvidia,p4071-0000+p3834-0008\0nvidia,p3834-0008\0nvidia,tegra264\0"
AGX = b"nvidia,p3737-0000+p3701-0005\0nvidia,p3701-0005\0nvidia,tegra234\0nvidia,tegra23x\0"
NANO = b"nvidia,p3768-0000+p3767-0005-super\0nvidia,p3767-0005\0nvidia,tegra234\0"
XAVIER = b"nvidia,p2972-0000\0nvidia,jetson-xavier\0nvidia,tegra194\0"


def thor(host: Any) -> Any:
    host.compatible(THOR).file("/sys/firmware/devicetree/base/model", b"NVIDIA Jetson AGX Thor Developer Kit\0")
    return host.release(38, "4.0").package("ii ", "38.4.0-20251230160601").memory(125772, 118034)


def codes(facts: dict[str, Any]) -> list[str]:
    return [row["code"] for row in facts["warnings"]]


def refused(host: Any, **kwargs: Any) -> str:
    with pytest.raises(ProbeError) as caught:
        probe(host.reader(**kwargs))
    assert caught.value.text.isprintable()
    return caught.value.code


def test_f01_thor_whole_answer(host: Any) -> None:
    facts = probe(thor(host).reader())
    python, hostname = facts.pop("python"), facts.pop("hostname")
    assert python["executable"] and python["version"] and hostname
    assert facts.pop("warnings")[0]["code"] == "r38_page_pool"
    assert facts == {
        "is_jetson": True,
        "why_not": None,
        "family": "thor",
        "soc": "tegra264",
        "module": "p3834-0008",
        "module_name": "Jetson T5000",
        "carrier": "p4071-0000",
        "model": "NVIDIA Jetson AGX Thor Developer Kit",
        "super": False,
        "emulated_on": None,
        "l4t": "38.4.0",
        "l4t_parts": [38, 4, 0],
        "l4t_source": "file",
        "jetpack": "7.1",
        "compute_capability": "11.0",
        "mem_total_mib": 125772,
        "mem_available_mib": 118034,
        "swap_total_mib": 1024,
        "swap_free_mib": 512,
        "zram_mib": None,
        "boot_id": "0d8f3c1e-0c7f-4b8e-9d5a-0f5f4f2f7f11",
        "architecture": "aarch64",
        "sku": "thor",
        "generation": "thor",
        "product_line": "thor-agx",
        "variant": "thor-t5000",
        "mem_total_gb": 123,
        "l4t_version": "38.4.0",
        "gathered": ["identity", "memory"],
    }


@pytest.mark.parametrize(
    ("compatible", "l4t", "total_mib", "expected"),
    [
        (AGX, (36, "4.4"), 62841, ("agx_orin", "36.4.4", "6.2.1", "orin-agx", "orin-agx-64gb", "8.7", False)),
        (AGX, (39, "2.0"), 62841, ("agx_orin", "39.2.0", "7.2", "orin-agx", "orin-agx-64gb", "8.7", False)),
        (NANO, (39, "2.0"), 7486, ("orin_nano", "39.2.0", "7.2", "orin-nano", "orin-nano-8gb", "8.7", True)),
        (THOR, (39, "2.0"), 125811, ("thor", "39.2.0", "7.2", "thor", "thor-t5000", "11.0", False)),
        (XAVIER, (35, "3.1"), 30000, ("agx_xavier", "35.3.1", "5.1.1", "unknown", "unknown", "7.2", False)),
    ],
)
def test_families(host: Any, compatible: bytes, l4t: Any, total_mib: int, expected: tuple[Any, ...]) -> None:
    facts = probe(host.compatible(compatible).release(*l4t).no_package().memory(total_mib).reader())
    keys = ("family", "l4t", "jetpack", "sku", "variant", "compute_capability", "super")
    assert tuple(facts[key] for key in keys) == expected
    assert facts["is_jetson"] is True and facts["warnings"] == []


def test_the_model_is_never_believed(host: Any) -> None:
    thor(host).file("/sys/firmware/devicetree/base/model", b"NVIDIA Jetson Orin Nano Developer Kit\0")
    assert probe(host.reader())["family"] == "thor"


@pytest.mark.parametrize(
    ("compatible", "major", "revision"),
    [(AGX, 38, "4.0"), (THOR, 36, "4.4"), (XAVIER, 36, "4.4"), (NANO, 38, "2.0")],
)
def test_f13_f14_impossible_pairs(host: Any, compatible: bytes, major: int, revision: str) -> None:
    assert refused(host.compatible(compatible).release(major, revision).no_package()) == "impossible_pair"


@pytest.mark.parametrize(
    ("lay", "machine", "why"),
    [
        (lambda h: h.compatible(b"raspberrypi,5-model-b\0brcm,bcm2712\0"), "aarch64", "names raspberrypi,5-model-b"),
        (lambda h: h, "x86_64", r"host \(x86_64\) has no device tree"),
        (lambda h: h.file("/sys/class/dmi/id/product_name", b"NVIDIA_DGX_Spark\n"), "aarch64", "DGX_Spark"),
        (lambda h: h.file("/run/.containerenv", b"").file("/proc/1/comm", b"sh\n"), "x86_64", "no device tree"),
        (lambda h: h.file("/run/.containerenv", b""), "aarch64", "no device tree"),
        (lambda h: h.file("/etc/nv_tegra_release", b""), "x86_64", "no device tree"),
    ],
    ids=["F15", "F16", "F17", "container on x86", "system container", "empty release file"],
)
def test_not_a_jetson_is_a_clean_answer(host: Any, lay: Callable[[Any], Any], machine: str, why: str) -> None:
    facts = probe(lay(host).reader(machine=machine))
    assert facts["is_jetson"] is False and facts["family"] is None and facts["l4t"] is None
    assert facts["mem_total_mib"] == 15656 and facts["sku"] == "unknown"
    assert re.search(why, facts["why_not"])
    assert facts["warnings"] == []


def test_not_a_jetson_with_a_broken_meminfo_is_still_a_clean_answer(host: Any) -> None:
    facts = probe(host.file("/proc/meminfo", b"garbage\n").reader(machine="x86_64"))
    assert facts["is_jetson"] is False and facts["mem_total_mib"] is None and facts["mem_available_mib"] is None
    assert codes(facts) == ["memory_unread"]


@pytest.mark.parametrize("dpkg", [lambda h: h.no_package(), lambda h: h, lambda h: h.package("rc ", "36.4.3-1")])
def test_f18_tegra_without_l4t(host: Any, dpkg: Callable[[Any], Any]) -> None:
    assert refused(dpkg(host.compatible(AGX))) == "tegra_without_l4t"


@pytest.mark.parametrize(
    ("lay", "machine", "code"),
    [
        (lambda h: thor(h).file("/etc/nv_tegra_release", b"").file("/.dockerenv", b""), "aarch64", "inside_container"),
        (lambda h: thor(h).file("/.dockerenv", b"").file("/proc/1/comm", b"bash\n"), "aarch64", "inside_container"),
        (
            lambda h: h.compatible(THOR).no_package().file("/run/.containerenv", b""),
            "aarch64",
            "inside_container",
        ),
        (
            lambda h: h.file("/.dockerenv", b"").file("/proc/1/comm", b"python3\n"),
            "aarch64",
            "inside_container",
        ),
        (lambda h: thor(h).file("/etc/nv_tegra_release", b""), "aarch64", "l4t_garbled"),
        (lambda h: thor(h).package("ii ", "38.2.0-20250821174705"), "aarch64", "l4t_sources_disagree"),
        (lambda h: thor(h).package("iF ", "38.4.0-20251230160601"), "aarch64", "dpkg_half_configured"),
        (lambda h: h.release(38, "4.0"), "x86_64", "l4t_without_tegra"),
        (
            lambda h: h.compatible(b"linux,dummy-virt\0").file("/sys/devices/soc0/family", b"Tegra\n"),
            "aarch64",
            "witnesses_disagree",
        ),
        (
            lambda h: h.file("/sys/class/dmi/id/product_name", b"NVIDIA Jetson AGX Thor Developer Kit\n"),
            "aarch64",
            "witnesses_disagree",
        ),
        (
            lambda h: thor(h).file("/sys/class/dmi/id/product_name", b"NVIDIA Jetson AGX Orin Developer Kit\n"),
            "aarch64",
            "witnesses_disagree",
        ),
        (lambda h: thor(h).file("/proc/device-tree/compatible", AGX), "aarch64", "compatible_witnesses_differ"),
        (lambda h: thor(h).compatible(THOR.replace(b"\0", b"")), "aarch64", "compatible_glued"),
        (lambda h: thor(h).compatible(THOR + b"nvidia,tegra234\0"), "aarch64", "two_families"),
        (lambda h: thor(h).compatible(b""), "aarch64", "compatible_garbled"),
        (lambda h: thor(h).file("/proc/meminfo", b"MemTotal: 5 kB\nMemFree: 5 kB\n"), "aarch64", "meminfo_garbled"),
    ],
)
def test_contradictions_are_loud(host: Any, lay: Callable[[Any], Any], machine: str, code: str) -> None:
    assert refused(lay(host), machine=machine) == code


def test_missing_meminfo_on_a_jetson_is_loud(host: Any) -> None:
    thor(host)
    (host.root / "proc/meminfo").unlink()
    assert refused(host) == "meminfo_garbled"


def test_the_package_answers_where_there_is_no_file(host: Any) -> None:
    thor(host)
    (host.root / "etc/nv_tegra_release").unlink()
    facts = probe(host.reader())
    assert (facts["l4t"], facts["l4t_source"]) == ("38.4.0", "dpkg")


def test_no_dpkg_at_all(host: Any) -> None:
    thor(host)
    (host.root / "usr/bin/dpkg-query").unlink()
    assert probe(host.reader())["l4t"] == "38.4.0"


def test_a_hanging_dpkg_is_a_warning(host: Any) -> None:
    facts = probe(thor(host).command("dpkg-query", "exec sleep 60").reader(command_timeout_s=0.3))
    assert facts["l4t"] == "38.4.0" and "dpkg_unread" in codes(facts)


def test_a_system_container_with_everything_is_accepted_and_said(host: Any) -> None:
    facts = probe(thor(host).file("/run/systemd/container", b"podman\n").reader())
    assert facts["family"] == "thor" and "container_with_init" in codes(facts)


def test_a_foreign_machine_is_said(host: Any) -> None:
    assert "not_aarch64" in codes(probe(thor(host).reader(machine="x86_64")))


def test_second_witness_alone(host: Any) -> None:
    host.file("/proc/device-tree/compatible", THOR).release(39, "2.0").no_package()
    assert probe(host.reader())["family"] == "thor"


def test_f33_unknown_releases(host: Any) -> None:
    facts = probe(host.compatible(AGX).release(36, "6.0").no_package().reader())
    assert (facts["l4t"], facts["jetpack"]) == ("36.6.0", None) and "jetpack_unknown" in codes(facts)
    facts = probe(host.release(40, "0.0").reader())
    assert (facts["l4t"], facts["jetpack"]) == ("40.0.0", None) and "l4t_newer" in codes(facts)


def test_f54_a_clock_at_1970(host: Any) -> None:
    facts = probe(thor(host).reader(clock=lambda: 42.0))
    assert facts["family"] == "thor" and "clock_wrong" in codes(facts)


def test_a_garbled_boot_id_is_null(host: Any) -> None:
    facts = probe(thor(host).file("/proc/sys/kernel/random/boot_id", b"zzz\n").reader())
    assert facts["boot_id"] is None and "not_read" in codes(facts)


def test_gather_chooses(host: Any) -> None:
    thor(host)
    memory = probe(host.reader(), ["memory"])
    assert memory["mem_total_mib"] == 125772 and memory["is_jetson"] is None and memory["family"] is None
    identity = probe(host.reader(), ["identity"])
    assert identity["family"] == "thor" and identity["mem_total_mib"] is None
    assert memory.keys() == identity.keys() == probe(host.reader()).keys()
    assert (memory["gathered"], identity["gathered"]) == (["memory"], ["identity"])


def test_a_broken_tree_does_not_stop_memory_alone(host: Any) -> None:
    assert probe(host.compatible(b"\xff").reader(), ["memory"])["mem_total_mib"] == 15656


FILES = {
    "compatible": "/sys/firmware/devicetree/base/compatible",
    "release": "/etc/nv_tegra_release",
    "meminfo": "/proc/meminfo",
    "boot_id": probe_module.BOOT_ID,
    "dmi": probe_module.DMI_PRODUCT,
}
MUTATIONS: dict[str, Callable[[bytes], bytes]] = {
    "half": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "doubled": lambda data: data + data,
    "crlf": lambda data: data.replace(b"\n", b"\r\n"),
    "bom": lambda data: b"\xef\xbb\xbf" + data,
    "utf-16": lambda data: data.decode("latin-1").encode("utf-16"),
    "utf-16-le": lambda data: data.decode("latin-1").encode("utf-16-le"),
    "nul": lambda data: b"\0" * len(data),
}


@pytest.mark.parametrize("mutation", MUTATIONS.values(), ids=MUTATIONS.keys())
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("compatible", [THOR, AGX, NANO, XAVIER], ids=["thor", "agx", "nano", "xavier"])
def test_mutated_files_give_the_right_value_or_a_named_error(
    host: Any, compatible: bytes, name: str, mutation: Callable[[bytes], bytes]
) -> None:
    host.compatible(compatible).no_package().file(FILES["dmi"], b"Some Board\n")
    host.release(35 if compatible is XAVIER else 39, "3.1" if compatible is XAVIER else "2.0")
    right = probe(host.reader())
    host.file(FILES[name], mutation((host.root / FILES[name].lstrip("/")).read_bytes()))
    try:
        facts = probe(host.reader())
    except ProbeError as exc:
        assert exc.code
        return
    for key in ("is_jetson", "family", "module", "l4t", "jetpack", "mem_total_mib", "mem_available_mib"):
        assert facts[key] == right[key], key
    assert facts["boot_id"] in (right["boot_id"], None)


@pytest.mark.parametrize("name", ["compatible", "release", "meminfo"])
def test_a_file_cut_anywhere_gives_the_right_value_or_a_named_error(host: Any, name: str) -> None:
    host.compatible(AGX).release(36, "4.7").no_package()
    right = probe(host.reader())
    whole = (host.root / FILES[name].lstrip("/")).read_bytes()
    errors = 0
    for end in range(len(whole)):
        host.file(FILES[name], whole[:end])
        try:
            facts = probe(host.reader())
        except ProbeError:
            errors += 1
            continue
        for key in ("is_jetson", "family", "module", "l4t", "mem_total_mib", "mem_available_mib"):
            assert facts[key] == right[key], (end, key)
    assert errors > 10
