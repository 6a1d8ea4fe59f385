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
import math
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any

from suffice.errors import InputError


def rest(part: float) -> float:
    """1 - part, as one writes it: 0.1 of 0.9, not 0.09999999999999998."""
    return round(1 - part, 12)


# --- networks: backward bounds and the planes that they choose ---


@dataclass(frozen=True)
class Ascent:
    """Projected ascent on what a proof may choose: slopes, split multipliers, weights of maxima and
    shares of planes (alpha-CROWN, beta-CROWN).
    """

    rate: float = 0.25
    """Adam's first step, of slopes and of multipliers: larger gets further in few iterations, and
    overshoots in many. [slope; score per pre-activation; never swept]"""
    rate_decay: float = 0.97
    """What is left of every step size after one more iteration: smaller settles sooner, larger uses
    long ascents better. [ratio; never swept]"""
    adam_decays: tuple[float, float] = (0.9, 0.99)
    """What Adam remembers of the mean gradient and of its mean square, here and in ascents on
    planes: more is smoother, and slower to turn. [ratios per iteration; never swept]"""
    share_rates: tuple[float, float] = (0.2, 0.04)
    """First step of the shares of upper planes, of relus and of maxima: larger leaves the chord
    sooner, and zigzags; planes of maxima are good already. [shares in [0, 1]; never swept]"""
    share_momentum: float = 0.8
    """What shares remember of the gradient. [ratio per iteration; never swept]"""
    weight_rate_factor: float = 3.0
    """How far lower weights of maxima go towards the relaxed winner, in rates of shares: larger
    follows the winner, smaller mixes candidates. [rates of shares; never swept]"""
    weight_rate_decay: float = 0.9
    """`rate_decay` of lower weights where maxima have no planes. [ratio; never swept]"""
    iterations: tuple[int, int] = (4, 64)
    """Fewest and most iterations on a subproblem before it is split; between them they double with
    every hidden step, as deep networks gain more by ascent than by splits. Each is a backward pass.
    [backward passes; batch.py: 2, and other numbers, were no faster]"""
    refining_iterations: int = 24
    """Iterations for each bound of a single hidden unit, which refines it: more narrow the bound,
    fewer reach more units in time. Subproblems with planes and cheap answers take half as many at
    the least, roots with refined bounds twice as many. [backward passes; growth.py --rows width,
    layers of 256 and 256: 60 end at -0.93 instead of -1.07, and take twice as long]"""


@dataclass(frozen=True)
class Planes:
    """When upper planes of the first step are taken, which are tighter than chords and cost several
    times as much.
    """

    after: int = 64
    """Subproblems after which a query counts as hard, and its first relus take planes; twice as
    many where the budget wants them late. [subproblems; batch.py: sooner, at 16, and later
    were no faster; late: search.py --knn 25]"""
    after_if_wide: int = 4
    """The same where more relus than `after` may take planes: splits of each of them would take
    longer. [subproblems; never swept; vnncomp.py: with planes 540 of 540, without 516]"""
    refined_from_shares: int = 8_000
    """Shares of planes from which on bounds of single units of later steps are refined at the root:
    in narrower networks splits are cheaper. [shares; growth.py --rows width, never swept]"""


@dataclass(frozen=True)
class Annealing:
    """A schedule of a smoothed ascent: how long, and temperature and rate at first and in the end,
    between which both fall geometrically.

    Temperatures are widths of normalised numbers, rates are fractions of the range of a plane's
    row. Lower weights start at `min_weight` or higher, so that none is forgotten. Where planes are
    inherited, candidates far below them are left out, unless `keeps_all`.
    """

    iterations: int
    temperature: tuple[float, float]
    rate: tuple[float, float]
    min_weight: float = 1e-5
    keeps_all: bool = False

    def at(self, iteration: int) -> tuple[float, float]:
        """Temperature and rate of an iteration."""
        progress = iteration / max(1, self.iterations)
        temperature, rate = (
            first * (last / first) ** progress for first, last in (self.temperature, self.rate)
        )
        return temperature, rate


