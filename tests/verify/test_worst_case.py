"""Pipelines laid open as bags of words: what is computed is what scikit-learn itself says of every
allowed string.
"""

from __future__ import annotations

import itertools
import math
import re
import warnings
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC

import suffice as sf
from suffice.errors import Rejected
from suffice.importers.bag import lowered
from suffice.importers.kinds import NotLowered
from suffice.importers.sklearn_asked import opened
from suffice.model.blackbox import BlackBox
from suffice.model.text import rewritten, written
from suffice.proof.bag.check import BagCheck
from suffice.proof.bag.cuts import proved_lower_bound
from suffice.proof.certificate import Certificate
from suffice.settings import DEFAULT
from suffice.verify.contract import Budget
from suffice.verify.text.lagrangian_cuts import RestorationRelaxation, word_gains
from suffice.verify.text.lattice import NoLattice, OptionLattice, build_lattice
from suffice.verify.text.norm_form import (
    InstanceProved,
    InstanceRefuted,
    TextInstance,
    decide_instance,
)
from tests.helpers import set_numbers

WORDS = ["good", "bad", "film", "plot", "dull", "great", "not", "very", "the", "was"]


def sentence(rng: np.random.Generator, low: int, high: int) -> str:
    return " ".join(rng.choice(WORDS, int(rng.integers(low, high))))


def random_vectorizer(rng: np.random.Generator) -> Any:
    orders = [(1, 1), (1, 1), (1, 2), (1, 2), (2, 2)][rng.integers(5)]
    norm = [None, "l2", "l2", "l1"][rng.integers(4)]
    match rng.integers(5):
        case 0:
            return CountVectorizer(binary=bool(rng.integers(2)), ngram_range=orders)
        case 1:
            sign = bool(rng.integers(2))
            return HashingVectorizer(
                n_features=16, norm=norm, ngram_range=orders, alternate_sign=sign
            )
        case _:
            return TfidfVectorizer(
                norm=norm,
                sublinear_tf=bool(rng.integers(2)),
                use_idf=bool(rng.integers(2)),
                binary=bool(rng.integers(3) == 0),
                ngram_range=orders,
                min_df=int(rng.integers(1, 3)),
                stop_words=["the"] if rng.integers(4) == 0 else None,
            )


