# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""What a host may run, and why. PRIVATE to this collection.

The other files answer one question each, ``decision`` puts them in order.
"""
