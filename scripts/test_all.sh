#!/usr/bin/env bash
# The tests on every Python that is named: `scripts/test_all.sh 3.11 3.12 3.13` (or `make test-all`), each in an environment
# of its own below build/. Python 3.11 has everything. On the others torch and what needs it are left out, because without
# its GPU packages the pinned torch is to be had for 3.11 only; tests that need them say so and are skipped. EXTRA=dev puts
# them in. Slow tests, which `make test` leaves out, are run too. Words after -- go to pytest.
set -uo pipefail
cd "$(dirname "$0")/.."

find_python() {
    for found in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python; do
        if "$found" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null; then
            echo "$found"
            return
        fi
    done
    return 1
}

run() {
    local python extra=test folder="build/python$1"
    python=$(find_python "$1") || { echo "== Python $1 is not here"; return 1; }
    if [ "$1" = 3.11 ]; then extra=dev; fi
    echo "== Python $1, extra ${EXTRA:-$extra}"
    "$python" -m venv "$folder" &&
        "$folder/bin/python" -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[${EXTRA:-$extra}]" &&
        "$folder/bin/python" -m pytest -n 2 -m "" "${@:2}"
}

versions=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do versions+=("$1"); shift; done
failed=()
for version in "${versions[@]}"; do run "$version" "${@:2}" || failed+=("$version"); done
if [ ${#failed[@]} -gt 0 ]; then echo "== not passed: ${failed[*]}"; exit 1; fi
echo "== passed: ${versions[*]}"