@dataclass(frozen=True)
class PlaneAscent:
    """Smoothed, annealed ascent on upper planes and lower weights of maxima (Nesterov)."""

    first: Annealing = Annealing(100, (0.033, 0.0009), (0.09, 0.0035), 0.02, keeps_all=True)
    """A subproblem's first ascent on planes: longer gets closer to the linear program's bound, at a
    pass over all candidates for every iteration. [an annealing; growth.py --rows filters: 400 steps
    without smoothing get 67 to 90 % of the way, 100 smoothed ones 97 %]"""
    inherited: Annealing = Annealing(40, (0.006, 0.0009), (0.04, 0.0035))
    """The ascent of subproblems that inherit planes: shorter and cooler. [an annealing; growth.py
    --rows filters: 40 instead of 20 iterations halve the subproblems in the same time, 160 take a
    third fewer at four times the cost]"""
    further: Annealing = Annealing(100, (0.004, 0.0003), (0.03, 0.001))
    """The ascent that goes on where no split would help, as lower weights have not converged.
    [an annealing; never swept]"""
    weight_rate_ratio: float = 5.0
    """Rate of logarithms of lower weights / rate of rows of planes: how fast weights follow planes.
    [ratio; never swept]"""
    candidate_temperature_ratio: float = 1.7
    """Temperature of log-sum-exp over candidates / that of Huber's function over numbers: larger
    lets more candidates count. [ratio; never swept]"""
    row_divisors: tuple[float, float] = (6.0, 0.0625)
    """Huber's width at temperature 1 is the usual number of a residual row divided by this, over
    numbers of boxes and over words that are restored: larger smooths less. [ratios; never swept]"""
    multiplier_rate: float = 64.0
    """Step of the budget's multiplier at rate 1 over restorations: larger reacts sooner, and
    swings. [mean absolute weights of candidates; never swept]"""
    near_winner_fraction: float = 0.5
    """Candidates further than this below an inherited plane are left out: smaller makes iterations
    faster, and planes that may be too low and are lost when they are bounded anew. [fraction of the
    largest sum of a candidate's absolute weights; never swept alone, growth.py --rows filters]"""


@dataclass(frozen=True)
class JointMaxpool:
    """Joint reasoning over maxima: tuples of winners, fixed out by reduced costs (mini-buckets)."""

    pairs: Annealing = Annealing(100, (0.006, 0.0006), (0.03, 0.002))
    """The ascent on planes of pairs of maxima: better planes fix more tuples before groups grow.
    [an annealing; never swept]"""
    fours: Annealing = Annealing(80, (0.004, 0.0005), (0.015, 0.0015))
    """The same for groups of four. [an annealing; never swept]"""
    later: Annealing = Annealing(50, (0.003, 0.0005), (0.01, 0.0015))
    """The same after further joins and after splits: shorter and cooler, as planes are inherited.
    [an annealing; never swept]"""
    rounds: tuple[int, int, int] = (1, 3, 2)
    """Rounds of fixing and ascent, in pairs, in fours, and later: each fixes by the planes of the
    one before, and costs an ascent. [rounds; never swept]"""
    active_tuples: int = 100
    """Tuples of a group that an ascent looks at, twice as many in pairs: fewer are faster, and
    planes may miss one that binds. Joins are chosen by a quarter of them, in pairs by a sixteenth,
    as there are many pairs. [tuples; never swept]"""
    joined_up_to: int = 60_000
    """Tuples in all up to which groups of four are joined further: above, a split is cheaper. Half
    of them take as long as a node of this search. [tuples; never swept]"""
    tuples_per_subproblem: int = 1_500
    """Tuples that may be looked at for each subproblem of the budget: the exchange rate between
    this search and branch and bound. [tuples; never swept]"""
    split_groups: int = 3
    """Groups with the largest gaps, one of whose maxima is split on: more look for a balanced
    split, fewer for the largest gap. [groups; never swept]"""


# --- networks: attacks, presolve, branch and bound ---


