"""The commands: each takes what the parser read, asks, writes files, prints, and gives an exit
code.

Files come first; where one cannot be written, the answer is printed all the same.

What only one command needs is loaded by it, so that the others start quickly.
"""

from suffice.cli.commands.certificates import check, export
from suffice.cli.commands.many_texts import audit, batch
from suffice.cli.commands.model_tools import bring_in, models, serve, train, words
from suffice.cli.commands.one_text import attribute, bias, contrast, explain, profile, repair

__all__ = [
    "attribute",
    "audit",
    "batch",
    "bias",
    "bring_in",
    "check",
    "contrast",
    "explain",
    "export",
    "models",
    "profile",
    "repair",
    "serve",
    "train",
    "words",
]
