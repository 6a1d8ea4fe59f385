"""suffice: which words of a text are enough to decide a text classifier's answer, with proof."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suffice.corpus.audit import audit
    from suffice.corpus.batch import batch
    from suffice.errors import (
        InputError,
        MissingExtra,
        ModelError,
        NotACertificate,
        NotChecked,
        Rejected,
        SufficeError,
    )
    from suffice.importers.huggingface import from_huggingface
    from suffice.importers.keras import from_keras
    from suffice.importers.onnx import from_onnx
    from suffice.importers.sklearn import from_sklearn
    from suffice.importers.spacy import from_spacy
    from suffice.importers.torch import from_torch
    from suffice.importers.vectors import read_vectors
    from suffice.model.blackbox import BlackBox, from_function
    from suffice.model.classifier import Classifier, Prediction
    from suffice.model.network import Network
    from suffice.model.saved import load
    from suffice.model.text import Text, Word
    from suffice.proof.certificate import Certificate
    from suffice.proof.checking import check
    from suffice.sets.perturbations import (
        Boxes,
        Deletion,
        EpsilonBall,
        KNNBox,
        KNNHull,
        Mask,
        RemoveOrSwap,
        WordSwap,
    )
    from suffice.settings import Settings
    from suffice.verbs.attribute import Attribution, attribute
    from suffice.verbs.bias import Bias, bias
    from suffice.verbs.contrast import Contrast, contrast
    from suffice.verbs.explain import explain
    from suffice.verbs.explain_all import explain_all
    from suffice.verbs.explanation import Explanation
    from suffice.verbs.is_robust import is_robust
    from suffice.verbs.mistake import Mistake
    from suffice.verbs.neighbours import neighbours
    from suffice.verbs.profile import Profile, profile
    from suffice.verbs.question import Question
    from suffice.verbs.repair import Repair, repair
    from suffice.verify.contract import Proved, Refuted, Unknown, Witness
    from suffice.version import __version__

# Loaded when first used: a program pays for what it asks for, and `import suffice` for nothing.
LATER = {
    "Attribution": "suffice.verbs.attribute",
    "Bias": "suffice.verbs.bias",
    "BlackBox": "suffice.model.blackbox",
    "Boxes": "suffice.sets.perturbations",
    "Certificate": "suffice.proof.certificate",
    "Classifier": "suffice.model.classifier",
    "Contrast": "suffice.verbs.contrast",
    "Deletion": "suffice.sets.perturbations",
    "EpsilonBall": "suffice.sets.perturbations",
    "Explanation": "suffice.verbs.explanation",
    "InputError": "suffice.errors",
    "KNNBox": "suffice.sets.perturbations",
    "KNNHull": "suffice.sets.perturbations",
    "Mask": "suffice.sets.perturbations",
    "MissingExtra": "suffice.errors",
    "Mistake": "suffice.verbs.mistake",
    "ModelError": "suffice.errors",
    "Network": "suffice.model.network",
    "NotACertificate": "suffice.errors",
    "NotChecked": "suffice.errors",
    "Prediction": "suffice.model.classifier",
    "Profile": "suffice.verbs.profile",
    "Proved": "suffice.verify.contract",
    "Question": "suffice.verbs.question",
    "Refuted": "suffice.verify.contract",
    "Rejected": "suffice.errors",
    "RemoveOrSwap": "suffice.sets.perturbations",
    "Repair": "suffice.verbs.repair",
    "Settings": "suffice.settings",
    "SufficeError": "suffice.errors",
    "Text": "suffice.model.text",
    "Unknown": "suffice.verify.contract",
    "Witness": "suffice.verify.contract",
    "Word": "suffice.model.text",
    "WordSwap": "suffice.sets.perturbations",
    "__version__": "suffice.version",
    "attribute": "suffice.verbs.attribute",
    "audit": "suffice.corpus.audit",
    "batch": "suffice.corpus.batch",
    "bias": "suffice.verbs.bias",
    "check": "suffice.proof.checking",
    "contrast": "suffice.verbs.contrast",
    "explain": "suffice.verbs.explain",
    "explain_all": "suffice.verbs.explain_all",
    "from_function": "suffice.model.blackbox",
    "from_huggingface": "suffice.importers.huggingface",
    "from_keras": "suffice.importers.keras",
    "from_onnx": "suffice.importers.onnx",
    "from_sklearn": "suffice.importers.sklearn",
    "from_spacy": "suffice.importers.spacy",
    "from_torch": "suffice.importers.torch",
    "is_robust": "suffice.verbs.is_robust",
    "load": "suffice.model.saved",
    "neighbours": "suffice.verbs.neighbours",
    "profile": "suffice.verbs.profile",
    "read_vectors": "suffice.importers.vectors",
    "repair": "suffice.verbs.repair",
}

__all__ = [
    "Attribution",
    "Bias",
    "BlackBox",
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
    "Mask",
    "MissingExtra",
    "Mistake",
    "ModelError",
    "Network",
    "NotACertificate",
    "NotChecked",
    "Prediction",
    "Profile",
    "Proved",
    "Question",
    "Refuted",
    "Rejected",
    "RemoveOrSwap",
    "Repair",
    "Settings",
    "SufficeError",
    "Text",
    "Unknown",
    "Witness",
    "Word",
    "WordSwap",
    "__version__",
    "attribute",
    "audit",
    "batch",
    "bias",
    "check",
    "contrast",
    "explain",
    "explain_all",
    "from_function",
    "from_huggingface",
    "from_keras",
    "from_onnx",
    "from_sklearn",
    "from_spacy",
    "from_torch",
    "is_robust",
    "load",
    "neighbours",
    "profile",
    "read_vectors",
    "repair",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module 'suffice' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(LATER[name]), name)
    return value
