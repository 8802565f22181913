# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Everything that talks to a vLLM server or reads its traces. PRIVATE to this collection."""
