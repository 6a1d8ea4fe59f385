"""Real models as black boxes: transformers built here from their configs, recurrent networks,
scikit-learn's own.
"""

from __future__ import annotations

import copy
import types
import warnings

import numpy as np
import pytest

import suffice as sf
from suffice.cli import main
from suffice.errors import ModelError
from tests.blackboxes import SWAPS, Truth, mask

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

torch.set_num_threads(1)
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

TEXTS = [
    "a gripping film that never bores",
    "Dull, often tiring; the movie annoys us!",
    "tense and amusing, it always surprises",
    "the worst film of the year",
]
LABELS = ["negative", "neutral", "positive"]


def wordpiece():
    inner = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    inner.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    inner.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=120, special_tokens=special, show_progress=False
    )
    inner.train_from_iterator(TEXTS, trainer)
    inner.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = dict(
        zip(
            ["pad_token", "unk_token", "cls_token", "sep_token", "mask_token"], special, strict=True
        )
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, model_max_length=40, **names
    )


def byte_level():
    inner = tokenizers.ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    inner.train_from_iterator(TEXTS, vocab_size=320, special_tokens=special, show_progress=False)
    core = inner._tokenizer
    core.post_processor = tokenizers.processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    names = {
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "pad_token": "<pad>",
        "mask_token": "<mask>",
    }
    return transformers.PreTrainedTokenizerFast(tokenizer_object=core, **names)


def labelled(**more):
    return {
        "id2label": dict(enumerate(LABELS)),
        "label2id": {label: i for i, label in enumerate(LABELS)},
        **more,
    }


def bert():
    splitter = wordpiece()
    config = transformers.BertConfig(
        vocab_size=len(splitter),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=64,
        **labelled(),
    )
    return transformers.BertForSequenceClassification(config), splitter


def distilbert():
    splitter = wordpiece()
    splitter.model_input_names = ["input_ids", "attention_mask"]
    config = transformers.DistilBertConfig(
        vocab_size=len(splitter),
        dim=32,
        n_layers=2,
        n_heads=2,
        hidden_dim=48,
        max_position_embeddings=64,
        **labelled(),
    )
    return transformers.DistilBertForSequenceClassification(config), splitter


def roberta():
    splitter = byte_level()
    config = transformers.RobertaConfig(
        vocab_size=len(splitter),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=66,
        pad_token_id=1,
        type_vocab_size=1,
        **labelled(),
    )
    return transformers.RobertaForSequenceClassification(config), splitter


def made(build):
    torch.manual_seed(3)
    network, splitter = build()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.6)
    return network.eval(), splitter


MODELS = {"bert": bert, "distilbert": distilbert, "roberta": roberta}


@pytest.mark.parametrize("build", MODELS.values(), ids=MODELS.keys())
def test_a_transformer_gives_the_scores_that_transformers_gives(build):
    network, splitter = made(build)
    clf = sf.from_huggingface(network, splitter)
    assert clf.labels == tuple(LABELS)
    for text in [*TEXTS, "", "x " * 100]:
        coded = splitter(text, return_tensors="pt", truncation=True, max_length=_limit(clf))
        with torch.inference_mode():
            expected = network(**coded).logits[0].numpy()
        assert clf.predict(text).scores == pytest.approx(expected, abs=1e-4)


def _limit(clf: sf.BlackBox) -> int:
    (note,) = clf.notes
    return int(note.split("after ")[1].split()[0])


@pytest.mark.parametrize("build", MODELS.values(), ids=MODELS.keys())
def test_explanations_of_a_transformer_are_those_of_full_enumeration(build):
    clf = sf.from_huggingface(*made(build))
    sets = [sf.Deletion(), sf.Mask(at_most=2), sf.RemoveOrSwap(SWAPS, at_most=2)]
    for text, perturbation in zip(
        ["Never a gripping film, we say", TEXTS[2], TEXTS[0]], sets, strict=True
    ):
        truth = Truth(sf.Question(clf, text, perturbation=perturbation))
        result = sf.explain(clf, text, perturbation=perturbation)
        assert result.status == "optimal"
        assert mask(result.positions) in truth.cheapest
        assert sf.check(result.certificate, clf).optimal
        flip = sf.contrast(clf, text, perturbation=perturbation)
        assert flip.cost == min(map(truth.price, truth.flips), default=np.inf)


def test_texts_go_to_the_device_that_the_model_is_on():
    network, splitter = made(bert)

    class Elsewhere(type(network)):
        device = torch.device("meta")

        def forward(self, input_ids, **more):
            assert {input_ids.device.type, *(one.device.type for one in more.values())} == {"meta"}
            return types.SimpleNamespace(logits=torch.zeros(len(input_ids), len(LABELS)))

    clf = sf.from_huggingface(Elsewhere(network.config), splitter)
    assert clf.predict(TEXTS[0]).scores == (0.0, 0.0, 0.0)


