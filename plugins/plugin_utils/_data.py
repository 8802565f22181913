# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The YAML files in the collection's data folder, read on the controller. PRIVATE to this collection.

Files beside module_utils do not travel to a host with a module, so action plugins read them here and hand them over.
"""

from __future__ import annotations

import copy
import functools
import os
import re
from typing import Any

import yaml

# A PyYAML without libyaml has only the slower one; the result is the same.
SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
DATA_DIR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "data")


class DataError(Exception):
    """A data file of the collection is missing or broken: the installation is, or somebody edited it."""


def load(name: str) -> Any:
    """The object in data/<name>.yml of this collection; each caller gets a copy of its own.

    Raises DataError with the path and what is wrong.
    """
    return copy.deepcopy(_parsed(name))


@functools.lru_cache(maxsize=None)
def _parsed(name: str) -> Any:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise DataError(f"{name!r} is not the name of a data file of the collection jetson.specdec")
    path = os.path.normpath(os.path.join(DATA_DIR, f"{name}.yml"))
    try:
        with open(path, encoding="utf-8") as handle:
            return yaml.load(handle, Loader=SafeLoader)  # noqa: S506  (a safe loader under either name)
    except OSError as exc:
        raise DataError(f"{path} can't be read ({exc.strerror}); reinstall the collection jetson.specdec") from exc
    except yaml.YAMLError as exc:
        raise DataError(f"{path} is not valid YAML: {exc}") from exc
