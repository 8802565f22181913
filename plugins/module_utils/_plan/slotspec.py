# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The complete setting of a server, as the slot store takes it. PRIVATE to this collection."""

from __future__ import annotations

from typing import Any


def baseline(service: dict[str, Any], model_revision: str | None) -> dict[str, Any]:
    """The server of the inventory, without speculation."""
    config = dict(service["extra_config"])
    config.update(
        {
            "model": service["model"],
            "served-model-name": service["served_model_name"],
            "host": service["host"],
            "port": service["port"],
            "max-model-len": service["max_model_len"],
            "gpu-memory-utilization": service["gpu_memory_utilization"],
            # Given always: vLLM's own default differs with the size of the memory, and the arms must not.
            "max-num-seqs": service["max_num_seqs"],
        }
    )
    runtime = service["runtime"]
    return {
        "kind": "baseline",
        "command": [runtime["path"], "serve"],
        "config": config,
        "environment": dict(service["environment"]),
        "runtime": {"type": runtime["type"], "path": runtime["path"], "image": None},
        "revisions": {"model": model_revision, "draft": None},
        "client": client(service),
    }


def candidate(
    base: dict[str, Any], method: str, draft: str | None, tokens: int, utilization: float, draft_revision: str | None
) -> dict[str, Any]:
    """The same server with speculation, and nothing else changed but its share of the memory."""
    speculative: dict[str, Any] = {"method": method, "num_speculative_tokens": tokens}
    if draft is not None:
        speculative["model"] = draft
        speculative["draft_tensor_parallel_size"] = 1
    config = dict(base["config"])
    config["gpu-memory-utilization"] = utilization
    config["speculative-config"] = speculative
    return dict(
        base,
        kind="candidate",
        config=config,
        revisions={"model": base["revisions"]["model"], "draft": draft_revision},
    )


def client(service: dict[str, Any]) -> dict[str, Any]:
    """Where the served model is asked: host, port and the name under which it is served."""
    host = service["host"]
    # A wildcard is where a server listens, not where one can connect to.
    return {
        "host": {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host),
        "port": service["port"],
        "model": service["served_model_name"],
    }
