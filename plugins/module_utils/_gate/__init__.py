# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The gate: two measured arms in, one verdict out. PRIVATE to this collection."""