@dataclass(frozen=True)
class Branching:
    """On what subproblems are split, how many together, and when a query is given up."""

    gap_weight: float = 9.0
    """Score of curves and maxima, whose lines have no chord: larger splits them before relus.
    [times the gap at the relaxed minimiser; never swept]"""
    gap_share: float = 0.1
    """Part of the gap that is added to a relu's BaBSR score: larger follows the subproblem's own
    minimiser, smaller the relaxation. [times the gap; never swept]"""
    word_bits_per_relu: float = 0.25
    """Words are split before relus while the log2 of what they may still become is below this for
    every open relu: larger decides words first. [bits per open relu; never swept]"""
    small_round: int = 16
    """Below so many subproblems a round costs as much as a larger one, so that each is split on
    several units at once: larger works more in vain. Cheap answers over options take so many
    subproblems; a query ends undecided after so many leaves at zero; with fewer maxima than this,
    splits are quicker than joint reasoning. [subproblems; batch.py: 8 and 32 were no faster]"""
    max_per_query: int = 48
    """Subproblems of one query in a round: larger digs deeper into one, smaller keeps the others
    from starving. [subproblems; never swept]"""
    patience: tuple[float, float] = (24.0, 3.0)
    """When a query that is to be given up early is judged, in times the subproblems of the first
    look, and how many times the gain per doubling so far is expected from then on: larger gives up
    later, and wrongly less often. [ratios; growth.py --rows width: later changed nothing]"""
    passes: tuple[int, int] = (16, 128)
    """Passes through the network that a subproblem is taken to cost, without and with maxima. Other
    engines share time out by it, and inputs are enumerated up to that cost. [passes; an estimate,
    never swept]"""


@dataclass(frozen=True)
class Leaves:
    """How subproblems in which nothing is left to split are solved."""

    max_inputs: int = 1024
    """Most inputs that are run for one subproblem: each is a leaf of the certificate. [inputs;
    never swept]"""
    tangent_rounds: int = 40
    """Linear programs with ever more tangents for a leaf over 2-norm balls: more come closer to the
    ball. [linear programs; never swept]"""


@dataclass(frozen=True)
class Attacks:
    """How counterexamples are looked for: vertex steps (Frank-Wolfe), PGD, coordinate descent."""

    vertex_steps: int = 4
    """Linearisations of an attack in bulk, each a forward and a backward run; deep attacks take
    twice as many. [runs; never swept]"""
    starts: int = 4
    """Random starts of a complete look, lowest minimisers that PGD starts from, lowest enumerated
    inputs that are confirmed: more find more flips, each costs runs. [points; batch.py:
    other numbers of random starts were no faster]"""
    rivals: int = 3
    """Most promising rivals that deep attacks aim at in turn, and known flips that an attack on
    another set starts from. [rivals; flips; never swept]"""
    deep_attacks: int = 24
    """Attacks on one set before a slow complete look; PGD goes on from a third of them. [attacks;
    never swept; growth.py --rows filters: tuple fixing that ends at a flip takes 65 to 160 ms]"""
    pgd_steps: int = 40
    """Steps of PGD in an attack of its own; half as many from minimisers of bounds. [iterations;
    never swept; growth.py --rows filters: with PGD 52 of 56 flips are found, without 11]"""
    pgd_rates: tuple[float, float] = (0.1, 0.003)
    """First and last step of PGD, between which steps fall geometrically. [fractions of a number's
    range; never swept]"""
    pgd_decays: tuple[float, float] = (0.8, 0.95)
    """`Ascent.adam_decays` of PGD: shorter, as it has few steps and a margin with kinks. [ratios
    per iteration; never swept]"""
    descent_rounds: int = 6
    """First rounds over options whose worst subproblem goes through coordinate descent: more find
    flips, each costs runs. [rounds; never swept]"""


