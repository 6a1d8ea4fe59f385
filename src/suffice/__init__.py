"""suffice: which words of a text are enough to decide a neural text classifier's answer, with proof."""

from suffice.answers import Attribution, Bias, Profile, Repair
from suffice.attribution import attribute
from suffice.auditing import bias, repair
from suffice.certificate import Certificate
from suffice.check import check
from suffice.classifier import Classifier, Prediction, load
from suffice.errors import InputError, MissingExtra, ModelError, NotACertificate, Rejected, SufficeError
from suffice.explanation import Explanation
from suffice.flip import Contrast
from suffice.growth import profile
from suffice.importers.keras import from_keras
from suffice.importers.onnx import from_onnx
from suffice.importers.sklearn import from_sklearn
from suffice.importers.torch import from_torch
from suffice.importers.vectors import read_vectors
from suffice.mistake import Mistake
from suffice.network import Network
from suffice.perturb import Boxes, Deletion, EpsilonBall, KNNBox, KNNHull, WordSwap
from suffice.text import Text, Word
from suffice.verbs import contrast, explain, explain_all, is_robust
from suffice.verdict import Proved, Refuted, Unknown, Witness
from suffice.version import __version__

__all__ = [
    "Attribution",
    "Bias",
    "Boxes",
    "Certificate",
    "Classifier",
    "Contrast",
    "Deletion",
    "EpsilonBall",
    "Explanation",
    "InputError",
    "KNNBox",
    "KNNHull",
    "MissingExtra",
    "Mistake",
    "ModelError",
    "Network",
    "NotACertificate",
    "Prediction",
    "Profile",
    "Proved",
    "Refuted",
    "Rejected",
    "Repair",
    "SufficeError",
    "Text",
    "Unknown",
    "Witness",
    "Word",
    "WordSwap",
    "__version__",
    "attribute",
    "bias",
    "check",
    "contrast",
    "explain",
    "explain_all",
    "from_keras",
    "from_onnx",
    "from_sklearn",
    "from_torch",
    "is_robust",
    "load",
    "profile",
    "read_vectors",
    "repair",
]