def test_masking_uses_the_tokenizers_own_mask():
    assert sf.from_huggingface(*made(bert)).mask == "[MASK]"
    clf = sf.from_huggingface(*made(roberta))
    assert clf.mask == "<mask>"
    flip = sf.contrast(clf, TEXTS[0], perturbation=sf.Mask())
    assert flip.flip is None or "<mask>" in flip.flipped_text


def test_the_same_weights_in_another_network_are_another_model():
    """With more heads, or another curve, the same weights give other scores: certificates and
    caches must not mix.
    """
    network, splitter = made(bert)
    clf = sf.from_huggingface(network, splitter)
    found = set()
    for change in ({"num_attention_heads": 4}, {"hidden_act": "relu"}, {"layer_norm_eps": 0.1}):
        config = copy.deepcopy(network.config)
        config.update(change)
        other = transformers.BertForSequenceClassification(config)
        other.load_state_dict(network.state_dict())
        found.add(sf.from_huggingface(other, splitter).digest)
    shorter = copy.deepcopy(splitter)
    shorter.model_max_length = 7
    found.add(sf.from_huggingface(network, shorter).digest)
    assert len(found) == 4
    assert clf.digest not in found


def test_words_are_words_and_not_pieces_of_them():
    clf = sf.from_huggingface(*made(bert))
    assert [word.text for word in clf.read("Unbelievably gripping!").words] == [
        "Unbelievably",
        "gripping",
        "!",
    ]


def test_a_folder_a_pipeline_and_the_objects_are_the_same_model(tmp_path, capsys):
    network, splitter = made(bert)
    network.save_pretrained(tmp_path / "model")
    splitter.save_pretrained(tmp_path / "model")
    capsys.readouterr()
    saved = sf.from_huggingface(tmp_path / "model")
    clf = sf.from_huggingface(network, splitter)
    piped = sf.from_huggingface(
        transformers.pipeline("text-classification", model=network, tokenizer=splitter)
    )
    assert saved.digest == clf.digest == piped.digest
    assert saved.predict(TEXTS[0]).scores == pytest.approx(clf.predict(TEXTS[0]).scores, abs=1e-5)
    other, _ = made(bert)
    with torch.no_grad():
        next(other.parameters()).view(-1)[0] += 1
    assert sf.from_huggingface(other, splitter).digest != clf.digest
    spec = f"hf:{tmp_path / 'model'}"
    file = str(tmp_path / "c.cert")
    assert (
        main(
            [
                "explain",
                TEXTS[0],
                "--model",
                spec,
                "--deletion",
                "--at-most",
                "2",
                "--certificate",
                file,
            ]
        )
        == 0
    )
    assert main(["check", file, "--model", spec]) == 0


def test_what_is_no_classifier_is_refused(tmp_path):
    network, splitter = made(bert)
    with pytest.raises(ModelError, match=r"config\.json"):
        sf.from_huggingface(tmp_path)
    with pytest.raises(ModelError, match="Give the tokenizer"):
        sf.from_huggingface(network)
    with pytest.raises(ModelError, match="not a int"):
        sf.from_huggingface(5)
    with pytest.raises(ModelError, match="BertModel does not give a text one score for each label"):
        sf.from_huggingface(network.bert, splitter)
    by_token = transformers.BertForTokenClassification(network.config)
    with pytest.raises(ModelError, match="AutoModelForSequenceClassification"):
        sf.from_huggingface(by_token, splitter)
    with pytest.raises(ModelError, match=r"There is no file .*missing\.onnx"):
        sf.from_huggingface(tmp_path / "missing.onnx", splitter, labels=LABELS)
    network.config.problem_type = "multi_label_classification"
    with pytest.raises(ModelError, match="one label per text"):
        sf.from_huggingface(network, splitter)


# --- recurrent networks ---


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_a_recurrent_network_is_asked(kind):
    torch.manual_seed(1)
    words = sorted({word for text in TEXTS for word in text.lower().split()})
    table = torch.nn.Embedding(len(words) + 1, 8)
    cells = getattr(torch.nn, kind)(8, 12, bidirectional=True, batch_first=True)
    head = torch.nn.Linear(24, 2)

    def predict(texts):
        rows = []
        with torch.inference_mode():
            for text in texts:
                ids = [words.index(w) + 1 if w in words else 0 for w in text.lower().split()] or [0]
                hidden = cells(table(torch.tensor([ids])) * 3)[0].mean(1)
                rows.append(head(hidden)[0].numpy() * 5)
        return np.array(rows)

    clf = sf.from_function(predict, ["no", "yes"], kind)
    for text, perturbation in (
        (TEXTS[0], sf.Deletion()),
        (TEXTS[0], sf.RemoveOrSwap(SWAPS, at_most=2)),
    ):
        truth = Truth(sf.Question(clf, text, perturbation=perturbation))
        result = sf.explain(clf, text, perturbation=perturbation)
        assert result.status == "optimal"
        assert mask(result.positions) in truth.cheapest
        assert sf.check(result.certificate, clf).optimal