@dataclass(frozen=True)
class Presolve:
    """When a query is worth a smaller problem of its own."""

    kept_fraction: float = 0.75
    """A smaller problem, a smaller batch or a shorter list of tuples is made when at most this part
    of units or tuples is left: making it costs about a pass. [fraction; never swept]"""
    from_weights: int = 1_000_000
    """Weights of a first step from which on restricting it to few words, or to options in one-hot
    coordinates, saves more than it costs. [weights; never swept]"""
    word_ratio: int = 4
    """Words of the text per word that moves from which on it is restricted to those that move.
    [ratio; growth.py --rows kim: the last word of a text by one bound in 0.06 s, open before after
    400 subproblems and 7.8 s]"""


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
    target_share: float = 0.9
    """The steps end once a cut is violated by this. [share of the most it can be; never swept]
    """
    similar_share: float = 0.95
    """Words that together lower the form by this are tried in one counting cut. Higher: fewer cuts
    that hold more often. [share of the text's own form; tests/work: with 0.9 a question about six
    changes of pairs takes 152 subproblems instead of 98]
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
    doubled where looking at candidates taught nothing. [nodes; benchmarks/pipelines.py, agnews and
    imdb, words and pairs: as quick as 0.2 s for each candidate]
    """
    lp_from_words: int = 60
    """Words from which fractions are cut off before candidates are looked at. [words; never swept]
    """
    lp_rounds: int = 400
    """Rounds of that, in all. A higher bound against time for candidates. [linear programs; never
    swept]
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
    """Linear majorants of the norm form, where neighbours count (theory, section 8).

    These were chosen together, on 20 reviews (benchmarks/pipelines.py, imdb, words and pairs,
    removal; docs/notes/texts.md has others, held out). None was swept by itself.
    """

    fixing_shares: tuple[float, ...] = (1.0, 0.5, 0.0)
    """A majorant each that leaves words fixed whose change lifts the form by more than this. More
    of them mix tighter. [shares of the last rise; imdb, words and pairs]
    """
    rounds: int = 6
    """Majorants one by one, before they are mixed; and mixes for sets below a cost, before these
    are split on a word. [rounds; imdb, words and pairs]
    """
    most_splits: int = 30
    """Splits of the sets for one more unit of the bound. [splits; imdb, words and pairs]
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
    room. [share of the text's own margin; benchmarks/growth.py --rows filters: better than 0.05]
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
    proved takes no more subproblems. Gives hopeless proofs up early. [subproblems;
    benchmarks/floor.py: with 16 one of its 25 texts took 0.33 s instead of 0.12; the other never
    swept]
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
    attacks are strengthened in their margin: in all rounds, one text of 20 took 5.1 s instead of
    4.3 (docs/notes/networks.md). Proofs at a node against splitting it. [attacks; otherwise never
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

    Certificates must not depend on the machine, and many of these numbers decide in which order
    sums are added up: so they are the same everywhere, and only `run_bytes`, at which a run ends
    undecided anyway, is smaller on a machine that has less.
    """

    chunk_numbers: int = 2_000_000
    """Numbers that one array operation holds. [doubles: 16 MB]"""
    backward_numbers: int = 200_000
    """Numbers that are carried back at a time: what fits the cache. [doubles: 1.6 MB]"""
    chunk_work: int = 10**8
    """What is done between two looks at the clock, a tenth of a second or so; a round takes twice
    as long. [multiplications]"""
    run_bytes: int = field(default_factory=lambda: _run_bytes())
    """What the subproblems of a run may take: above, it ends undecided. [bytes]"""
    subproblem_bytes: tuple[int, int, int, int] = (1500, 56, 16, 4)
    """What a subproblem takes by itself, for every hidden unit (bounds, slopes, multipliers, signs,
    scores), for every number of the input and for every share. [bytes]"""
    batch_sizes: tuple[int, int] = (4, 256)
    """Fewest and most subproblems that are worked on together, however large or small they are;
    cheap answers take four times the most. [subproblems]"""
    word_batch: int = 32
    """The most where words alone are split: more do not fit the cache. [subproblems]"""
    option_batch: int = 64
    """The most over options. [subproblems]"""
    batch_shares: int = 400_000
    """Shares of planes of maxima that are worked on together. [singles; growth.py --rows kim: 67 to
    108 MB instead of 320, and faster]"""
    max_shares: int = 80_000
    """Shares of the planes of one subproblem: beyond, there is one for each word, or no plane.
    [singles; never swept]"""
    max_dense_weights: int = 4_000_000
    """Weights of candidates of maxima that are kept dense: beyond, they have no planes. [doubles:
    32 MB]"""
    joint_weights: int = 500_000
    """Weights of contending candidates up to which maxima are reasoned about jointly. [singles]"""
    group_tuples: tuple[int, int] = (100_000, 400_000)
    """Tuples of one group of maxima, and of all joins of a round. [tuples]"""
    group_numbers: int = 5_000_000
    """Numbers in the weights of the tuples of one group. [singles: 20 MB]"""
    tuple_chunk: int = 2048
    """Tuples whose distances from a plane are computed at a time. [tuples: what fits the cache]"""
    active_set_factor: int = 6
    """An active set of tuples that grew beyond so many times its size starts afresh. [ratio]"""
    exact_weights: int = 3_000_000
    """Weights of the largest network that is run in whole numbers. [weights: some seconds for one
    input]"""
    max_contributions: int = 20_000_000
    """What options add to units in one-hot coordinates: beyond, the original takes less memory.
    [doubles: 160 MB]"""
    leaf_numbers: int = 30_000_000
    """Numbers in the matrix of a leaf's linear program: beyond, the leaf stays open. [doubles: 240
    MB]"""
    cached_verdicts: int = 64
    """Verdicts that an oracle keeps with their proofs. [verdicts: megabytes each]"""
    cached_directions: int = 8
    """Shapes of texts for which random directions are kept. [arrays]"""
    solver_grace: float = 1.0
    """What Marabou may take beyond its own time-out before its process is stopped. [seconds]"""
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


def _run_bytes() -> int:
    """A billion, or half of the memory where that is less."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not every system tells
        return 10**9
    return min(10**9, memory // 2)


RESOURCES = Resources()


@dataclass(frozen=True)
class Settings:
    """All tuned numbers, by what they are about: `replace(settings, branching=Branching(...))`."""

    ascent: Ascent = Ascent()
    planes: Planes = Planes()
    plane_ascent: PlaneAscent = PlaneAscent()
    joint_maxpool: JointMaxpool = JointMaxpool()
    branching: Branching = Branching()
    leaves: Leaves = Leaves()
    attacks: Attacks = Attacks()
    presolve: Presolve = Presolve()
    norm_form: NormForm = NormForm()
    cuts: Cuts = Cuts()
    majorants: Majorants = Majorants()
    queries: Queries = Queries()
    restorations: RestorationSearch = RestorationSearch()
    word_tree: WordTree = WordTree()
    hitting_sets: HittingSets = HittingSets()
    answers: Answers = Answers()

    def __post_init__(self) -> None:
        for group in fields(self):
            default = group.default
            given = getattr(self, group.name)
            if type(given) is not type(default):
                raise InputError(
                    f"settings.{group.name} must be {type(default).__name__}(...), not {given!r}."
                )
            for name, value, usual in _numbers(group.name, given, default):
                _check_number(name, value, usual)

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain data, group by group."""
        return asdict(self)

    @property
    def digest(self) -> str:
        """A name for these numbers: the first 16 digits of a SHA-256 of them."""
        data = json.dumps(self.to_dict(), sort_keys=True, default=float)
        return hashlib.sha256(data.encode()).hexdigest()[:16]


def _numbers(name: str, given: Any, usual: Any, count: int = 0) -> Iterator[tuple[str, Any, Any]]:
    """Every number of some settings with its name and the usual one of its place; `count` is how
    many there must be, 0 where any number of them will do.
    """
    if is_dataclass(usual):
        for one in fields(usual):
            theirs = getattr(usual, one.name)
            fixed = len(theirs) if isinstance(theirs, tuple) and "..." not in one.type else 0
            yield from _numbers(f"{name}.{one.name}", getattr(given, one.name), theirs, fixed)
    elif isinstance(usual, tuple):
        if not isinstance(given, tuple) or not given or len(given) != (count or len(given)):
            raise InputError(f"settings.{name} must be numbers such as {usual}, not {given!r}.")
        for i, value in enumerate(given):
            yield from _numbers(name, value, usual[min(i, len(usual) - 1)])
    else:
        yield name, given, usual


def _check_number(name: str, value: Any, usual: Any) -> None:
    """Whole numbers count something that is done: at least 0; the others are finite, too."""
    kinds = {bool: (bool,), int: (int,), float: (int, float)}[type(usual)]
    right = type(value) in kinds and math.isfinite(value) and value >= 0
    if not right:
        what = {bool: "True or False", int: "a whole number", float: "a number"}[type(usual)]
        raise InputError(f"settings.{name} must be {what} of at least 0, not {value!r}.")


DEFAULT = Settings()
