# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""What a model on disk says about itself, without reading its weights. PRIVATE to this collection."""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import Any

from .errors import Unusable

CONFIG_LIMIT = 4 << 20  # bytes
INDEX_LIMIT = 64 << 20


class Checkpoint:
    """A model's folder: its configuration, the size of its weights and a name for exactly these files."""

    def __init__(self, path: str, config: dict[str, Any], weights: list[str]) -> None:
        self.path = path
        self.config = config
        self._weights = weights

    @property
    def weights_bytes(self) -> int:
        """Size of all weight files, bytes."""
        return sum(os.stat(name).st_size for name in self._weights)

    @property
    def revision(self) -> str:
        """Changes when the model is exchanged for another one at the same path.

        Configuration, and for each weight file its content's digest where the hub's cache names it so, else size and
        time of the last change. Reading gigabytes to be surer would take minutes on a device.
        """
        digest = hashlib.sha256(json.dumps(self.config, sort_keys=True).encode("utf-8"))
        for name in self._weights:
            real = os.path.basename(os.path.realpath(name))
            status = os.stat(name)
            identity = real if re.fullmatch(r"[0-9a-f]{64}", real) else f"{status.st_size}@{int(status.st_mtime)}"
            digest.update(f"\n{os.path.basename(name)}={identity}".encode())
        return digest.hexdigest()[:12]

    def number(self, name: str) -> int | None:
        """A whole number of the language model's configuration, wherever the format keeps it."""
        for section in self._sections():
            value = section.get(name)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
        return None

    def _sections(self) -> list[dict[str, Any]]:
        nested = [self.config.get(name) for name in ("text_config", "transformer_layer_config")]
        return [section for section in nested if isinstance(section, dict)] + [self.config]

    def cache_bytes_per_token(self, element_bytes: int | None) -> int | None:
        """Key-value cache that one token takes, bytes; None for architectures where this formula does not hold.

        Layers x 2 (key and value) x heads x size of a head x bytes of an element. Layers with latent attention, a
        sliding window or a state need less, and by how much is vLLM's affair.
        """
        sections = self._sections()
        if any(
            section.get("kv_lora_rank") or section.get("ssm_state_size") or section.get("mamba_d_state")
            for section in sections
        ):
            return None
        kinds = [kind for section in sections for kind in (section.get("layer_types") or [])]
        if any(kind != "full_attention" for kind in kinds):
            return None
        layers, heads = self.number("num_hidden_layers"), self.number("num_attention_heads")
        hidden = self.number("hidden_size")
        if not layers or not heads or not hidden:
            return None
        size = self.number("head_dim") or hidden // heads
        kv_heads = self.number("num_key_value_heads") or heads
        return layers * 2 * kv_heads * size * (element_bytes or self._element_bytes())

    def _element_bytes(self) -> int:
        for section in self._sections():
            dtype = section.get("dtype") or section.get("torch_dtype")
            if dtype:
                return 4 if str(dtype).endswith("float32") else 2
        return 2


def read(path: str) -> Checkpoint:
    """The model in folder ``path``. Raises Unusable when vLLM could not load what is there."""
    if not os.path.isdir(path):
        raise Unusable(f"{path} is not a folder on this host")
    config = _json_file(os.path.join(path, "config.json"), CONFIG_LIMIT)
    names = sorted(os.listdir(path))
    weights = [name for name in names if name.endswith(".safetensors")]
    if not weights:
        weights = [name for name in names if name.endswith((".bin", ".pt")) and not name.startswith("training_args")]
    index = os.path.join(path, "model.safetensors.index.json")
    if os.path.exists(index):
        parts = set((_json_file(index, INDEX_LIMIT).get("weight_map") or {}).values())
        missing = sorted(parts - set(names))
        if missing:
            raise Unusable(f"{path} lacks {len(missing)} of {len(parts)} weight files, the first is {missing[0]}")
    if not weights:
        raise Unusable(f"{path} holds no weights (*.safetensors, *.bin)")
    files = [os.path.join(path, name) for name in weights]
    for name in files:
        if not os.path.exists(name):  # a link of the hub's cache whose target is gone
            raise Unusable(f"{name} points to a file that is not there")
    return Checkpoint(path, config, files)


def _json_file(path: str, limit: int) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as handle:
            text = handle.read(limit + 1)
        if len(text) > limit:
            raise Unusable(f"{path} is larger than {limit >> 20} MiB")
        value = json.loads(text)
    except FileNotFoundError as exc:
        raise Unusable(f"{path} is not there") from exc
    except OSError as exc:
        raise Unusable(f"{path} can't be read: {exc.strerror}") from exc
    except ValueError as exc:
        raise Unusable(f"{path} is not valid JSON: {exc}") from exc
    if not isinstance(value, dict):
        raise Unusable(f"{path} does not hold a JSON object")
    return value
