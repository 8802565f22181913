#!/usr/bin/env bash
# Makes the virtual environment given as $1 from requirements/dev.txt. Does nothing when it already holds exactly that.
set -euo pipefail
cd "$(dirname "$0")/.."

venv="$1"
python="${PYTHON:-}"
if [[ -z "$python" ]]; then
    echo "venv: no Python 3.11 found: install it, or name one with PYTHON=/path/to/python3.11" >&2
    exit 1
fi

# Debian packs the two modules that make a virtual environment apart from Python.
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    if [[ "$(id -u)" != 0 ]] || ! command -v apt-get >/dev/null; then
        echo "venv: $python lacks venv or ensurepip: install the package python3.11-venv" >&2
        exit 1
    fi
    echo "venv: installing python3.11-venv"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends python3.11-venv >/dev/null
fi

stamp="$("$python" -V) $(sha256sum <requirements/dev.txt)"
if [[ -f "$venv/stamp" && "$(<"$venv/stamp")" == "$stamp" ]]; then
    exit 0
fi

echo "venv: making $venv from requirements/dev.txt"
start=$SECONDS
rm -rf "$venv"
"$python" -m venv "$venv"
"$venv/bin/pip" install -qq --disable-pip-version-check --no-input -r requirements/dev.txt
printf '%s\n' "$stamp" >"$venv/stamp"
echo "venv: ready after $((SECONDS - start)) s"
