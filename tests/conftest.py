# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""What all test suites share: the checkout's own collection is importable under its full name.

`collections/ansible_collections/jetson/specdec` is a link to the root of the repository. With that folder on
`sys.path`, `ansible_collections.jetson.specdec.plugins...` is an ordinary (namespace) package, and a plain pytest run
imports exactly the files of this checkout, installed or not. What tests share lies in `tests/support`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLLECTIONS = ROOT / "collections"

SUPPORT = ROOT / "tests" / "support"

for folder in (COLLECTIONS, SUPPORT):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

# Child processes (ansible-playbook, a module run by hand) must resolve the same collection.
os.environ.setdefault("ANSIBLE_COLLECTIONS_PATH", str(COLLECTIONS))
