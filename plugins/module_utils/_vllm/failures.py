# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Why a vLLM server did not start, or died: from its log to a name. PRIVATE to this collection.

The table is data. A row matches a line that holds all its words. vLLM wraps the cause several times ("EngineCore
failed to start", "Engine core initialization failed"), pydantic wraps it too, so rows have a rank: a cause beats a
general row, which beats a wrapper, wherever they stand; among equals the last line wins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

CAUSE, GENERAL, WRAPPER = 0, 1, 2

# What the caller can do about it.
ROLL_BACK = "roll_back"  # this setting will never start
FREE_MEMORY = "free_memory"  # wait, drop caches, lower gpu-memory-utilization
RETRY_ONCE = "retry_once"  # bad luck of one start
STOP_FLEET = "stop_fleet"  # will be the same on every host of this class


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    code: str
    failure_class: str
    words: tuple[str, ...]
    rank: int = CAUSE
    answer: str = ROLL_BACK


@dataclass(frozen=True)
class Failure:
    """A named failure; ``line`` is the line of the log that named it."""

    code: str
    failure_class: str
    answer: str
    line: str


def _rows(code: str, failure_class: str, rank: int, answer: str, *lines: str | tuple[str, ...]) -> list[Row]:
    return [Row(code, failure_class, (words,) if isinstance(words, str) else words, rank, answer) for words in lines]


# Wordings as in vLLM 0.20 to 0.33 and, for the CPU build, 0.32.
TABLE: tuple[Row, ...] = tuple(
    _rows(
        "oom",
        "OOM_PRESTART",
        CAUSE,
        FREE_MEMORY,
        ("Free memory on device", "is less than desired GPU memory utilization"),
        ("Available memory on node", "is less than desired CPU memory utilization"),
    )
    + _rows(
        "oom",
        "OOM_KV",
        CAUSE,
        ROLL_BACK,
        "No available memory for the cache blocks",
        # "the models's" in 0.20, "the model's" later: match up to there
        ("To serve at least one request with the model", "is larger than the available KV cache memory"),
        "Cannot auto-fit max_model_len",
    )
    + _rows("oom", "OOM_LOAD", CAUSE, ROLL_BACK, "Failed to load model - not enough GPU memory.")
    + _rows(
        "oom",
        "OOM",
        CAUSE,
        ROLL_BACK,
        "CUDA out of memory",
        "CUDA error: out of memory",
        "DefaultCPUAllocator: can't allocate memory",
        "DefaultCPUAllocator: not enough memory",
    )
    + _rows("oom", "OOM_KILLED", CAUSE, ROLL_BACK, "Out of memory: Killed process")
    + _rows("start_failed", "MEM_RACE", CAUSE, RETRY_ONCE, "Error in memory profiling. Initial free memory")
    + _rows(
        "missing_model",
        "MISSING_MODEL",
        CAUSE,
        ROLL_BACK,
        "Invalid repository ID or local directory specified:",
        "is not a local folder and is not a valid model identifier",
        "RepositoryNotFoundError",
        "GatedRepoError",
        "401 Client Error",
        "404 Client Error",
        "LocalEntryNotFoundError",
        "We couldn't connect to",
        "Cannot find any model weights with",
        "Could not detect config format for no config file found",
    )
    + _rows(
        "port_taken",
        "PORT",
        CAUSE,
        STOP_FLEET,
        "[Errno 98] Address already in use",
        "port is already allocated",
        ("The container name", "is already in use by container"),
    )
    + _rows(
        "unsupported_gpu",
        "CUDA_CAPABILITY",
        CAUSE,
        STOP_FLEET,
        "no kernel image is available for execution on the device",
        ("is not supported for the current GPU", "Minimum capability"),
        "Bfloat16 is only supported on GPUs with compute capability of at least",
        "No valid attention backend found for",
        ("Selected backend", "is not valid for this configuration"),
    )
    + _rows(
        "wrong_head",
        "WRONG_HEAD",
        CAUSE,
        STOP_FLEET,
        "Model does not support EAGLE3 interface",
        ("Model architectures [", "are not supported for now."),
        "hidden_states and input_embeds must have the same last dimension",
        "mat1 and mat2 shapes cannot be multiplied",
        ("CHECK_EQ(mat1.size(ndim - 1), K) failed",),
        ("The size of tensor a", "must match the size of tensor b"),
        "There is no module or parameter named",
        "Invalid speculators config",
    )
    + _rows(
        "wrong_head",
        "KV_LAYOUT",
        CAUSE,
        STOP_FLEET,
        "Cannot unify by adjusting block_size",
        "page size is not divisible by the maximum page size and cannot be padded",
        "All drafting layers should belong to the same kv cache group",
    )
    + _rows(
        "rejected_config",
        "REJECTED_CONFIG",
        CAUSE,
        STOP_FLEET,
        "Unexpected keyword argument",
        "[type=literal_error",
        "is not a valid argument in the speculative_config",
        "num_speculative_tokens must be provided with speculative model unless",
        "num_speculative_tokens was provided but without speculative model.",
        "A speculative model was provided, but",
        "must be divisible by n_predict",
        "Unsupported speculative method",
        "Speculative decoding with draft model is not supported yet",
        (" is only supported for [", "models. Got self.target_model_config"),
        "Target and draft model should have the same vocabulary size.",
        "cannot be other value than 1 or target model tensor_parallel_size",
        "Currently, 'draft_tensor_parallel_size' and 'tensor_parallel_size' must be the same. Got",
        ("speculative_max_model_len=", "cannot be larger than"),
        "Speculative Decoding with draft models or parallel drafting",
        "For parallel drafting, the draft model config must have",
        "async scheduling is only supported with EAGLE/MTP/Draft Model/NGram GPU",
        "Async scheduling is not compatible with disable_padded_drafter_batch=True",
        "Async scheduling is not supported by the V1 model runner with",
        # The same beginning with "may lead to suboptimal performance" is a warning of every healthy start.
        ("max_num_scheduled_tokens is set to", "does not allow any tokens to be scheduled"),
        "does not have enough slots",
        "Arctic Inference is required for suffix decoding",
        "use_heterogeneous_vocab only works with method='draft_model'",
        "error: argument --speculative-config",
        "error: unrecognized arguments:",
    )
    + _rows(
        "rejected_config",
        "REJECTED_CONFIG",
        GENERAL,
        STOP_FLEET,
        "validation error for ",  # pydantic; its next lines often hold a cause
        "validation errors for ",
    )
    + _rows(
        "crash",
        "RUNTIME_CRASH",
        GENERAL,
        ROLL_BACK,
        "an illegal memory access was encountered",
        "device-side assert triggered",
    )
    + _rows("hang", "HANG", WRAPPER, ROLL_BACK, "No available shared memory broadcast block found in 60 seconds")
    + _rows("crash", "RUNTIME_CRASH", WRAPPER, ROLL_BACK, "EngineDeadError", "EngineCore encountered an issue")
    + _rows(
        "start_failed",
        "START_FAILED",
        WRAPPER,
        ROLL_BACK,
        "Engine core initialization failed",
        "EngineCore failed to start",
    )
)

# A line that vLLM itself calls harmless names no failure, whatever its words: a healthy start warns that
# max_num_scheduled_tokens was changed and retries what it could not fetch.
_HARMLESS = re.compile(
    r"^(\([^)]*\) )?(DEBUG|INFO|WARNING) \d\d-\d\d \d\d:\d\d:\d\d|^(INFO|WARNING): |, retrying \d+ of \d+$"
)
_EXCEPTION = re.compile(
    r"^(\([^)]*\) )?(ERROR \d\d-\d\d \S+ \[[^]]*\] )?([A-Za-z_][\w.]*(Error|Exception|Exit|Interrupt))\b[:(]?"
)


def classify(log: str) -> Failure | None:
    """Name the failure that a log shows; None where it shows none that the table knows."""
    best: Failure | None = None
    best_rank = WRAPPER + 1
    for line in log.splitlines():
        if _HARMLESS.search(line):
            continue
        for row in TABLE:
            if row.rank <= best_rank and all(words in line for words in row.words):
                best = Failure(row.code, row.failure_class, row.answer, _shown(line))
                best_rank = row.rank
                break
    return best


def last_words(log: str) -> str:
    """The line of a log that most likely says why: its last exception, else its last line that is not harmless."""
    lines = [line for line in log.splitlines() if line.strip() and not _HARMLESS.search(line)]
    for line in reversed(lines):
        if _EXCEPTION.search(line):
            return _shown(line)
    return _shown(lines[-1]) if lines else ""


def had_started(log: str) -> bool:
    """Whether the server had come up before it ended."""
    return "Application startup complete." in log


def _shown(line: str) -> str:
    """A line cut to what fits in a sentence."""
    text = " ".join(line.split())
    return text if len(text) <= 300 else text[:297] + "..."
