"""Limited: code run in a process of its own that may take only so much more memory than it has once
it begins.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

SECONDS = 60  # of processor: what hangs is ended
only_linux = pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of a process")

FRAME = """
import json, resource, sys
{imports}
from suffice.errors import InputError, Rejected
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + {megabytes} * 2**20, resource.RLIM_INFINITY))
resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))
given = json.loads(sys.argv[1])
try:
    print("read:", {call})
except (InputError, Rejected) as error:
    print("refused:", error)
"""


def limited(imports: str, call: str, given: Sequence[str | Path] = (), megabytes: int = 256) -> str:
    """What a call (an expression that knows `given`) says: "read: ..." or "refused: ..."; anything
    else fails.
    """

    code = FRAME.format(imports=imports, call=call, megabytes=megabytes, seconds=SECONDS)
    # threads of libraries have stacks of their own, which count though nobody fills them
    found = subprocess.run(
        [sys.executable, "-c", code, json.dumps([str(one) for one in given])],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        timeout=4 * SECONDS,
    )
    assert found.returncode == 0, found.stderr[-2000:]
    said = found.stdout.strip()
    assert "\n" not in said, said
    return said