def random_pipeline(rng: np.random.Generator) -> Pipeline | None:
    """A small fitted pipeline; None where the data does not fit one."""
    labels = int(rng.choice([2, 2, 3]))
    texts = [sentence(rng, 2, 8) for _ in range(25)]
    classes = rng.integers(0, labels, 25)
    vectorizer = random_vectorizer(rng)
    steps: list[Any] = [
        [],
        [],
        [TfidfTransformer()],
        [MaxAbsScaler()],
        [SelectKBest(k=4)],
        [TruncatedSVD(3)],
    ][rng.integers(6)]
    counted = isinstance(vectorizer, CountVectorizer) and not isinstance(
        vectorizer, TfidfVectorizer
    )
    if (
        steps
        and not counted
        and (isinstance(steps[0], TfidfTransformer) or isinstance(vectorizer, HashingVectorizer))
    ):
        steps = []
    signed = isinstance(vectorizer, HashingVectorizer) or (
        steps and isinstance(steps[0], TruncatedSVD)
    )
    models = [
        LogisticRegression(C=10),
        LinearSVC(),
        SGDClassifier(random_state=0),
        RidgeClassifier(),
        Perceptron(),
        LogisticRegression(fit_intercept=False),
        OneVsRestClassifier(LogisticRegression()),
        MultinomialNB(),
        ComplementNB(),
        BernoulliNB(),
    ]
    model = models[rng.integers(7 if signed else 10)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = make_pipeline(vectorizer, *steps, model).fit(texts, classes)
            lowered([step for _, step in made.steps])
            return made
    except (ValueError, NotLowered):
        return None


def random_question(rng: np.random.Generator, most: int = 6) -> tuple[str, list[tuple[str, ...]]]:
    words = [
        str(rng.choice(WORDS)) if rng.random() < 0.85 else ["zzz", ","][rng.integers(2)]
        for _ in range(int(rng.integers(2, most)))
    ]
    removal, swaps = [(True, False), (False, True), (True, True)][rng.integers(3)]
    options = []
    for word in words:
        found = [""] if removal else []
        if swaps:
            found += [
                str(x) for x in rng.choice([*WORDS, "qq", "good plot"], int(rng.integers(0, 3)))
            ]
        kept = () if rng.random() < 0.3 else tuple(dict.fromkeys(x for x in found if x != word))
        options.append(kept)
    return " ".join(words), options


def every_text(
    source: str, options: list[tuple[str, ...]], limit: int | None
) -> list[tuple[frozenset[int], str]]:
    text = written(source)
    found = []
    for choice in itertools.product(*((None, *some) for some in options)):
        new = {i: word for i, word in enumerate(choice) if word is not None}
        if limit is None or len(new) <= limit:
            found.append((frozenset(new), rewritten(text, new)))
    return found


def scores(pipeline: Pipeline, texts: list[str]) -> np.ndarray:
    """By scikit-learn alone."""
    if hasattr(pipeline, "decision_function"):
        found = np.asarray(pipeline.decision_function(texts))
        return found if found.ndim == 2 else np.stack([np.zeros(len(found)), found], 1)
    return np.asarray(pipeline[-1].predict_joint_log_proba(pipeline[:-1].transform(texts)))


def case_of(layout: OptionLattice, label: int, rival: int, limit: int | None) -> TextInstance:
    bag = layout.bag
    weight = (bag.rows[label] - bag.rows[rival])[layout.columns]
    bias = float(bag.bias[label] - bag.bias[rival])
    return TextInstance(
        layout, weight, bias, layout.first, np.ones(len(layout.word_of), dtype=bool), limit
    )


def judged(
    pipeline: Pipeline, source: str, options: list[tuple[str, ...]], limit: int | None
) -> Counter[str]:
    """The verdicts about each rival, once each is that of every allowed string as scikit-learn
    scores it.
    """
    bag = lowered([step for _, step in pipeline.steps])
    seen = Counter[str]()
    layout = build_lattice(bag, written(source), options)
    texts = every_text(source, options, limit)
    theirs = scores(pipeline, [text for _, text in texts])
    ours = np.array([bag.scores(bag.tokens(text)) for _, text in texts])
    assert np.allclose(ours - ours[:, :1], theirs - theirs[:, :1], atol=1e-9)
    label = int(scores(pipeline, [source])[0].argmax())
    for rival in (j for j in range(theirs.shape[1]) if j != label):
        margins = theirs[:, label] - theirs[:, rival]
        match decide_instance(case_of(layout, label, rival, limit), Budget(30)):
            case InstanceProved():
                seen["holds"] += 1
                assert margins.min() > 0
            case InstanceRefuted(chosen=chosen, margin=margin):
                seen["fails"] += 1
                text = rewritten(written(source), dict(layout.change(chosen)))
                assert text in {text for _, text in texts}
                row = scores(pipeline, [text])[0]
                assert row[label] - row[rival] == pytest.approx(margin, abs=1e-9)
                assert margin <= 1e-12
            case found:
                assert abs(margins.min()) < 1e-7, found
    return seen


@pytest.mark.parametrize("seed", range(12))
def test_the_worst_case_is_that_of_every_allowed_string(seed):
    rng = np.random.default_rng(seed)
    seen = Counter[str]()
    while sum(seen.values()) < 25:
        pipeline = random_pipeline(rng)
        if pipeline is None:
            continue
        source, options = random_question(rng)
        limit = [None, None, 1, 2][rng.integers(4)]
        seen += judged(pipeline, source, options, limit)
    assert seen.keys() == {"holds", "fails"}


@pytest.mark.parametrize("seed", range(4))
def test_gains_bound_what_any_restored_words_add(seed):
    rng = np.random.default_rng(100 + seed)
    seen = 0
    while seen < 60:
        pipeline = random_pipeline(rng)
        if pipeline is None:
            continue
        source, options = random_question(rng)
        layout = build_lattice(
            lowered([step for _, step in pipeline.steps]), written(source), options
        )
        case = case_of(layout, 0, 1, None)
        chosen = np.array([rng.integers(a, b) for a, b in itertools.pairwise(layout.offsets)])
        found = word_gains(case, chosen)
        if found is None:
            continue
        moved = np.flatnonzero(chosen != layout.first)
        for back in itertools.chain.from_iterable(
            itertools.combinations(moved, k) for k in range(len(moved) + 1)
        ):
            text = chosen.copy()
            text[list(back)] = layout.first[list(back)]
            counts = layout.counts(text)
            form = (
                case.form_and_margin(counts)[0] if counts.any() or layout.bag.norm is None else 0.0
            )
            assert form <= found.form_bound + found.by_word[list(back)].sum() + 1e-9
            seen += 1


def too_cheap(rng: np.random.Generator, spoil: Any = None) -> int:
    """How many sets of words, put back, lift the form of a text by more than prices for
    them say.
    """
    pipeline = random_pipeline(rng)
    if pipeline is None:
        return 0
    source, options = random_question(rng, 8)
    layout = build_lattice(lowered([step for _, step in pipeline.steps]), written(source), options)
    case = case_of(layout, 0, 1, None)
    chosen = np.array([rng.integers(a, b) for a, b in itertools.pairwise(layout.offsets)])
    moved = np.flatnonzero(chosen != layout.first)
    fees = RestorationRelaxation(
        case,
        chosen,
        DEFAULT.cuts,
        np.where(rng.random(layout.word_count) < 0.5, layout.first, chosen),
    )
    if not fees.bounds:
        return 0
    if spoil is not None:
        spoil(fees)
    prices = rng.random(layout.word_count) * rng.choice([0.1, 1.0])
    asked = [
        fees.cut_at(prices),
        fees.separate(rng.random(layout.word_count), prices, 1.0, lambda: None),
    ]
    wrong = 0
    for back in itertools.chain.from_iterable(
        itertools.combinations(moved, k) for k in range(len(moved) + 1)
    ):
        text = chosen.copy()
        text[list(back)] = layout.first[list(back)]
        counts = layout.counts(text)
        form = case.form_and_margin(counts)[0] if counts.any() or layout.bag.norm is None else 0.0
        wrong += sum(
            form > fee.weights[list(back)].sum() - fee.threshold + 1e-9
            for fee in asked
            if fee is not None
        )
    return wrong


def test_prices_bound_what_any_restored_words_add():
    rng = np.random.default_rng(7)
    assert [too_cheap(rng) for _ in range(250)].count(0) == 250


def _one_range(fees: RestorationRelaxation) -> None:
    fees.bounds = fees.bounds[:1]


def _steeper(fees: RestorationRelaxation) -> None:
    fees.bounds = [(form, 0.9 * steep, line) for form, steep, line in fees.bounds]


@pytest.mark.parametrize("spoil", [_one_range, _steeper])
def test_prices_from_wrong_lines_are_found_out(spoil):
    rng = np.random.default_rng(7)
    found = filter(None, (too_cheap(rng, spoil) for _ in range(250)))
    assert len(list(itertools.islice(found, 4))) == 4


def cheapest(
    texts: list[tuple[frozenset[int], str]], flips: list[bool], costs: list[int], forced: set[int]
) -> float:
    """By all subsets: the cheapest words that every flip changes one of."""
    sets = [changed for (changed, _), flip in zip(texts, flips, strict=True) if flip]
    best = math.inf
    for size in range(len(costs) + 1):
        for held in itertools.combinations(range(len(costs)), size):
            if forced <= set(held) and all(changed & set(held) for changed in sets):
                best = min(best, sum(costs[i] for i in held))
    return best


@pytest.mark.parametrize("seed", range(8))
def test_explanations_are_the_cheapest_by_brute_force_and_their_certificates_hold(seed):
    rng = np.random.default_rng(500 + seed)
    done = 0
    while done < 8:
        pipeline = random_pipeline(rng)
        if pipeline is None:
            continue
        words = [str(word) for word in rng.choice([*WORDS, "zzz"], int(rng.integers(3, 7)))]
        limit = [None, None, 1, 2][rng.integers(4)]
        swaps = {word: [str(w) for w in rng.choice(WORDS, 2) if w != word] for word in words[::2]}
        chosen = [
            sf.Deletion(at_most=limit),
            sf.WordSwap(swaps, at_most=limit),
            sf.RemoveOrSwap(swaps, at_most=limit),
        ]
        which = int(rng.integers(3))
        gone = ("",) if which != 1 else ()
        options = [(*gone, *(dict.fromkeys(swaps.get(w, ())) if which else ())) for w in words]
        texts = every_text(" ".join(words), options, limit)
        rows = scores(pipeline, [text for _, text in texts])
        base = scores(pipeline, [" ".join(words)])[0]
        label = int(base.argmax())
        margins = rows[:, label] - np.delete(rows, label, axis=1).max(1)
        if np.abs(margins).min() < 1e-7:
            continue
        costs = (
            [int(c) for c in rng.integers(1, 4, len(words))]
            if rng.integers(2)
            else [1] * len(words)
        )
        priced = dict(zip(words, costs, strict=True))
        costs = [priced[w] for w in words]
        forced = {0} if rng.integers(3) == 0 else set()
        box = opened(pipeline)
        assert box is not None
        asked = {"perturbation": chosen[which], "cost": priced, "include": sorted(forced)}
        result = sf.explain(box, words, **asked)
        assert result.status == "optimal", result.meta
        assert "computed" in result.meta
        assert result.cost == cheapest(texts, list(margins <= 0), costs, forced)
        assert sf.check(result.certificate, box).optimal
        done += 1


def fitted(vectorizer: Any = None, model: Any = None) -> Pipeline:
    good = [
        "The soup was warm and the bread fresh",
        "A kind waiter brought fresh bread",
        "Loved the warm soup",
    ]
    bad = [
        "The soup was cold and the bread stale",
        "A rude waiter forgot us",
        "Hated the cold soup",
    ]
    made = make_pipeline(vectorizer or TfidfVectorizer(), model or LogisticRegression())
    return made.fit(good + bad, ["good"] * 3 + ["bad"] * 3)


TEXT = "The waiter was kind, but the soup was cold and the bread was stale"
TWICE = f"{TEXT} and {TEXT}"  # so that a rule is needed


def test_the_default_pipeline_is_laid_open_and_says_so():
    box = sf.from_sklearn(fitted())
    assert isinstance(box, BlackBox)
    assert box.bag is not None
    assert box.meta["import"]["way"] == "laid open as a bag of words"
    result = sf.explain(box, TEXT, perturbation=sf.Deletion())
    assert "the worst case was computed" in str(result)
    assert result.meta["checked"] is True


def _halves(text: str) -> list[str]:
    return [text[: len(text) // 2], text[len(text) // 2 :]]


def test_a_pipeline_that_cannot_be_laid_open_is_asked():
    box = sf.from_sklearn(fitted(TfidfVectorizer(analyzer=_halves)))
    assert isinstance(box, BlackBox)
    assert box.bag is None
    assert box.meta["import"]["way"] == "asked as a function"


@pytest.mark.parametrize(
    "vectorizer",
    [
        TfidfVectorizer(tokenizer=_halves, token_pattern=None),
        TfidfVectorizer(preprocessor=str.swapcase),
        TfidfVectorizer(tokenizer=re.compile("B", re.IGNORECASE).findall, token_pattern=None),
        TfidfVectorizer(dtype=np.float32),
        TfidfVectorizer(token_pattern=r"(?<=\b)\w+"),
    ],
)
def test_what_is_not_understood_is_not_lowered(vectorizer):
    with pytest.raises(NotLowered):
        lowered([step for _, step in fitted(vectorizer).steps])


def test_a_calibrated_model_of_one_sigmoid_is_laid_open():
    texts = [TEXT, "Loved the warm soup", "Hated the cold soup", "fresh bread"] * 3
    labels = ["bad", "good", "bad", "good"] * 3
    model = CalibratedClassifierCV(LinearSVC(), ensemble=False, cv=2)
    pipeline = make_pipeline(TfidfVectorizer(), model).fit(texts, labels)
    box = sf.from_sklearn(pipeline)
    assert isinstance(box, BlackBox)
    assert box.bag is not None
    result = sf.explain(box, TEXT, perturbation=sf.Deletion(at_most=2))
    assert result.status == "optimal"


def test_words_that_may_grow_together_are_asked_instead():
    bag = sf.from_sklearn(fitted(TfidfVectorizer(token_pattern=r"[\w\-]+"))).bag
    with pytest.raises(NoLattice):
        build_lattice(bag, written("well - done"), [("",)] * 3)
    box = sf.from_sklearn(fitted(TfidfVectorizer(token_pattern=r"[\w\-]+")))
    result = sf.explain(box, "cold - stale bread", perturbation=sf.Deletion())
    assert result.status == "optimal"
    assert "computed" not in result.meta
    assert "not computed" in result.meta["not_computed"]


def test_every_witness_is_a_string_that_the_pipeline_flips_on():
    pipeline = fitted(TfidfVectorizer(ngram_range=(1, 2)))
    box = sf.from_sklearn(pipeline)
    answer = sf.is_robust(box, TEXT, ["bread"], perturbation=sf.Deletion())
    assert isinstance(answer, sf.Refuted)
    assert pipeline.predict([answer.witness.text])[0] != pipeline.predict([TEXT])[0]
    flip = sf.contrast(box, TEXT, perturbation=sf.Deletion())
    assert flip.status == "optimal"
    assert pipeline.predict([flip.flipped_text])[0] != pipeline.predict([TEXT])[0]
    assert (
        sf.is_robust(box, TEXT, ["cold", "stale"], perturbation=sf.Deletion()).certificate
        is not None
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_fewest_changes_are_those_of_brute_force(seed):
    rng = np.random.default_rng(900 + seed)
    done = 0
    while done < 8:
        pipeline = random_pipeline(rng)
        if pipeline is None:
            continue
        words = [str(word) for word in rng.choice(WORDS, int(rng.integers(3, 7)))]
        texts = every_text(" ".join(words), [("",)] * len(words), None)
        rows = scores(pipeline, [text for _, text in texts])
        label = int(scores(pipeline, [" ".join(words)])[0].argmax())
        margins = rows[:, label] - np.delete(rows, label, axis=1).max(1)
        if np.abs(margins).min() < 1e-7:
            continue
        sizes = [
            len(changed) for (changed, _), margin in zip(texts, margins, strict=True) if margin <= 0
        ]
        found = sf.contrast(opened(pipeline), words, perturbation=sf.Deletion())
        assert found.status == ("optimal" if sizes else "none")
        assert not sizes or found.cost == min(sizes)
        done += 1


def test_what_excluded_words_decide_is_infeasible():
    box = sf.from_sklearn(fitted())
    result = sf.explain(box, TEXT, perturbation=sf.Deletion(), exclude=["cold", "stale"])
    assert result.status == "infeasible"
    assert sf.check(result.certificate, box).kind == "infeasible"


def narrow(rng: np.random.Generator) -> tuple[Pipeline, str, list[int]]:
    """A text of few words that come often, and held words that are only just enough."""
    texts = [sentence(rng, 2, 7) for _ in range(25)]
    labels = rng.integers(0, 2, 25)
    found = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(C=10)).fit(
        texts, labels
    )
    source = " ".join(rng.choice(WORDS[:4], 9))
    held = sorted(int(i) for i in rng.choice(9, 2, replace=False))
    texts = [
        text for _, text in every_text(source, [() if i in held else ("",) for i in range(9)], None)
    ]
    leads = found.decision_function(texts)
    sign = float(np.sign(leads[0])) or 1.0
    found[-1].intercept_ -= sign * ((sign * leads).min() - 0.003)
    return found, source, held


def test_splits_by_counts_prove_what_is_only_just_enough_and_their_certificates_hold(monkeypatch):
    set_numbers(monkeypatch, DEFAULT.norm_form, count_split_share=0.0)
    rng = np.random.default_rng(77)
    splits = 0
    for _ in range(60):
        pipeline, source, held = narrow(rng)
        box = sf.from_sklearn(pipeline)
        verdict = sf.is_robust(box, source, held, perturbation=sf.Deletion())
        assert isinstance(verdict, sf.Proved), verdict
        if any(
            "column" in node
            for line in verdict.certificate.lines
            for nodes in _proofs(line)
            for node in nodes
        ):
            splits += 1
            with pytest.raises(Rejected):
                sf.check(mutated(verdict.certificate, _split_elsewhere), box)
    assert splits > 3


def _proofs(line: dict[str, Any]) -> list[Any]:
    return list(line.get("computed", {}).get("proofs", {}).values())


def _split_elsewhere(lines: list[Any]) -> None:
    """Counts are whole numbers: between two of them there is no split."""
    for nodes in (some for line in lines for some in _proofs(line)):
        place = next(i for i, node in enumerate(nodes) if "column" in node)
        nodes[place] = {**nodes[place], "most": nodes[place]["most"] + 0.5}


def mutated(certificate: Certificate, edit: Any) -> Certificate:
    import json

    lines = json.loads(json.dumps(certificate.lines))
    edit(lines)
    return Certificate(tuple(lines))


def _line(lines: list[Any], name: str) -> Any:
    return next(line[name] for line in lines if name in line)


def _free_more(lines: list[Any]) -> None:
    claim = lines[0]["claim"]
    gone = claim["positions"].pop()
    claim["cost"] -= 1
    claim["lower"] = min(claim["lower"], claim["cost"])
    _line(lines, "computed")["free"] = sorted([*_line(lines, "computed")["free"], gone])


def _raise_lower(lines: list[Any]) -> None:
    other = next(i for i in range(8) if i not in lines[0]["claim"]["positions"])
    claim = lines[0]["claim"]
    claim["positions"] = sorted([*claim["positions"], other])
    claim["cost"] += 1
    claim["lower"] = claim["cost"]
    _line(lines, "computed")["free"].remove(other)


def _shrink_weights(lines: list[Any]) -> None:
    rule = _line(lines, "rule")
    rule["weights"] = [weight * 0.5 for weight in rule["weights"]]


def _drop_a_proof(lines: list[Any]) -> None:
    _line(lines, "computed")["proofs"].popitem()


def _empty_leaf(lines: list[Any]) -> None:
    for nodes in _line(lines, "computed")["proofs"].values():
        nodes[:] = [{"lines": []}]


@pytest.mark.parametrize(
    "edit", [_free_more, _raise_lower, _shrink_weights, _drop_a_proof, _empty_leaf]
)
@pytest.mark.parametrize("orders", [(1, 1), (1, 2)], ids=["words", "pairs"])
def test_a_forged_certificate_is_rejected(edit, orders, monkeypatch):
    # by rules, not by ceilings
    monkeypatch.setattr("suffice.optimise.cuts.cut_search.is_affordable", lambda *_: False)
    box = sf.from_sklearn(fitted(TfidfVectorizer(ngram_range=orders)))
    result = sf.explain(box, TWICE, perturbation=sf.Deletion())
    assert sf.check(result.certificate, box).optimal
    with pytest.raises(Rejected):
        sf.check(mutated(result.certificate, edit), box)


def test_a_certificate_is_rejected_where_the_bag_is_not_the_program():
    box = sf.from_sklearn(fitted())
    result = sf.explain(box, TEXT, perturbation=sf.Deletion())
    wrong = replace(box, bag=replace(box.bag, rows=box.bag.rows * 1.01))
    with pytest.raises(Rejected, match="do not agree"):
        sf.check(result.certificate, wrong)


@pytest.mark.parametrize("seed", range(20))
def test_no_cheaper_set_is_never_claimed_too_high(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 8))
    costs = [int(c) for c in rng.integers(1, 4, count)]
    rules = [
        (rng.normal(0.3, 0.6, count), float(rng.uniform(0.2, 1.2)))
        for _ in range(int(rng.integers(1, 5)))
    ]
    kept = [
        sum(c for i, c in enumerate(costs) if mask >> i & 1)
        for mask in range(2**count)
        if all(sum(w[i] for i in range(count) if mask >> i & 1) >= least for w, least in rules)
    ]
    best = min(kept, default=10**9)
    assert proved_lower_bound(rules, costs, 0, 0, sum(costs) + 1) <= best
    if kept:
        assert proved_lower_bound(rules, costs, 0, 0, best) == best


SAD = "The rude waiter forgot us, we hated the cold soup, the stale bread and the warm bread"


def test_the_fewest_changes_come_with_a_certificate_that_runs_no_cheaper_text():
    box = sf.from_sklearn(fitted(TfidfVectorizer(ngram_range=(1, 2))))
    found = sf.contrast(box, SAD, perturbation=sf.Deletion())
    assert found.status == "optimal"
    assert any("computed" in line for line in found.certificate.lines)
    assert sf.check(found.certificate, box).kind == "flip"


def _one_more(lines: list[Any]) -> None:
    """A flip of more words than needed, as if nothing cheaper flipped."""
    claim = lines[0]["claim"]
    flip = _line(lines, "flip")
    claim["cost"] += 1
    claim["lower"] = claim["cost"]
    claim["positions"] = flip["changed"] = sorted([*flip["changed"], 0])
    flip["words"] = ["", *flip["words"]]
    flip["text"] = rewritten(written(SAD), dict(zip(flip["changed"], flip["words"], strict=True)))
    _line(lines, "computed")["at_most"] += 1


def _fewer_checked(lines: list[Any]) -> None:
    _line(lines, "computed")["at_most"] -= 1


def _other_costs(lines: list[Any]) -> None:
    lines[0]["claim"]["costs"][0] += 1


@pytest.mark.parametrize(
    "edit", [_one_more, _fewer_checked, _other_costs, _drop_a_proof, _empty_leaf]
)
def test_a_forged_certificate_of_a_flip_is_rejected(edit):
    box = sf.from_sklearn(fitted())
    found = sf.contrast(box, SAD, perturbation=sf.Deletion())
    assert len(found.positions) > 1
    with pytest.raises(Rejected):
        sf.check(mutated(found.certificate, edit), box)


def test_a_rule_that_the_checker_rejects_is_left_out_and_the_words_stay(monkeypatch):
    from suffice.proof.bag.check import BagCheck

    whole, seen = BagCheck.checked_cut, []

    def strict(self, line, labels):
        seen.append(line)
        if "weights" in line:
            raise Rejected(0, "not today")
        return whole(self, line, labels)

    monkeypatch.setattr(BagCheck, "checked_cut", strict)
    box = sf.from_sklearn(fitted())
    result = sf.explain(box, TWICE, perturbation=sf.Deletion())
    assert seen
    assert result.meta["checked"] is True
    assert not any("weights" in line.get("rule", ()) for line in result.certificate.lines)
    assert result.lower_bound <= result.cost
    assert isinstance(
        sf.is_robust(box, TWICE, list(result.positions), perturbation=sf.Deletion()), sf.Proved
    )


@pytest.mark.parametrize("seed", range(4))
def test_rules_that_shares_of_words_break_lead_to_the_same_answers(seed, monkeypatch):
    from tests import pipelines

    set_numbers(monkeypatch, DEFAULT.cuts, lp_from_words=0)
    monkeypatch.setattr("suffice.optimise.cuts.cut_search.is_affordable", lambda *_: False)
    rng = np.random.default_rng([5, seed])
    made = pipelines.kinds()
    seen = [
        pipelines.judged(rng, made[kind](rng), kind == "streams")
        for kind in ("weights", "streams") * 5
    ]
    assert seen.count("computed") > 3


def test_a_rule_that_only_just_follows_is_lost_in_rounding(monkeypatch):
    """A bound that equals what a rule says, to the last bit, may be that of rounding."""
    box = sf.from_sklearn(fitted(TfidfVectorizer()))
    result = sf.explain(box, TWICE, perturbation=sf.Deletion())
    rule = _line(list(result.certificate.lines), "rule")
    monkeypatch.setattr(BagCheck, "_bound_by_segments", lambda *_: rule["size"] * rule["least"])
    with pytest.raises(Rejected, match="the rule does not follow"):
        sf.check(result.certificate, box)


def test_no_proof_rests_on_a_slope_that_the_checker_cuts_short():
    """Texts are split by counts here, and slopes that go beyond their steps decide; this one went
    too far.
    """
    from tests import pipelines

    rng = np.random.default_rng([991, 338])
    made = pipelines.kinds()
    seen = [
        pipelines.judged(rng, made[kind](rng), kind == "streams") for kind in ("weights", "streams")
    ]
    assert seen == ["computed", "computed"]


@pytest.mark.parametrize("orders", [(1, 1), (1, 2)])
def test_a_rival_that_is_close_hides_no_flip_to_another(orders):
    """Without "good" the label is too close to the second label to tell, and loses to the third."""
    made = make_pipeline(TfidfVectorizer(ngram_range=orders), LogisticRegression())
    made.fit(["good film", "film plot", "plot good"], ["a", "b", "c"])
    place = made[0].vocabulary_["good"]
    made[1].coef_ = np.zeros_like(made[1].coef_)
    made[1].coef_[0, place] = 2.0
    made[1].intercept_ = np.array([0.1 + 0.2, 0.3, 0.8])  # the first two are equal but for rounding
    box = opened(made)
    assert box.predict("good film").label == "a"
    found = sf.explain(box, "good film", perturbation=sf.Deletion())
    assert (found.status, found.positions) == ("optimal", (0,))
    flip = sf.contrast(box, "good film", perturbation=sf.Deletion())
    assert (flip.status, flip.cost, flip.flip.label) == ("optimal", 1, "c")
