"""Replay: checks a certificate about a black box by running its texts again, apart from the search.

The claim is about the program as it is run. `given_question` writes the question out anew, `lines`
and `header` read the certificate, `rerun` runs texts, `evidence` says whether words suffice,
`hitting` shows that no cheaper set hits all flips, `replay` goes through the claims, `describe`
puts what is proved into words.

Method: running again, hitting sets, draws (theory, sections 12 and 13).
"""

from suffice.proof.replay.given_question import Wanted
from suffice.proof.replay.lines import KIND
from suffice.proof.replay.replay import replay

__all__ = ["KIND", "Wanted", "replay"]
