"""The options of `suffice import`, apart from the importers, which `suffice --help`
need not load.
"""

from __future__ import annotations

import argparse


def add_import_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `suffice import`."""
    add = parser.add_argument
    add("file", metavar="FILE", help="a network: .onnx, .pt2 (torch.export.save), .keras or .h5")
    add("--out", required=True, metavar="FOLDER", help="where the classifier is saved")
    add(
        "--labels",
        required=True,
        metavar="A,B",
        help="names of the outputs in order; of one output: no,yes",
    )
    add(
        "--vocabulary",
        metavar="FILE",
        help="one word per line in the order of their numbers, or .json",
    )
    add("--length", type=int, metavar="N", help="words of a text (default: as the file says)")
    add(
        "--pad",
        default="<PAD>",
        metavar="WORD",
        help="the vocabulary's word for padding (default: %(default)s)",
    )
    add(
        "--unknown",
        default="<UNK>",
        metavar="WORD",
        help="its word for unknown ones (default: %(default)s)",
    )
    add(
        "--tokenizer",
        metavar="FILE",
        help="Hugging Face's tokenizer.json; its tokens are the vocabulary if none is given",
    )
    add(
        "--embedding",
        metavar="FILE",
        help="GloVe or word2vec vectors, where the network takes vectors; holds the words",
    )
