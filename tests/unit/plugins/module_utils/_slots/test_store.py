# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Slots and marker on a real file system, and the start script under a real shell."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.jetson.specdec.plugins.module_utils._slots import disk, store
from ansible_collections.jetson.specdec.plugins.module_utils._slots.errors import SlotError

from .conftest import make_spec

DUMPER = [sys.executable, "-c", "import json,os,sys; print(json.dumps([sys.argv[1:], dict(os.environ)]))"]


def make_store(tmp_path):
    return store.Store(str(tmp_path / "state"), str(tmp_path / "run"))


def test_digest_names_what_is_served_and_nothing_else():
    spec = make_spec()
    assert store.slot_digest(spec) == store.slot_digest(dict(spec, facts={"drop_caches": True}))
    for change in ({"command": ["x"]}, {"environment": {}}, {"revisions": {"model": "1"}}, {"config": {}}):
        assert store.slot_digest(dict(spec, **change)) != store.slot_digest(spec)


def test_stage_is_idempotent_and_an_edited_slot_is_refused(tmp_path):
    here = make_store(tmp_path)
    spec = make_spec()
    digest = store.slot_digest(spec)
    assert here.stage(spec) is True
    assert here.stage(spec) is False
    assert here.load_slot(digest) == spec
    with open(os.path.join(here.slot_dir(digest), "start"), "a") as handle:
        handle.write("# edited\n")
    with pytest.raises(SlotError) as error:
        here.load_slot(digest)
    assert error.value.code == "slot_damaged"
    assert here.stage(spec) is True
    assert here.load_slot(digest) == spec


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"schema": 1}', '{"schema": 1, "state": "baseline", "baseline": null}', '{"schema": 2}'],
)
def test_a_marker_without_sense_is_never_taken_for_none(tmp_path, text):
    here = make_store(tmp_path)
    disk.write_durable(here.marker_path, text)
    with pytest.raises(SlotError) as error:
        here.read_marker()
    assert error.value.code == "state_unreadable"


def test_history_is_bounded(tmp_path):
    here = make_store(tmp_path)
    for number in range(store.HISTORY_LINES + 20):
        here.record("test", number=number)
    lines = disk.read_text(here.history_path).splitlines()
    assert len(lines) == store.HISTORY_LINES
    assert json.loads(lines[-1])["number"] == store.HISTORY_LINES + 19


def run_start(here, digest):
    """Run a start script as systemd would, apart from systemd."""
    return subprocess.run(
        [os.path.join(here.slot_dir(digest), "start")],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin"},
    )


WORDS = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=20)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(WORDS, max_size=4), value=WORDS)
def test_every_word_and_value_arrives_as_it_was_written(tmp_path, words, value):
    here = make_store(tmp_path)
    spec = dict(make_spec(), command=DUMPER + words, environment={"HOSTILE": value})
    here.stage(spec)
    done = run_start(here, store.slot_digest(spec))
    assert done.returncode == 0, done.stderr
    argv, environment = json.loads(done.stdout)
    config = os.path.join(here.slot_dir(store.slot_digest(spec)), "serve.yaml")
    assert argv == words + ["--config", config]
    assert environment["HOSTILE"] == value


def test_an_unconfirmed_candidate_starts_once_and_only_with_a_permit(tmp_path):
    here = make_store(tmp_path)
    spec = dict(make_spec("candidate"), command=DUMPER)
    digest = store.slot_digest(spec)
    here.stage(spec)
    marker = {"schema": 1, "state": "candidate", "candidate": digest, "confirmed": None}
    here.write_marker(marker)
    assert run_start(here, digest).returncode == store.EXIT_NO_PERMIT
    here.grant_permit(digest)
    assert run_start(here, digest).returncode == 0
    assert run_start(here, digest).returncode == store.EXIT_NO_PERMIT
    here.write_marker(dict(marker, state="confirmed", confirmed=digest))
    assert run_start(here, digest).returncode == 0
    assert run_start(here, digest).returncode == 0


def test_a_baseline_starts_without_asking_anything(tmp_path):
    here = make_store(tmp_path)
    spec = dict(make_spec(), command=DUMPER)
    here.stage(spec)
    assert run_start(here, store.slot_digest(spec)).returncode == 0


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = str(tmp_path / "file")
    disk.write_durable(path, "old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError):
        disk.write_durable(path, "new")
    assert disk.read_text(path) == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_every_write_is_synced_file_first_directory_last(tmp_path, monkeypatch):
    order = []
    real_fsync, real_replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (order.append("fsync"), real_fsync(fd)))
    monkeypatch.setattr(os, "replace", lambda a, b: (order.append("rename"), real_replace(a, b)))
    disk.write_durable(str(tmp_path / "file"), "text")
    disk.point_link(str(tmp_path / "link"), "file")
    assert order == ["fsync", "rename", "fsync", "rename", "fsync"]
