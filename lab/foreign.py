# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""A server that somebody set up by hand: a real vLLM in a vllm.service that the collection knows nothing about."""

from __future__ import annotations

import json

from lab.paths import Paths

UNIT_PATH = "/etc/systemd/system/vllm.service"
CONFIG_PATH = "/etc/vllm/serve.yaml"
PORT = 8000

UNIT = """\
[Unit]
Description=vLLM, set up by hand
After=network.target

[Service]
Environment=VLLM_CACHE_ROOT={cache} VLLM_TARGET_DEVICE=cpu VLLM_HOST_IP=127.0.0.1
Environment=HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 HOME=/root
ExecStart={vllm}/bin/vllm serve --config {config}
Restart=always
RestartSec=5
LimitNOFILE=20000

[Install]
WantedBy=multi-user.target
"""


def unit(paths: Paths) -> str:
    """The unit, as an administrator would have written it."""
    return UNIT.format(vllm=paths.vllm, cache=paths.vllm_cache, config=CONFIG_PATH)


def config(paths: Paths, model: str) -> str:
    """vLLM's configuration (JSON is YAML), without speculation."""
    return json.dumps(
        {
            "model": str(paths.models / model),
            "served-model-name": model,
            "host": "127.0.0.1",
            "port": PORT,
            "max-model-len": 1024,
            "max-num-seqs": 16,
            "enforce-eager": True,
            "distributed-executor-backend": "uni",
            "kv-cache-memory-bytes": 134217728,
        },
        indent=2,
    )
