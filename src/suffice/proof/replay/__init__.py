"""Replay: checks a certificate about a black box by running its texts again; shares no code with the search.

The claim is about the program as it is run. `question` writes the question out anew, `run` runs its texts and reads the
evidence, `hitting` shows that no cheaper set hits all flips, `said` puts what is proved into words.
"""

from suffice.proof.replay.question import Wanted
from suffice.proof.replay.run import KIND, replay

__all__ = ["KIND", "Wanted", "replay"]
