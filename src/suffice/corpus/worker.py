"""A worker process: reads a verb and then rows from standard input, writes a reply for each to
standard output.

It ends at once when its input is closed, even in the middle of a row: whoever asked is gone.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import sys
import threading
from typing import Any, BinaryIO


def main() -> None:
    """Read rows from the parent and answer them one by one, until it closes the pipe."""
    # Ctrl-C is for the parent, which then closes our input
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sink = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever prints does not spoil the replies
    inbox: queue.Queue[Any] = queue.Queue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, inbox), daemon=True).start()
    verb = inbox.get()
    _write(sink, "ready")
    while True:
        _write(sink, verb(inbox.get()))


def _read(source: BinaryIO, inbox: queue.Queue[Any]) -> None:
    try:
        while True:
            inbox.put(pickle.load(source))
    except EOFError:
        os._exit(0)
    except BaseException as error:
        print(
            f"suffice: a worker cannot read what it is to do: {type(error).__name__}: {error}",
            file=sys.stderr,
        )
        os._exit(1)


def _write(sink: BinaryIO, reply: Any) -> None:
    pickle.dump(reply, sink)
    sink.flush()


if __name__ == "__main__":
    main()
