"""Settings: the tuned numbers of search and verification, in the open and passed in.

None of them changes what is true: whatever they are, an answer is proved, refuted by an input that
was run, or unknown, and both checkers read its certificate with numbers of their own. They change
how much work an answer takes, and which of several proofs or equally cheap sets is found. Below
each field stands what it is and what it trades, and in brackets its unit and the benchmark that
chose it.

What follows from arithmetic or from the format of certificates is no setting: it stands in
`suffice.verify.tolerances`, and in each checker once more. What the machine has (memory, caches)
is in `Resources`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

# --- networks: backward bounds and the planes that they choose ---


# --- networks: attacks, presolve, branch and bound ---


# --- texts: pipelines, tables, black boxes ---


@dataclass(frozen=True)
class NormForm:
    """The bound of N + b sqrt(S) over a subset of the texts (theory, section 10)."""

    lines: int = 10
    """Lines in the place of the root, chords or tangents, before a subset is split. More of them
    make a bound tight before a split, fewer reach the split sooner. [lines; never swept]
    """
    bracket_margin: float = 0.1
    """How far from the ends of its range the next line begins; a minimiser that is nearer to an
    end is not followed. Lower follows minimisers, higher halves ranges. [share of the range; never
    swept]
    """
    count_split_share: float = 0.1
    """A feature's counts are split where its line loses more than this. Lower splits counts,
    higher splits words. [share of what the bound lacks; never swept]
    """
    slope_rounds: int = 4
    """Rounds that improve the slopes of repeated features, and as many for the multiplier of the
    limit on changes. Each is one shortest path; fewer split sooner. [rounds; never swept]
    """
    slope_step: float = 0.6
    """How far slopes move in a round to where the minimiser is balanced. Large steps oscillate,
    small ones are slow. [share of the way; never swept]
    """
    counted_changes: int = 8
    """Changes that are counted exactly on a path of neighbours; beyond them a multiplier is paid,
    which may leave a gap. Counting multiplies the time and memory of a path; on a trellis, whose
    edges are explicit, three times as many are. [changes; never swept]
    """


@dataclass(frozen=True)
class Cuts:
    """Cutting planes over sets of words (theory, section 8)."""

    blends: tuple[float, ...] = (0.25, 0.5)
    """A failing text gives a cut whose weights are proportional to costs, and one for each blend
    with what the words add. More cuts per failing text. [shares of what words add; never swept]
    """
    range_edges: tuple[float, ...] = (0.6, 0.85, 1.15, 1.6)
    """Where the range of S is cut around the text's own. Narrower ranges have tighter chords and
    take a shortest path each. [times S of the text; never swept]
    """
    dual_rounds: int = 12
    """Steps of the search for a cut's weights, along a ray or by subgradients, and for a failing
    text with known features. Deeper cuts against time. [shortest paths; never swept]
    """
    nearly_all: float = 0.9
    """Of what is possible, enough: a cut that is violated by this share of the most it can be; and
    words that together lower the form by this share of the text's own, for one counting cut.
    Higher: deeper cuts, and counting cuts that hold more often. [share; never swept]
    """
    quick_splits: int = 4
    """Splits spent on one cut or one quick question; a question left open costs another candidate.
    [splits; never swept]
    """
    closing_splits: int = 100
    """Splits spent on a proof that would close the gap. [splits; never swept]
    """
    shrink_tries: int = 24
    """Words put back one by one after the bisection that makes a failing text small. Sparser texts
    give better cuts. [words; never swept]
    """
    grow_every: int = 4
    """So many flips apart a sufficient set is grown, for an upper bound and for cuts. [flips; never
    swept]
    """
    master_nodes: int = 1
    """Nodes of the solver for the next candidate, which is the cheapest where they are enough;
    doubled where looking at candidates taught nothing. [nodes; benchmarks/pipelines.py, words and
    pairs]
    """
    lp_from_words: int = 60
    """Words from which fractions are cut off before candidates are looked at. [words; never swept]
    """
    lp_rounds: int = 400
    """Rounds of that, in all. A higher bound against time for candidates. [linear programs;
    benchmarks/pipelines.py, words and pairs]
    """
    lp_idle_rounds: int = 20
    """Rounds without a rise, after which it ends. [linear programs; never swept]
    """
    rounding: tuple[float, ...] = (0.5, 0.35, 0.65, 0.2, 0.8)
    """Fractions above which words are held, one after the other, to find a failing text.
    [fractions; never swept]
    """
    reused_texts: int = 40
    """The last failing texts, which are tried again where rounding finds none. [texts; never swept]
    """
    cuts_per_round: int = 5
    """Cuts that are enough for a round, and random sets where there are none. [cuts; never swept]
    """


@dataclass(frozen=True)
class Majorants:
    """Linear majorants of the norm form, where neighbours count (theory, section 8)."""

    fixing_shares: tuple[float, ...] = (1.0, 0.5, 0.0)
    """A majorant each that leaves words fixed whose change lifts the form by more than this. More
    of them mix tighter. [shares of the last rise; never swept]
    """
    rounds: int = 6
    """Majorants one by one, before they are mixed; and mixes for sets below a cost, before these
    are split on a word. [rounds; never swept]
    """
    most_splits: int = 30
    """Splits of the sets for one more unit of the bound. [splits; never swept]
    """


@dataclass(frozen=True)
class Queries:
    """Classifiers that are only run: what is asked, in which order, and what is computed in tables
    instead (theory, sections 11 and 12).
    """

    few_texts: int = 64
    """So many texts are all asked, without attacks or tables; fewer draws say nothing; and a first
    batch of changes is as large, which doubles: few while a flip may be near. [texts; never swept]
    """
    budget_share: float = 0.5
    """Of what may still be asked: what asking a set of texts to the end, one more size of changes,
    or a test may take. [share; never swept]
    """
    wanted_share: float = 0.998
    """What a test should vouch for. Texts against the strength of "tested". [share of the allowed
    texts; never swept]
    """
    idle_steps: int = 2
    """Steps of a greedy attack without progress, after which it ends. [steps; never swept]
    """
    full_tables: int = 4
    """Tables are computed where all texts would fill no more than so many of the largest. Higher
    computes where running would be quicker. [tables; never swept]
    """
    texts_per_run: int = 10
    """Texts of a table computed in the time in which one is run: decides between the two where few
    words may change at once. [texts; never swept]
    """
    local_speed: int = 20
    """Both of these, times so much where a tree depends on a few words only. [times; never swept]
    """


# --- the optimiser ---


@dataclass(frozen=True)
class RestorationSearch:
    """Attacks that are hard to undo, and proofs that nothing affordable undoes them (theory,
    section 6).
    """

    rounds: int = 16
    """Rounds that strengthen an attack, each against one more set of words that undoes it; and,
    over maxima, swaps in a row that may not help, where words swapped so rest for a third of it.
    Attacks harder to undo against time. [rounds; never swept]
    """
    steps: int = 6
    """Gradient steps against all of these sets. [steps; never swept]
    """
    step_size: float = 0.4
    """Size of the first of them; the last is about a third of it. [share of the way to a corner;
    never swept]
    """
    sharpness: float = 4.0
    """How much the worst set outweighs the best one in a step: e to this power. [exponent; never
    swept]
    """
    idle_rounds: int = 2
    """Rounds without progress, after which it ends. [rounds; never swept]
    """
    least_progress: float = 0.1
    """What counts as progress. [share of the margin; never swept]
    """
    clear_share: float = 0.2
    """How far the label is to stay behind whatever is put back, over maxima, where relaxations need
    room. [share of the text's own margin; never swept]
    """
    proof_subproblems: tuple[int, int] = (240, 600)
    """The fewest and the most subproblems of one proof. A proof for this cost against splitting the
    node. [subproblems; never swept]
    """
    proof_work: int = 4 * 10**9
    """What such a proof may take, between the two. [multiplications; never swept]
    """
    most_open: tuple[int, int] = (24, 96)
    """Open subproblems at which a proof is given up; and over maxima. A first idea of what can be
    proved takes no more subproblems. Gives hopeless proofs up early. [subproblems; never swept]
    """
    swaps: int = 64
    """Swaps of words that are put back for others, and words of either side that are tried in
    pairs: a swap takes the square of it in margins. [swaps; never swept]
    """


@dataclass(frozen=True)
class WordTree:
    """Branch and bound over words (theory, section 7)."""

    node_batch: int = 8
    """Nodes per round. Batches are quicker, smaller ones better ordered. [nodes; never swept]
    """
    attacks: int = 6
    """Fresh attacks at a node, and rounds of attacks before it is split: a third of them plain, the
    others strengthened. Half as many are handed down, and in so many rounds of nodes doubtful
    attacks are strengthened in their margin. Proofs at a node against splitting it. [attacks; never
    swept]
    """
    large_subproblem: int = 10**8
    """Multiplications from which a subproblem is large: lower bounds come before better attacks
    then. And what a first probe, or a look for a preferred set, may take. [multiplications; never
    swept]
    """
    early_split_share: float = 0.25
    """With large subproblems, nodes are split unexamined while so many of the words looked at were
    necessary. [share; never swept]
    """
    strengthen_from: tuple[int, int] = (64, 100)
    """Units of the first layer, or words, above which strengthening an attack pays. [units, words;
    never swept]
    """
    probe_subproblems: tuple[int, int, int] = (120, 400, 5_000)
    """Subproblems of a first complete look at a candidate; the most later where they are large, and
    where they are small. [subproblems; never swept]
    """
    probe_work: int = 2 * 10**9
    """What one such look may take, so that a hopeless one ends in a few seconds; and all looks for
    preferred sets. [multiplications; never swept]
    """
    probe_growth: int = 4
    """How the looks grow from one round of nodes to the next. [times; never swept]
    """
    deletion_subproblems: int = 4
    """Subproblems per word that is freed singly. [subproblems; never swept]
    """


@dataclass(frozen=True)
class HittingSets:
    """Implicit hitting sets over a quick oracle (theory, section 7)."""

    early_subproblems: int = 20_000
    """Subproblems for each hitting set before words are deleted one by one: the lower bound first,
    or an answer first. [subproblems; never swept]
    """
    early_queries: int = 80
    """Hitting sets asked about before that. [sets; never swept]
    """
    deletion_subproblems: int = 250
    """Subproblems for each word to be deleted. [subproblems; never swept]
    """
    more_cores: int = 6
    """Further disjoint counterexamples sought beside each one. [counterexamples; never swept]
    """
    sparse_trials: int = 32
    """Random smaller sets per size when a counterexample is made sparse (methods hs and flips).
    [sets; never swept]
    """


@dataclass(frozen=True)
class Answers:
    """Beside the search: preferred sets, examples for people, steps of a profile."""

    restarts: int = 4
    """Random starts of an attack for one candidate or one word. [starts; never swept]
    """
    sparse_rounds: int = 12
    """Rounds that make an example sparse, or lead from one to another that can be typed. [rounds;
    never swept]
    """
    exchange_subproblems: int = 2_000
    """Subproblems for a preferred set that quick looks leave open, where a stop word would go.
    [subproblems; never swept]
    """
    vain_tries: int = 3
    """Such sets left open after which no more are looked at. [sets; never swept]
    """
    look_passes: int = 40
    """What a quick look at a set takes, to know how many a search can afford. [forward passes;
    never swept]
    """


@dataclass(frozen=True)
class Resources:
    """What the machine has: memory, caches, and how long one piece of work may take between two
    looks at the clock.
    """

    lattice_choices: int = 12_000
    """Choices of all words of one text; beyond it texts are asked, not computed. [choices]"""
    lattice_pairs: int = 3_000_000
    """Pairs of neighbours of one text, of about 32 bytes each. [pairs]"""
    trellis_edges: int = 400_000
    """Edges of one trellis; fewer than the checker takes. [edges]"""
    token_runs: int = 300_000
    """Runs of tokens that are looked up for one text; fewer than the checker takes. [runs]"""
    table_entries: int = 2**18
    """Texts of one table; fewer than the checker takes. [texts]"""
    unclear_texts: int = 2_000
    """Texts that are run beside one table; no more than the checker runs. [texts]"""
    rows_at_once: int = 2**13
    """Rows of features that a model is given at a time. [texts]"""
    majorant_costs: int = 1_000
    """Costs up to which majorants are used: their dynamic program has a row for each. [units of
    cost]
    """
    majorant_work: int = 10**9
    """Additions of one majorant's table of intervals. [additions]"""
    most_nodes: int = 20_000
    """Nodes of one proof, or splits of one question about a text. [nodes]"""
    solver_seconds: float = 0.02
    """The least that a solver is given. [s]"""
    look_seconds: float = 0.4
    """What a batch of texts should take: the time between two looks at the clock. [s]"""
    fewest_texts: int = 16
    """Texts of such a batch at least. [texts]"""
    most_texts: int = 2_048
    """And at most. [texts]"""
    guessed_rate: float = 1_000.0
    """Texts per second of a classifier that was not run yet. [texts / s]"""
    fastest_rate: float = 50_000.0
    """What writing texts allows. [texts / s]"""
    changes_at_once: int = 512
    """Changes that are written at a time. [changes]"""
    numbers_at_once: int = 4_000_000
    """Numbers of a batch of inputs. [numbers]"""
    typed_numbers: int = 2**24
    """Numbers of all texts that are tried for one typed example. [numbers]"""
    detail_seconds: float = 1.0
    """For examples that attacks do not find. [s]"""
    further_seconds: float = 2.0
    """For the look at the next question. [s]"""
    alternatives_seconds: float = 5.0
    """For sets that are as cheap, and no more than a tenth of the question's own limit. [s]"""


RESOURCES = Resources()


@dataclass(frozen=True)
class Settings:
    """All tuned numbers, by what they are about: `replace(settings, branching=Branching(...))`."""

    norm_form: NormForm = NormForm()
    cuts: Cuts = Cuts()
    majorants: Majorants = Majorants()
    queries: Queries = Queries()
    restorations: RestorationSearch = RestorationSearch()
    word_tree: WordTree = WordTree()
    hitting_sets: HittingSets = HittingSets()
    answers: Answers = Answers()

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain data, group by group."""
        return asdict(self)

    @property
    def digest(self) -> str:
        """A name for these numbers: the first 16 digits of a SHA-256 of them."""
        data = json.dumps(self.to_dict(), sort_keys=True, default=float)
        return hashlib.sha256(data.encode()).hexdigest()[:16]


DEFAULT = Settings()
