"""What a replay may take: sizes of certificates of black boxes, and of their questions.

Method: reading untrusted data (theory, section 13).
"""

from __future__ import annotations

MAX_LINE = 2**20  # bytes of a line
MAX_LINES = 2**26  # bytes of all lines, which are held together
WORDS = 20_000  # words of a text
OPTIONS = 2**20  # options that all words of a text have together
MOST_CHANGES_WORK = 2**22  # words times the number of them that may change at once
MOST_TEXTS = 10**9  # texts that are run again
CHUNK = 512  # of them, written at a time
COMPARED_TEXTS = 12  # changed texts on which a bag of words is compared with the program
SHARE_ROUNDING = 1e-12  # of the share that draws vouch for, as two programs compute it