# --- scikit-learn ---


def pipelines():
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    dense = FunctionTransformer(_dense)
    boosting = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=1)
    return {
        "tf-idf": make_pipeline(TfidfVectorizer(), LogisticRegression()),
        "forest": make_pipeline(
            CountVectorizer(ngram_range=(1, 2)), RandomForestClassifier(20, random_state=0)
        ),
        "boosting": make_pipeline(CountVectorizer(), dense, boosting),
    }


def _dense(rows):
    return rows.toarray()


@pytest.mark.parametrize("name", ["tf-idf", "forest", "boosting"])
def test_pipelines_that_are_not_laid_open_are_asked(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline = pipelines()[name].fit(TEXTS * 3, ["good", "bad", "good", "bad"] * 3)
    clf = sf.from_sklearn(pipeline)
    for text, perturbation in (
        (TEXTS[0], sf.Deletion()),
        (TEXTS[2], sf.RemoveOrSwap(SWAPS, at_most=2)),
    ):
        question = sf.Question(clf, text, perturbation=perturbation)
        result = sf.explain(clf, text, perturbation=perturbation)
        assert result.status == "optimal"
        if isinstance(clf, sf.BlackBox):
            assert mask(result.positions) in Truth(question).cheapest
            assert sf.check(result.certificate, clf).optimal


# --- the command line ---

MODULE = """
import numpy as np
import suffice as sf

def predict(texts):
    return np.array([[0.5, float("good" in text.lower())] for text in texts])

predict.labels = ["bad", "good"]

def plain(texts):
    return predict(texts)

def make():
    return sf.from_function(predict, ["bad", "good"], "made")

clf = make()
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    name = f"own_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    return name


@pytest.mark.parametrize("attribute", ["predict", "make", "clf"])
def test_the_command_line_takes_your_own_code(module, attribute, capsys):
    spec = f"python:{module}:{attribute}"
    assert main(["explain", "a Good film", "--model", spec, "--deletion", "--json"]) == 0
    assert '"Good"' in capsys.readouterr().out
    assert main(["contrast", "a Good film", "--model", spec, "--deletion"]) == 0
    assert main(["bias", "a Good film", "--model", spec, "--deletion", "--protected", "film"]) == 0
    assert main(["repair", "a Good film", "--model", spec, "--deletion", "--words", "film"]) == 0
    assert main(["attribute", "a Good film", "--model", spec, "--deletion"]) == 0
    assert main(["profile", "a Good film", "--model", spec, "--deletion"]) == 0
    assert (
        main(
            [
                "explain",
                "a Good film",
                "--model",
                spec,
                "--mask",
                "***",
                "--cache",
                "answers.sqlite",
            ]
        )
        == 0
    )
    assert main(["explain", "a Good film", "--model", spec, "--knn-box", "3"]) == 2
    assert "sf.Deletion" in capsys.readouterr().err


def test_a_sample_is_called_one_only_where_texts_were_left_out(module, capsys):
    spec = f"python:{module}:predict"
    asked = ["--model", spec, "--deletion", "--certificate", "c.cert"]
    assert main(["explain", "a really Good film of ours", *asked]) == 0
    capsys.readouterr()
    assert main(["check", "c.cert", "--model", spec, "--sample", "2"]) == 3
    assert "only a sample of 2 was run" in " ".join(capsys.readouterr().out.split())
    assert main(["check", "c.cert", "--model", spec, "--sample", "5000"]) == 0
    assert "Proved." in capsys.readouterr().out


@pytest.mark.parametrize(
    "spec",
    ["python:{}:plain", "python:{}:nothing", "python:{}", "python:no_such_module:x", "hf:none"],
)
def test_what_cannot_be_loaded_is_one_line(module, spec, capsys):
    assert main(["explain", "a film", "--model", spec.format(module)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("workers", ["1", "2"])
def test_batch_and_audit_ask_black_boxes(module, workers, tmp_path):
    (tmp_path / "texts.csv").write_text("text,label\na good film,good\nno film,bad\n")
    spec = f"python:{module}:predict"
    many = ["texts.csv", "--model", spec, "--deletion", "--workers", workers]
    assert main(["batch", *many, "--out", "out.jsonl"]) == 0
    assert (tmp_path / "out.jsonl").read_text().count('"status":"optimal"') == 2
    assert main(["audit", *many, "--protected", "film", "--report", "report.html"]) == 0
