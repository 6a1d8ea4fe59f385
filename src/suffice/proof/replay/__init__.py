"""Replay: checks a certificate about a black box by running its texts again; shares no code with the search.

The claim is about the program as it is run. `question` writes the question out anew, `lines` and `header` read the
certificate, `running` runs texts, `evidence` says whether words are enough, `hitting` shows that no cheaper set hits
all flips, `run` goes through the claims, `said` puts what is proved into words.
"""

from suffice.proof.replay.lines import KIND
from suffice.proof.replay.question import Wanted
from suffice.proof.replay.run import replay

__all__ = ["KIND", "Wanted", "replay"]
