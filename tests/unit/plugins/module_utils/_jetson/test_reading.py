# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The reading layer: nothing on the host can hold it, and nothing that a command does is an exception."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from ansible_collections.jetson.specdec.plugins.module_utils._jetson.errors import show
from ansible_collections.jetson.specdec.plugins.module_utils._jetson.reading import Unreadable, text_of


def test_missing_is_none(host: Any) -> None:
    assert host.reader().read("/etc/nothing") is None
    assert host.reader().read("/proc/meminfo/below-a-file") is None


def test_too_large_a_folder_and_a_fifo_are_unreadable(host: Any) -> None:
    host.file("/etc/large", b"x" * 101)
    assert host.reader().read("/etc/large", limit=101) == b"x" * 101
    with pytest.raises(Unreadable, match="larger than 100 bytes"):
        host.reader().read("/etc/large", limit=100)
    with pytest.raises(Unreadable, match="regular"):
        host.reader().read("/etc")
    os.mkfifo(host.root / "etc/fifo")
    with pytest.raises(Unreadable, match="regular"):
        host.reader().read("/etc/fifo")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_no_permission_is_unreadable(host: Any) -> None:
    host.file("/etc/secret", b"x")
    (host.root / "etc/secret").chmod(0)
    with pytest.raises(Unreadable, match="Permission denied"):
        host.reader().read("/etc/secret")


def test_commands_run_side_by_side_and_a_hanging_one_costs_its_limit_once(host: Any) -> None:
    host.command("hang", "sleep 60")
    host.command("hang-in-a-child", "sleep 60 & echo started")
    host.command("fine", "echo out; echo err >&2; exit 3")
    begin = time.monotonic()
    results = host.reader(command_timeout_s=0.5).run_all(
        [["hang"], ["hang"], ["fine"], ["absent"], ["hang-in-a-child"]]
    )
    assert time.monotonic() - begin < 3
    assert [result.rc for result in results] == [None, None, 3, None, 0]
    assert results[0].stopped and results[1].stopped and not results[2].stopped
    assert (results[2].out, results[2].err) == (b"out\n", b"err\n")
    assert results[3].missing and not results[0].missing
    assert results[4].out == b"started\n"


def test_endless_output_is_cut_and_the_command_killed(host: Any) -> None:
    host.command("endless", "exec yes")
    (result,) = host.reader(command_timeout_s=20).run_all([["endless"]])
    assert result.rc is None and "wrote more than" in result.stopped
    assert len(result.out) == 256 * 1024


def test_commands_get_no_input_and_speak_english(host: Any) -> None:
    host.command("ask", 'read -r answer || echo "$LC_ALL nothing"')
    (readable, writable), stdin = os.pipe(), os.dup(0)
    os.write(writable, b"an answer meant for somebody else\n")
    os.dup2(readable, 0)
    try:
        (result,) = host.reader().run_all([["ask"]])
    finally:
        os.dup2(stdin, 0)
        for fd in (readable, writable, stdin):
            os.close(fd)
    assert result.out == b"C nothing\n"


def test_a_command_that_cannot_start_is_a_result(host: Any) -> None:
    host.file("/usr/bin/odd", b"\x7fELF nonsense")
    (host.root / "usr/bin/odd").chmod(0o755)
    (result,) = host.reader().run_all([["odd"]])
    assert result.rc == 127 and result.err


def test_text_for_display_is_printable(host: Any) -> None:
    host.file("/model", b"NVIDIA \xff\x1b[31mJetson\0\n")
    assert text_of(host.reader(), "/model") == "NVIDIA \\xff\\x1b[31mJetson"
    assert text_of(host.reader(), "/absent") is None
    assert show(b"a" * 500) == "'" + "a" * 120 + "…'"
