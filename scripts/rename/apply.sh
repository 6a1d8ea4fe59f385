# The whole move, at the root of a tree: bash scripts/rename/apply.sh [SPEC ...]
set -e
here=/work/main/scripts/rename
export PYTHONPATH=$PWD/src
.venv/bin/python $here/rename.py $here/modules.py "$@" > /tmp/rename.txt 2> /tmp/rename.err || { tail -5 /tmp/rename.err; exit 1; }
bash $here/packages.sh
sed -i 's/^line-length = 120/line-length = 100/' pyproject.toml
.venv/bin/ruff check -q --fix --select I . || true
.venv/bin/ruff format -q .
files=$(git ls-files 'src/*.py' 'tests/*.py' 'benchmarks/*.py' 'experiments/*.py' 'scripts/*.py' 'examples/*.py' | grep -v scripts/rename)
files=$(for f in $files; do [ -e $f ] && echo $f; done)
.venv/bin/python $here/style.py split $files
.venv/bin/ruff format -q .
.venv/bin/python $here/style.py long $files
.venv/bin/ruff format -q .
.venv/bin/python $here/style.py long $files
.venv/bin/ruff format -q .
.venv/bin/ruff check -q --fix --select UP034 . ; .venv/bin/ruff format -q . ; .venv/bin/ruff check . --statistics || true
