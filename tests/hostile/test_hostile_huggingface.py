"""Folders of transformers from strangers: no code, no other file, and no network larger than its
weights.
"""

from __future__ import annotations

import contextlib
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import suffice as sf
from suffice.errors import ModelError
from tests.hostile.limited import limited, only_linux

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")
safetensors_torch = pytest.importorskip("safetensors.torch")

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "good", "film"]
TEXT = "a good film"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"


def saved(folder: Path) -> Path:
    """A small BERT and its tokenizer."""
    torch.manual_seed(0)
    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    config = transformers.BertConfig(vocab_size=len(WORDS), max_position_embeddings=32, **sizes)
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    inner = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]")
    )
    inner.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    names = dict(
        zip(["pad_token", "unk_token", "cls_token", "sep_token", "mask_token"], WORDS, strict=False)
    )
    transformers.PreTrainedTokenizerFast(tokenizer_object=inner, **names).save_pretrained(folder)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return saved(tmp_path / "model")


def edit(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def sharded(folder: Path, name: str) -> None:
    """The weights under another name, which an index gives."""
    tensors = safetensors_torch.load_file(folder / WEIGHTS)
    (folder / WEIGHTS).unlink()
    (folder / INDEX).write_text(
        json.dumps({"metadata": {}, "weight_map": dict.fromkeys(tensors, name)})
    )
    safetensors_torch.save_file(tensors, folder.parent / "x.safetensors", {"format": "pt"})


def test_weights_in_parts_are_read_as_before(folder):
    whole = sf.from_huggingface(folder)
    tensors = safetensors_torch.load_file(folder / WEIGHTS)
    (folder / WEIGHTS).unlink()
    names = {
        tensor: f"model-0000{i % 2 + 1}-of-00002.safetensors" for i, tensor in enumerate(tensors)
    }
    for shard in {*names.values()}:
        part = {tensor: value for tensor, value in tensors.items() if names[tensor] == shard}
        safetensors_torch.save_file(part, folder / shard, {"format": "pt"})
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": names}))
    assert sf.from_huggingface(folder).digest == whole.digest


def test_links_of_the_hubs_own_cache_are_followed_and_no_others(folder, tmp_path):
    digest = sf.from_huggingface(folder).digest
    blobs = tmp_path / "models--a--b" / "blobs"
    snapshot = tmp_path / "models--a--b" / "snapshots" / "abc"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for number, file in enumerate(folder.iterdir()):
        (blobs / str(number)).write_bytes(file.read_bytes())
        (snapshot / file.name).symlink_to(f"../../blobs/{number}")
    assert sf.from_huggingface(snapshot).digest == digest
    (snapshot / "config.json").unlink()
    (snapshot / "config.json").symlink_to(folder / "config.json")
    with pytest.raises(ModelError, match="is a link out of the folder"):
        sf.from_huggingface(snapshot)


class Runs:
    """Leaves a file where it is unpickled."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return open, (self.mark, "w")


@pytest.mark.parametrize(
    "kind", ["above", "absolute", "pickle", "pickle alone", "in a folder", "number", "link"]
)
def test_weights_are_plain_files_of_safetensors_in_the_folder(folder, tmp_path, kind):
    mark = tmp_path / "ran"
    names = {
        "above": "../x.safetensors",
        "absolute": str(tmp_path / "x.safetensors"),
        "pickle": "pytorch_model.bin",
    }
    names |= {"in a folder": "inner/x.safetensors", "number": 5, "link": "y.safetensors"}
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Runs(str(mark))))
    sharded(folder, names.get(kind, ""))
    if kind == "pickle alone":
        (folder / INDEX).unlink()
    if kind == "link":
        (folder / "y.safetensors").symlink_to(tmp_path / "x.safetensors")
    with pytest.raises(
        ModelError, match=r"only files of safetensors|is a link out of|other weights are pickles"
    ):
        sf.from_huggingface(folder)
    assert not mark.exists()


@pytest.mark.parametrize(
    "name", ["config.json", WEIGHTS, "tokenizer.json", "tokenizer_config.json"]
)
def test_a_link_out_of_the_folder_is_not_followed(folder, tmp_path, name):
    (folder / name).rename(tmp_path / "elsewhere")
    (folder / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ModelError, match="is a link out of the folder"):
        sf.from_huggingface(folder)


CONFIGS: dict[str, tuple[dict[str, Any], str]] = {
    "many layers": ({"num_hidden_layers": 10**5}, "num_hidden_layers = 100000"),
    "some layers": ({"num_hidden_layers": 30}, "makes a network of more than"),
    "one layer more": ({"num_hidden_layers": 3}, "its weights lack"),
    "more words": ({"vocab_size": 9}, "they do not fit"),
    "many words": ({"vocab_size": 10**9}, "vocab_size = 1000000000"),
    "wide": ({"hidden_size": 32}, "they do not fit"),
    "very wide": ({"hidden_size": 2**15}, "makes a network of more than"),
    "narrow": ({"hidden_size": 8}, "they do not fit"),
    "many labels": ({"num_labels": 10**9, "id2label": None}, "num_labels = 1000000000"),
    "many places": ({"max_position_embeddings": 2**23}, "makes a network of more than"),
    "no end of places": ({"max_position_embeddings": 10**30}, "max_position_embeddings = "),
    "shared layers": (
        {"model_type": "albert", "num_hidden_layers": 10**6},
        "num_hidden_layers = 1000000",
    ),
    "somebody's attention": ({"_attn_implementation": "somebody/repo"}, "the code 'somebody/repo'"),
    "attention by another name": (
        {"attn_implementation": "somebody/repo:f"},
        "the code 'somebody/repo:f'",
    ),
    "attention of a part": ({"attn_implementation": {"text_config": "a/b"}}, "the code"),
    "attention deep inside": ({"text_config": {"_attn_implementation": "a/b"}}, "the code 'a/b'"),
    "experts": ({"experts_implementation": "somebody/repo"}, "the code 'somebody/repo'"),
    "weights by name": ({"transformers_weights": "../x.safetensors"}, "'transformers_weights'"),
    "packed weights": ({"quantization_config": {"quant_method": "gptq"}}, "'quantization_config'"),
    "no such model": ({"model_type": "nothing"}, "cannot be loaded"),
    "a list": ({"hidden_size": [[]]}, "cannot be loaded"),
    "text for a number": ({"num_attention_heads": "2"}, "cannot be loaded"),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_config_that_its_weights_do_not_bear_out_is_refused(folder, name):
    changes, said = CONFIGS[name]
    edit(folder / "config.json", lambda config: config.update(changes))
    with pytest.raises(ModelError) as caught:
        sf.from_huggingface(folder)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_code_beside_a_model_is_not_run(folder, tmp_path):
    mark = tmp_path / "ran"
    (folder / "own.py").write_text(f"open({str(mark)!r}, 'w')\nclass Own: pass\n")
    digest = sf.from_huggingface(folder).digest
    for file, names in (
        ("config.json", {"AutoConfig": "own.Own", "AutoModelForSequenceClassification": "own.Own"}),
        ("tokenizer_config.json", {"AutoTokenizer": ["own.Own", "own.Own"]}),
    ):
        edit(folder / file, lambda data, names=names: data.update({"auto_map": names}))
    assert sf.from_huggingface(folder).digest == digest
    edit(folder / "config.json", lambda data: data.update({"model_type": "own"}))
    with pytest.raises(ModelError):
        sf.from_huggingface(folder)
    assert not mark.exists()


def test_settings_of_a_tokenizer_name_no_other_files(folder, tmp_path):
    (tmp_path / "secret.txt").write_text("\n".join(["[UNK]", "secret"]))
    names = {"vocab_file": str(tmp_path / "secret.txt"), "tokenizer_file": "../secret.txt"}
    names |= {"fast_tokenizer_files": ["../tokenizer.1.0.json"], "tokenizer_class": "BertTokenizer"}
    edit(folder / "tokenizer_config.json", lambda data: data.update(names))
    assert sf.from_huggingface(folder).predict(TEXT).label
    (folder / "tokenizer.json").unlink()
    try:
        splitter = sf.from_huggingface(folder).again[1]
    except ModelError:
        return
    assert "secret" not in str(splitter)


def regex(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


TOKENIZERS = {
    "a pattern that tries all ways": {"pre_tokenizer": regex("(a+)+$")},
    "a pattern that panics": {"pre_tokenizer": regex("(?<=a{1,99999})(" * 40 + ")" * 40)},
    "a pattern of many copies": {"pre_tokenizer": regex("((a{1,999}){1,999}){1,999}")},
    "texts that grow": {
        "normalizer": {
            "type": "Sequence",
            "normalizers": [{"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}] * 40,
        }
    },
    "no tokenizer": {"model": {"type": "Nothing"}},
    "half a model": {"model": {"type": "WordPiece"}},
}


@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_tokenizer_that_takes_for_ever_or_panics_is_refused(folder, name):
    edit(folder / "tokenizer.json", lambda data: data.update(TOKENIZERS[name]))
    with pytest.raises(ModelError) as caught:
        sf.from_huggingface(folder)
    assert "\n" not in str(caught.value)


def test_a_panic_while_texts_are_read_is_a_sentence(folder):
    """What packages written in Rust raise where they panic is no Exception, and would end a batch
    with a traceback.
    """
    panic = type("PanicException", (BaseException,), {})
    network = transformers.BertForSequenceClassification.from_pretrained(folder)
    splitter = transformers.AutoTokenizer.from_pretrained(folder)
    told = []

    class Panics(type(splitter)):
        def __call__(self, *given, **more):
            if told:
                raise panic("index out of bounds")
            return super().__call__(*given, **more)

    splitter.__class__ = Panics
    clf = sf.from_huggingface(network, splitter)
    told.append(True)
    with pytest.raises(ModelError, match="the tokenizer fails: index out of bounds"):
        clf.predict("another text")


def test_damaged_files_raise_nothing_but_what_says_so(folder):
    whole = {file.name: file.read_bytes() for file in folder.iterdir()}
    for name, content in whole.items():
        for damaged in (content[: len(content) // 2], b"[" * 10**5, b"\xff" * 100, b"[]", b""):
            (folder / name).write_bytes(damaged)
            with contextlib.suppress(ModelError):
                sf.from_huggingface(folder)
        (folder / name).write_bytes(content)


@only_linux
def test_a_small_folder_takes_little_memory(folder):
    edit(
        folder / "config.json",
        lambda config: config.update({"num_hidden_layers": 10**5, "vocab_size": 10**9}),
    )
    code = (
        "import torch, transformers, suffice as sf\ntransformers.AutoModelForSequenceClassification"
    )
    answer = limited(code, "sf.from_huggingface(given[0])", [folder], megabytes=500)
    assert answer.startswith("refused: ")
