# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""From what a real server wrote to the name of the failure."""

from __future__ import annotations

import pytest

from ansible_collections.jetson.specdec.plugins.module_utils._vllm import failures


@pytest.mark.parametrize(
    ("name", "code", "failure_class", "words"),
    [
        ("bogus-json", "rejected_config", "REJECTED_CONFIG", "cannot be converted"),
        ("draft-empty-dir", "missing_model", "MISSING_MODEL", "Invalid repository ID"),
        ("draft-no-weights", "missing_model", "MISSING_MODEL", "Cannot find any model weights"),
        ("eagle3-fewlayers", "wrong_head", "WRONG_HEAD", "CHECK_EQ(mat1.size"),
        ("eagle3-hidden-mismatch", "crash", "RUNTIME_CRASH", "EngineDeadError"),
        ("k-string", "rejected_config", "REJECTED_CONFIG", "SpeculativeConfig"),
        ("k-zero", "rejected_config", "REJECTED_CONFIG", "SpeculativeConfig"),
        ("missing-draft-abs", "missing_model", "MISSING_MODEL", "/models/nope"),
        ("missing-draft-hub", "missing_model", "MISSING_MODEL", "org/nope"),
        ("mtp-llama", "rejected_config", "REJECTED_CONFIG", "Unsupported speculative method"),
        ("no-k", "rejected_config", "REJECTED_CONFIG", "`num_speculative_tokens` was not provided"),
        ("old-flag", "rejected_config", "REJECTED_CONFIG", "unrecognized arguments"),
        ("port-in-use", "port_taken", "PORT", "Errno 98"),
        ("suffix", "rejected_config", "REJECTED_CONFIG", "Arctic Inference"),
        ("unknown-key", "rejected_config", "REJECTED_CONFIG", "Unexpected keyword argument"),
        ("unknown-method", "rejected_config", "REJECTED_CONFIG", "SpeculativeConfig"),
        ("util-099", "oom", "OOM_PRESTART", "is less than desired CPU memory utilization"),
        ("vocab-mismatch", "rejected_config", "REJECTED_CONFIG", "same vocabulary size"),
    ],
)
def test_recorded_failures_are_named(recorded, name, code, failure_class, words):
    found = failures.classify(recorded(f"failures/{name}.txt"))
    assert found is not None
    assert (found.code, found.failure_class) == (code, failure_class)
    assert words in found.line


@pytest.mark.parametrize("name", ["empty-string", "eagle3-fewlayers-warm"])
def test_a_server_that_ran_until_it_was_stopped_did_not_fail(recorded, name):
    assert failures.classify(recorded(f"failures/{name}.txt")) is None


def test_a_healthy_start_names_no_failure(recorded):
    """It warns of max_num_scheduled_tokens, which is fatal with other words behind it."""
    log = recorded("startup-eagle3.log")
    assert "max_num_scheduled_tokens is set to" in log
    assert failures.classify(log) is None


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (
            "(EngineCore pid=9) ERROR 11-30 20:51:15 [core.py:1] ValueError: max_num_scheduled_tokens is set to 0, "
            "which does not allow any tokens to be scheduled.",
            "rejected_config",
        ),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "oom"),
        (
            "ValueError: Free memory on device cuda:0 (20.1/61.4 GiB) on startup is less than desired GPU memory "
            "utilization (0.85, 52.2 GiB). Decrease GPU memory utilization",
            "oom",
        ),
        (
            "ValueError: To serve at least one request with the models's max seq len (8192), (1.13 GiB KV cache is "
            "needed, which is larger than the available KV cache memory (0.52 GiB).",
            "oom",
        ),
        ("RuntimeError: CUDA error: no kernel image is available for execution on the device", "unsupported_gpu"),
        (
            "RuntimeError: Model does not support EAGLE3 interface but aux_hidden_state_outputs was requested",
            "wrong_head",
        ),
        ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (2048x4096 and 5120x4096)", "wrong_head"),
        ("AssertionError: Error in memory profiling. Initial free memory 20.1 GiB", "start_failed"),
        (
            "docker: Error response from daemon: Bind for 0.0.0.0:8000 failed: port is already allocated",
            "port_taken",
        ),
        ("RuntimeError: No available shared memory broadcast block found in 60 seconds", "hang"),
        ("vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.", "crash"),
    ],
)
def test_wordings_that_were_not_recorded(line, code):
    assert failures.classify(f"something before\n{line}\nsomething after").code == code


def test_a_cause_beats_its_wrappers_wherever_it_stands():
    log = (
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (1x4 and 5x4)\n"
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n"
        "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.\n"
    )
    assert failures.classify(log).code == "wrong_head"


def test_among_causes_the_last_one_counts():
    log = "OSError: [Errno 98] Address already in use\ntorch.OutOfMemoryError: CUDA out of memory.\n"
    assert failures.classify(log).code == "oom"


def test_what_vllm_calls_harmless_names_nothing():
    log = (
        "(APIServer pid=1) WARNING 11-30 20:51:03 [utils.py:3] CUDA out of memory was avoided by a smaller batch\n"
        "Error retrieving file list: 404 Client Error, retrying 1 of 2\n"
        "INFO:     Started server process [2263]\n"
    )
    assert failures.classify(log) is None


def test_last_words_are_the_last_exception():
    log = "ValueError: the first\nKeyError: 'the last'\nINFO:     Shutting down\n"
    assert failures.last_words(log) == "KeyError: 'the last'"
    assert failures.last_words("one\ntwo\n\n") == "two"
    assert failures.last_words("") == ""
    assert failures.last_words("INFO:     Started server process [1]\n") == ""


def test_a_long_line_is_cut():
    found = failures.classify("torch.OutOfMemoryError: CUDA out of memory. " + "x" * 1000)
    assert len(found.line) == 300
