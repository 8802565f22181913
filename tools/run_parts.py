# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Run `make test-PART` for each PART given, say how long each took, and stop at the first that fails."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(parts: list[str]) -> int:
    """Return 0 when every part passed, else the exit status of the first that did not."""
    begun = time.monotonic()
    done: list[str] = []
    for number, part in enumerate(parts, start=1):
        print(f"== {part} ({number} of {len(parts)}, {time.monotonic() - begun:.0f} s so far)", flush=True)
        part_begun = time.monotonic()
        status = subprocess.run(["make", "--no-print-directory", f"test-{part}"], cwd=ROOT, check=False).returncode
        took = time.monotonic() - part_begun
        if status != 0:
            print(f"== {part}: FAILED after {took:.0f} s; once more with: make test-{part}", flush=True)
            return status
        done.append(f"{part} {took:.0f} s")
        print(f"== {part}: passed in {took:.0f} s", flush=True)
    print(f"== all passed in {time.monotonic() - begun:.0f} s: {', '.join(done)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
