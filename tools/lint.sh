#!/usr/bin/env bash
# All static checks that are not `ansible-test sanity`. Stops at the first that is red. Nothing here uses the network.
set -euo pipefail
cd "$(dirname "$0")/.."
export ANSIBLE_COLLECTIONS_PATH="$PWD/collections"

step() {
    echo "-- $1"
    shift
    "$@"
}

typed=(plugins/module_utils tools)
for folder in plugins/plugin_utils lab tests/support tests/acceptance; do
    [[ ! -d $folder ]] || typed+=("$folder")
done

step "ruff check" ruff check .
step "ruff format" ruff format --check .
step "mypy" mypy "${typed[@]}"
step "yamllint" yamllint --strict .
step "ansible-lint (production)" ansible-lint --offline --profile production -q
step "collection docs" antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs self .
step "changelog" antsibull-changelog lint
