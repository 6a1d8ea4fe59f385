"""Renames of branch and bound, input sets, presolve, enumeration, oracles and the contract."""

P = "suffice.prove"


def _under(module, names):
    """Keys of one module, given without its path."""
    return {f"{P}.{module}.{name}": new for name, new in names.items()}


SYMBOLS = {
    # the contract
    **_under(
        "verdict",
        {
            "NAMED": "MAX_WORDS_NAMED",
            "Source": "OneHotCoordinates",
            "_Plain": "_JsonVerdict",
            "_as_data": "_verdict_data",
        },
    ),
    **_under(
        "tree",
        {
            "Above": "PlaneShares",
            "Bounded": "UnitBound",
            "Stated": "Lemma",
            "Stage": "FixingStage",
            "Sieved": "TupleFixing",
        },
    ),
    # branch and bound
    **_under(
        "branch.climbing",
        {
            "CLIMB": "FIRST_ANNEALING",
            "SOME": "FIRST_MIN_WEIGHT",
            "CLIMB_ON": "LATER_ANNEALING",
            "LITTLE": "LATER_MIN_WEIGHT",
            "CLIMB_LONG": "LONG_ANNEALING",
            "AROUND": "PGD_STARTS",
            "AROUND_STEPS": "PGD_STEPS",
            "climb": "bound_by_planes",
            "_climb_again": "_ascend_again",
            "_attempt_and_conclude": "_attack_and_conclude",
            "attempt_around": "attack_around",
            "ground_of": "region_of",
            "_way": "_restorations_of",
            "_maxima_below": "_lower_line_maxima",
        },
    ),
    **_under(
        "branch.judges",
        {"flips": "flip_test", "undone": "undo_test", "words_of": "movable_words"},
    ),
    **_under(
        "branch.questions",
        {
            "_over": "_restricted_to",
            "sets_of_free": "input_sets_of",
            "_every_choice": "_all_options",
        },
    ),
    **_under(
        "branch.roots",
        {
            "WIDE": "MIN_SHARES_TO_REFINE",
            "MAXIMA": "MIN_MAXIMA_TO_FIX",
            "WEIGHTS": "MAX_WEIGHTS_TO_FIX",
            "narrow": "refine_roots",
            "sieve": "fix_tuples",
            "_sift": "_fix_tuples_at",
        },
    ),
    **_under(
        "branch.rounds",
        {
            "PER_QUESTION": "MAX_PER_QUERY",
            "HOPE": "PROGRESS_RATIO",
            "MORE": "PROGRESS_GAIN",
            "Branching": "BranchingStrategy",
            "answers": "answer_queries",
            "_answer": "_answer_of",
            "_hardest": "_worst_first",
            "_hopeless": "_without_progress",
            "_at_once": "_split_depth",
        },
    ),
    **_under(
        "branch.run",
        {
            "BATCH": "MAX_BATCH",
            "WORK": "BATCH_MULTIPLICATIONS",
            "MEMORY": "RUN_BYTES",
            "SHARES": "BATCH_SHARES",
            "FEW": "SMALL_ROUND",
            "Run": "BranchRun",
            "_room": "_capacity",
            "_tilts": "_upper_planes",
            "taking_above": "units_taking_upper",
        },
    ),
    **_under(
        "branch.settle",
        {
            "STUCK": "MAX_UNSPLITTABLE",
            "TRIED": "MAX_TESTED_INPUTS",
            "_scores": "_split_scores",
            "_keep": "_reopen",
            "_finish": "_solve_leaf",
            "run_all": "enumerate_inputs",
        },
    ),
    **_under(
        "branch.split",
        {
            "parts_of": "split_subproblem",
            "_by_words": "_words_first",
            "_half": "_child",
            "follow": "take_forced_words",
        },
    ),
    **_under(
        "branch.subproblem",
        {
            "Restorable": "UndoneBy",
            "Judge": "PointTest",
            "Question": "RegionQuery",
            "root_of": "root_subproblem",
            "proof_of": "proof_tree",
            "_tree": "_subtree",
        },
    ),
    **_under(
        "branch.together",
        {
            "joined": "joined_inputs",
            "known_bounds": "shared_step_bounds",
            "inherited": "inherited_dual",
            "_first_shares": "_initial_shares",
        },
    ),
    **_under(
        "branch.units",
        {
            "STEPS": "ASCENT_STEPS",
            "TILTED_STEPS": "ASCENT_STEPS_WITH_PLANES",
            "ROOT_STEPS": "ASCENT_STEPS_AT_REFINED_ROOT",
            "SLOW": "SHARE_RATE_OF_MAXIMA",
            "HARD": "PLANES_AFTER",
            "LATE": "PLANES_AFTER_IF_LATE",
            "MANY": "MANY_PLANE_UNITS",
            "SOON": "PLANES_AFTER_IF_MANY",
            "OnUnits": "UnitBranching",
            "_left_open": "_close_proved",
            "_tilts_now": "_takes_planes",
            "_work_on": "_strengthen",
            "_ascent": "_ascent_steps",
            "_alike": "_grouped_alike",
        },
    ),
    **_under(
        "branch.words",
        {
            "TOGETHER": "MAX_BATCH",
            "DESCENTS": "DESCENT_ROUNDS",
            "OnWords": "WordBranching",
            "_with_one_changed": "_single_changes",
            "_fewer_units": "_without_dominated",
        },
    ),
    # input sets
    **_under("inputs", {"Inputs": "InputSets"}),
    **_under(
        "inputs.budgeted",
        {"TINY": "MIN_GAIN", "Budgeted": "Knapsack", "ways": "log2_affordable_subsets"},
    ),
    **_under("inputs.free", {"joined": "joined_options"}),
    **_under("inputs.freed", {"Freed": "WithinBudget", "_counts": "_max_changes_of"}),
    **_under(
        "inputs.moves",
        {
            "Chosen": "ChosenOptions",
            "Falling": "SupportFunction",
            "by_input": "min_via_input",
            "falls": "word_min_shifts",
            "word_falls": "min_shifts_of_word",
            "choices": "option_shifts",
            "values": "option_values",
            "split_choices": "split_options",
            "points_of": "option_points",
        },
    ),
    **_under(
        "inputs.numbers",
        {
            "PIECE": "MAX_CHUNK_NUMBERS",
            "STEADY": "QUANTISED_BITS",
            "LEAST": "MIN_EXPONENT",
            "steady": "quantised",
            "pieces": "chunk_slices",
            "largest": "first_largest",
            "lowest_sum": "sum_of_lowest",
            "lowest": "mask_of_lowest",
        },
    ),
    **_under("inputs.restored", {"Restored": "Restorations"}),
    **_under(
        "inputs.shared",
        {
            "Shared": "SharedRows",
            "_windowed": "_sees_few_words",
            "_among": "_restricted_block",
            "shared_falls": "shared_word_min_shifts",
        },
    ),
    # attacks, exact scores, the leaf's linear program
    **_under(
        "attack",
        {
            "SLIDES": "PGD_STEPS",
            "FAR": "PGD_FIRST_STEP",
            "NEAR": "PGD_LAST_STEP",
            "Attempt": "AttackResult",
            "gradients": "margin_gradients",
            "first_sums": "first_preactivations",
            "first_gradients": "gradients_at_first_step",
            "_input_gradients": "_gradients_at_input",
            "_second_gradients": "_gradients_at_second_step",
            "jump": "vertex_step",
            "chosen": "best_changes",
            "within": "undo_excess_changes",
            "descend": "vertex_descent",
            "slides": "pgd_applies",
            "slide": "pgd",
            "sides": "bounding_sides",
            "_aims": "_random_directions",
            "_lowest": "_best_of_restarts",
            "_lower": "_merged",
        },
    ),
    **_under(
        "program",
        {
            "TANGENTS": "MAX_TANGENT_ROUNDS",
            "LARGE": "MAX_MATRIX_NUMBERS",
            "Solved": "LeafSolution",
            "leaf_program": "solve_leaf_lp",
            "_solve": "_solve_lp",
            "_phase_one": "_infeasibility_multipliers",
            "_Rows": "_RowBuilder",
            "_View": "_LinearLeaf",
            "_open_maxima": "_undecided_maxima",
            "_round_program": "_solve_over_ball",
            "_Columns": "_InputVariables",
        },
    ),
    **_under(
        "exact",
        {
            "ROUND": "UNIT_ROUNDOFF",
            "LARGE": "MAX_EXACT_WEIGHTS",
            "APART": "ONE_HOT_ERROR_FACTOR",
            "UNDERFLOW": "UNDERFLOW_ERROR",
            "_entries": "_nonzero_entries",
            "exactly": "has_exact_scores",
            "predicted": "predicted_class",
            "_integers": "_scaled_integers",
            "_sure_rival": "_certain_rival",
            "_confirm_at_source": "_confirm_one_hot",
        },
    ),
    # presolve
    **_under(
        "lean",
        {
            "FEWER": "MAX_KEPT_FRACTION",
            "lean": "without_dominated",
            "within": "restricted_to_box",
            "reach_within": "interval_over_box",
            "_staying": "_kept_units",
            "_only": "_restricted_steps",
            "told": "postsolve_tree",
            "_told_leaf": "_postsolve_leaf",
            "_told_units": "_postsolve_units",
        },
    ),
    **_under(
        "few",
        {
            "LARGE": "MIN_FIRST_WEIGHTS",
            "PART": "MIN_WORD_RATIO",
            "suits": "restriction_applies",
            "decide_few": "decide_restricted",
            "among": "restricted_to_words",
            "_over": "_first_step_over",
            "_told": "_postsolve_tree",
            "_lifted": "_postsolve_witness",
        },
    ),
    **_under(
        "choices",
        {
            "LARGE": "MIN_FIRST_WEIGHTS",
            "ROOM": "MAX_CONTRIBUTIONS",
            "SHARE": "MIN_SHRINKING",
            "CODED": "MAX_OPTIONS",
            "ROUND": "UNIT_ROUNDOFF",
            "by_choice": "reduced_to_one_hot",
            "composed": "one_hot_problem",
            "narrowed": "without_dominated",
            "_added": "_contributions",
            "_coordinates": "_one_hot_region",
            "_hopeless": "_dominated",
            "Sums": "OptionSums",
            "told_witness": "postsolve_witness",
            "told_verdict": "postsolve_verdict",
        },
    ),
    # sums of options
    **_under(
        "windows",
        {
            "TRIALS": "MAX_STARTS",
            "SAFE": "ERROR_FACTOR",
            "suits": "is_max_of_sums",
            "Windows": "MaxOfSums",
            "_lean": "_tie_error",
            "largest": "group_maxima",
            "remaining": "groups_left",
            "_fillings": "_distinct_options",
            "_with": "_with_option",
        },
    ),
    **_under(
        "wordwise",
        {
            "CHUNK": "BATCH_NODES",
            "MEMORY": "FRONTIER_BYTES",
            "WORTH": "MAX_ACTIVE_FRACTION",
            "DESCENTS": "ATTACKED_BATCHES",
            "decide_by_words": "decide_by_options",
            "_Codes": "_Domains",
            "_Bargains": "_KnapsackTable",
            "_shares": "_fractions_taken",
            "_Purse": "_BudgetState",
            "_View": "_ActiveModel",
            "_firsts": "_first_of_groups",
            "_Terms": "_LinearTerms",
            "_Chunk": "_NodeBatch",
            "_bytes": "_bytes_of",
            "_Proof": "_BranchAndBound",
        },
    ),
    **_under(
        "runs",
        {
            "MOST": "MAX_INPUTS",
            "WORTH": "MAX_PASSES",
            "SAFE": "ERROR_FACTOR",
            "Inputs": "InputSet",
            "CLOSED": "CLOSED_LEAF",
            "Undecided": "UndecidedWord",
            "Runs": "Enumeration",
            "few": "enumerable",
            "_most": "_max_inputs",
            "_count": "_count_inputs",
            "_taken_apart": "_enumeration_of",
            "_counted": "_budget_decides",
            "_many": "_surely_many_payments",
            "_surely_many": "_surely_many_options",
            "_restored": "_restorable_word",
            "_of_choices": "_of_options",
            "_distinct": "_distinct_vectors",
            "_choose": "_picks",
            "_put": "_prepended",
            "_adds": "_contributions",
        },
    ),
    # oracles
    **_under("oracles", {"ByChoice": "OneHotOracle", "quickest": "bounds_oracle_for"}),
    **_under(
        "oracles.bounds",
        {
            "CHEAP_STEPS": "CHEAP_ASCENT_STEPS",
            "RESTARTS": "ATTACK_RESTARTS",
            "HARD": "DEEP_ATTACKS",
            "SLID": "PGD_STARTS",
            "CHEAP_PARTS": "CHEAP_SUBPROBLEMS",
            "BULK": "CHEAP_BATCH",
            "REMEMBERED": "MAX_CACHED",
            "_open": "_undecided",
        },
    ),
    **_under(
        "oracles.milp",
        {
            "TOLERANCE": "MARGIN_TOLERANCE",
            "LARGEST": "MAX_COEFFICIENT",
            "quiet": "silenced",
            "Affine": "AffineMap",
            "_Query": "_MilpQuery",
            "_pulled": "_pulled_inside",
            "_sides": "_box_sides",
            "_mixture": "_mixture_variables",
            "_mixed": "_mixed_point",
        },
    ),
    **_under(
        "oracles.marabou",
        {"BELOW": "SECOND_LIMIT", "WORKER": "WORKER_PATH", "GRACE": "GRACE_SECONDS", "_lines": "_constraints"},
    ),
}

MEMBERS = {
    **_under(
        "verdict",
        {
            "Problem.source": "one_hot",
            "Problem.whole": "unreduced",
            "Problem.real": "full_network",
            "Problem.sums": "center_sums",
            "Problem.limit": "max_changes",
            "Source.problem": "original",
            "Source.kept": "kept_units",
            "Source.added": "contributions",
            "Source.lift": "decode",
            "Source.reach": "word_ranges",
            "Budget.promising": "give_up_early",
            "Budget.crowd": "max_open",
            "Budget.plain": "late_planes",
            "Budget.left": "seconds_left",
            "Budget.spent": "exhausted",
            "Budget.look": "check_time",
        },
    ),
    **_under(
        "tree",
        {"Leaf.above": "upper_planes", "Stage.bundles": "groups", "Stage.rows": "planes"},
    ),
    **_under(
        "branch.rounds",
        {"Branching.look_again": "strengthen_roots"},
    ),
    **_under("branch.units", {"OnUnits.look_again": "strengthen_roots"}),
    **_under(
        "branch.words",
        {
            "OnWords.look_again": "strengthen_roots",
            "OnWords._first_step": "_first_step_bounds",
            "OnWords._descend": "_coordinate_descent",
            "OnWords._keep": "_reopen",
        },
    ),
    **_under(
        "branch.run",
        {
            "Run.form": "prepared",
            "Run.judge": "point_test",
            "Run.questions": "queries",
            "Run.tilts": "planes",
            "Run.batch": "batch_size",
            "Run.room": "capacity",
            "Run.grounds": "regions",
            "Run.ways": "restorations",
            "Run.why_stuck": "unsplittable_reason",
            "Run.question_of": "query_of",
            "Run.answered": "is_answered",
            "Run.attempt": "test_points",
        },
    ),
    **_under(
        "branch.subproblem",
        {
            "Subproblem.question": "query",
            "Subproblem.steps": "step_bounds",
            "Subproblem.loss": "split_scores",
            "Subproblem.row": "input_row",
            "Subproblem.word": "branch_word",
            "Subproblem.cut": "branched_on",
            "Subproblem.halves": "children",
            "Subproblem.over": "unbounded_parent",
            "Subproblem.above": "upper_planes",
            "Subproblem.narrow": "refinement",
            "Subproblem.tree": "proof",
            "Subproblem.many": "not_enumerable",
            "Subproblem.covered": "ancestor_closed",
            "Question.open": "frontier",
            "Question.spent": "bounded",
            "Question.stuck": "unsplittable",
            "Question.first": "first_look",
        },
    ),
    **_under(
        "inputs",
        {
            "Inputs.shared_fall": "shared_min_shift",
            "Inputs.through": "min_through",
            "Inputs.word": "branching_word",
            "Inputs.few": "prefers_word_branching",
            "Inputs.sure": "forced_words",
            "Inputs.halves": "split_on_word",
            "Inputs.decided": "as_free",
        },
    ),
    **_under(
        "inputs.budgeted",
        {
            "Budgeted.open": "optional",
            "Budgeted.cost": "costs",
            "Budgeted.uniform": "equal_costs",
            "Budgeted.least": "knapsack_min",
            "Budgeted.bought": "knapsack_argmin",
            "Budgeted.needed": "forced",
            "Budgeted.buyable": "affordable",
            "Budgeted._marks": "_affordable_mask",
            "Budgeted._count": "_affordable_count",
            "Budgeted._knapsack": "_greedy_order",
        },
    ),
    **_under(
        "inputs.free",
        {
            "Free.words": "movable",
            "Free.fall": "min_shift",
            "Free.shared_fall": "shared_min_shift",
            "Free.through": "min_through",
            "Free.word": "branching_word",
            "Free.few": "prefers_word_branching",
            "Free.sure": "forced_words",
            "Free.halves": "split_on_word",
            "Free.decided": "as_free",
        },
    ),
    **_under(
        "inputs.freed",
        {
            "Freed.open": "optional",
            "Freed.cost": "costs",
            "Freed.count": "max_changes",
            "Freed.words": "movable",
            "Freed.buyable": "affordable",
            "Freed.least": "knapsack_min",
            "Freed.fall": "min_shift",
            "Freed.shared_fall": "shared_min_shift",
            "Freed._total": "_total_min_shift",
            "Freed.through": "min_through",
            "Freed.gains": "word_gains",
            "Freed.word": "branching_word",
            "Freed.few": "prefers_word_branching",
            "Freed.sure": "forced_words",
            "Freed.halves": "split_on_word",
            "Freed.decided": "as_free",
            "Freed._plain": "_free_alone",
        },
    ),
    **_under(
        "inputs.restored",
        {
            "Restored.start": "perturbed",
            "Restored.open": "optional",
            "Restored.cost": "costs",
            "Restored.back": "restoring_shift",
            "Restored.fall": "min_shift",
            "Restored.shared_fall": "shared_min_shift",
            "Restored.through": "min_through",
            "Restored.gains": "word_gains",
            "Restored.word": "branching_word",
            "Restored.few": "prefers_word_branching",
            "Restored.sure": "forced_words",
            "Restored.halves": "split_on_word",
            "Restored.decided": "as_free",
        },
    ),
    **_under("inputs.moves", {"Falling.fall": "min_shift"}),
    **_under(
        "inputs.shared",
        {
            "Shared.blocks": "word_blocks",
            "Shared.slots": "seen_words",
            "Shared.width": "max_seen",
            "Shared._slots": "_list_seen_words",
            "Shared.at": "values_at",
            "Shared.seen": "gathered",
            "Shared.products": "word_products",
            "Shared._places": "_slots_of_words",
            "Shared.dense": "dense_rows",
            "Shared.falls": "word_min_shifts",
            "Shared.choices": "option_shifts",
        },
    ),
    **_under(
        "attack",
        {
            "Attacker.push": "word_effects",
            "Attacker.promise": "rivals_by_promise",
            "Attacker.deepest": "deep_attacks",
        },
    ),
    **_under(
        "program",
        {
            "_Rows.place": "maximum_columns",
            "_Rows.rows": "split_rows",
            "_Rows.constants": "split_constants",
            "_Rows.owners": "split_units",
            "_Rows.above": "maximum_rows",
            "_Rows.below": "maximum_constants",
            "_Rows._settle": "_collapse_maximum",
            "_Rows._open": "_free_maximum",
            "_View.owners": "split_units",
            "_View.over": "over_variables",
            "_View.beside": "padded",
            "_Columns.base": "offset",
            "_Columns.range": "variable_bounds",
            "_Columns.extra": "limit_rows",
            "_Columns.extra_limit": "limits",
            "_Columns.equal": "equality_rows",
            "_Columns.equal_to": "equality_values",
            "_Columns.found": "solutions",
            "_Columns.cross": "l1_ball",
        },
    ),
    **_under(
        "choices",
        {"Sums.added": "contributions", "Sums.over": "bounds", "Sums._known": "_cache", "Sums._ends": "_word_range"},
    ),
    **_under(
        "windows",
        {
            "Windows.starts": "group_starts",
            "Windows.doubt": "error",
            "Windows.words": "positions",
            "Windows.added": "contributions",
            "Windows.word": "word_of_option",
            "Windows.choices": "region_options",
            "Windows.limit": "max_cost",
            "Windows.aims": "target_rivals",
            "Windows.paying": "with_costs",
            "Windows.within": "restricted_to",
            "Windows._ends": "_word_ranges",
            "Windows.prices": "word_costs",
            "Windows.own": "own_options",
            "Windows.group": "group_of_unit",
            "Windows.points": "one_hot_points",
            "Windows.text": "options_of",
            "Windows.lowered": "coordinate_descent",
            "Windows._payable": "_affordable",
            "Windows.shortened": "with_changes_undone",
            "Windows.attacked": "attack",
        },
    ),
    **_under(
        "wordwise",
        {
            "_Codes.members": "options",
            "_Codes.halves": "children",
            "_Codes.word": "word_of_domain",
            "_Codes.open": "optional",
            "_Codes.marks": "option_masks",
            "_Bargains.prices": "costs",
            "_Bargains.least": "knapsack_min",
            "_Purse.open": "optional",
            "_Purse.prices": "costs",
            "_Purse.limit": "max_cost",
            "_Purse.falls": "decreases",
            "_Purse.rises": "increases",
            "_View.added": "contributions",
            "_View.low": "domain_lower",
            "_View.high": "domain_upper",
            "_View.starts": "group_starts",
            "_View.group": "group_of_unit",
            "_View.signs": "signed_weights",
            "_View.moves": "word_effects",
            "_View.purse": "budget",
            "_Chunk.view": "model",
            "_Chunk.codes": "domains",
            "_Chunk.low": "lower",
            "_Chunk.high": "upper",
            "_Chunk.left": "budget_left",
            "_Chunk.buyable": "affordable",
            "_Chunk.reach": "unit_bounds",
            "_Chunk.ends": "maximum_bounds",
            "_Chunk.lines": "linear_bounds",
            "_Chunk._below": "_lower_lines",
            "_Chunk._above": "_upper_lines",
            "_Chunk.narrowed": "with_active_units",
            "_Chunk.scores": "word_scores",
            "_Proof.doubt": "error",
            "_Proof.mine": "free_words",
            "_Proof.rows": "free_options",
            "_Proof.column": "word_of_free_option",
            "_Proof.prices": "costs",
            "_Proof.codes": "domains",
            "_Proof.marks": "option_masks",
            "_Proof.cut": "split_domain",
            "_Proof.first": "first_child",
            "_Proof.windows": "max_of_sums",
            "_Proof._added": "_domain_ends",
            "_Proof._view": "_model",
            "_Proof._purse": "_budget_state",
            "_Proof._divisible": "_splittable",
            "_Proof._jointly": "_linear_bound",
            "_Proof._tried": "_attack",
            "_Proof._parts": "_split",
            "_Proof._left": "_domain_fraction",
            "_Proof._side": "_child",
            "_Proof._chosen": "_options_picked",
        },
    ),
    **_under(
        "runs",
        {
            "Undecided.choices": "region_options",
            "Undecided.price": "cost",
            "Runs.form": "prepared",
            "Runs._rows": "_cached_inputs",
            "Runs._trees": "_cached_trees",
            "Runs._tree": "_subtree",
            "Runs._grown": "_build_tree",
            "Runs._chosen": "_inputs_from",
            "Runs._listed": "_list_inputs",
        },
    ),
    **_under("oracles", {"ByChoice.source": "one_hot", "ByChoice.within": "oracle"}),
    **_under(
        "oracles.bounds",
        {
            "BoundsOracle.form": "prepared",
            "BoundsOracle.windows": "max_of_sums",
            "BoundsOracle.found": "known_flips",
            "BoundsOracle.answered": "cached_verdicts",
            "BoundsOracle.looked": "cheaply_undecided",
            "BoundsOracle.attacked": "attacked_in_vain",
            "BoundsOracle.doubted": "undecided_within",
            "BoundsOracle._slow": "_bounds_are_slow",
            "BoundsOracle._attacked_hard": "_attack_deeply",
            "BoundsOracle._learn": "_remember_outcome",
            "BoundsOracle._bounded": "_decide_by_bounds",
            "BoundsOracle._worth_a_look": "_worth_deciding",
            "BoundsOracle._ask_of_choices": "_ask_one_hot",
            "BoundsOracle.glance": "quick_witness",
            "BoundsOracle._remembered": "_cached_or_asked",
            "BoundsOracle._ask_windows": "_ask_max_of_sums",
            "BoundsOracle._shortened": "_shortened_witness",
        },
    ),
    **_under(
        "oracles.milp",
        {
            "MilpOracle.form": "prepared",
            "Affine.plain": "scaled",
            "Affine.keep": "masked",
            "Program.wide": "widened",
            "Program.largest": "max_coefficient",
            "_Query.moves": "change_variables",
        },
    ),
    **_under(
        "oracles.marabou",
        {"MarabouOracle.form": "prepared", "_Worker._say": "_send"},
    ),
    **_under("oracles.marabou_worker", {"_Encoding.made": "input_query"}),
}


def _locals(module, functions):
    """Of functions of one module: "old>new old>new"."""
    return {f"{P}.{module}.{name}": dict(pair.split(">") for pair in text.split()) for name, text in functions.items()}


_SUBS = "parts>subproblems"
_SUB = "part>subproblem"
_FORM = "form>prepared"

LOCALS = {
    **_locals(
        "verdict",
        {
            "Witness.__str__": "what>verb gone>without_word moves>changes",
            "Refuted.__str__": "said>statement",
        },
    ),
    # branch and bound
    **_locals(
        "branch.climbing",
        {
            "climb": f"{_SUBS} {_SUB} found>backward peaks>planes ground>region pace>annealing least>min_weight "
            "way>restorations back>ascended high>finished low>unfinished_at loss>scores",
            "_climb_again": f"{_SUBS} ground>region",
            "_attempt_and_conclude": _SUBS,
            "attempt_around": f"{_SUBS} {_SUB} low>lowest",
            "ground_of": f"{_SUB} peaks>planes below>with_lower_line live>contenders",
            "_way": f"{_SUB} peaks>planes below>with_lower_line live>contenders",
            "_maxima_below": "below>with_lower_line first>first_step",
        },
    ),
    **_locals(
        "branch.judges",
        {
            "flips": f"{_FORM} aims>target_rivals judge>test words>movable",
            "undone": f"{_FORM} judge>test",
        },
    ),
    **_locals(
        "branch.questions",
        {
            "decide": f"{_FORM} asked>arguments way>strategy",
            "decide_restorations": _FORM,
            "decide_flips": f"{_FORM} opened>optional cost>costs limit>max_cost worth>budgets count>max_changes "
            "nobody>none_free equal>equal_costs most>change_limit",
            "_over": _FORM,
            "sets_of_free": f"{_FORM} choosable>splittable most>change_limits",
            "_every_choice": _FORM,
        },
    ),
    **_locals(
        "branch.roots",
        {
            "narrow": "way>strategy",
            "sieve": "peaks>planes climbed>ascended",
            "_open_roots": f"{_SUB} question>query",
            "_sift": "peaks>planes tried>attack_at at>scaled_points ground>region share>time_fraction limit>limited",
        },
    ),
    **_locals(
        "branch.rounds",
        {
            "Branching.bound": _SUBS,
            "Branching.split": _SUB,
            "answers": f"way>strategy question>query {_SUB} half>child",
            "evaluate": f"way>strategy {_SUBS} {_SUB} p>candidate some>batch",
            "_answer": f"question>query why>memory_note {_SUB}",
            "_hardest": f"within>unanswered live>promising share>quota question>query {_SUB} q>candidate",
            "_given_up": "question>query",
            "_hopeless": f"question>query before>first_count lowest>first_worst spent>count {_SUB}",
            "_at_once": "batch>round_size",
        },
    ),
    **_locals(
        "branch.run",
        {
            "Run.of": f"{_FORM} judge>point_test questions>queries tilts>planes batch>batch_size mine>rivals_of_query",
            "Run.question_of": _SUB,
            "Run.answered": _SUB,
            "Run.attempt": f"{_SUBS} {_SUB} question>query p>each",
            "_room": f"{_FORM} tilts>planes shares>share_bytes",
            "_tilts": f"{_FORM} some>maxima whole>full_first",
            "only_maxima": _FORM,
            "taking_above": _FORM,
        },
    ),
    **_locals(
        "branch.settle",
        {
            "conclude": f"{_SUBS} {_SUB} found>backward first>first_scores score>scores closing>canonical",
            "_scores": "found>backward first>first_scores loss>gaps chord>scores known>maxima_known",
            "_keep": f"{_SUB} question>query",
            "_finish": f"{_SUB} found>backward solved>solution",
            "run_all": f"{_SUB} runs>inputs",
        },
    ),
    **_locals(
        "branch.split",
        {
            "parts_of": f"{_FORM} {_SUB} fresh>children rest>remaining",
            "_by_words": _FORM,
            "_split_units": f"{_FORM} {_SUB} rest>remaining kept>steps_kept above>parent half>child",
            "_split_unit": f"{_SUB} steps>steps_kept fresh>parent_unbounded half>child",
            "split_word": f"{_SUB} half>child taken>first rest>second",
            "_half": f"{_SUB} half>child",
            "follow": f"{_SUB}",
        },
    ),
    **_locals(
        "branch.subproblem",
        {
            "root_of": "question>query",
            "close": f"{_SUB} found>backward tilts>planes mine>place",
            "_tree": _SUB,
        },
    ),
    **_locals(
        "branch.together",
        {
            "joined": f"{_SUBS} {_SUB} rest>others",
            "known_bounds": f"{_SUBS} p>subproblem place>step_index found>intermediate part>each sides>intervals fresh>unbounded "
            "different>first_of_key mine>interval_of_key",
            "inherited": f"{_SUBS} {_SUB} tilts>planes base>dual",
            "_first_shares": f"{_SUBS} {_SUB} tilts>planes",
        },
    ),
    **_locals(
        "branch.units",
        {
            "OnUnits.bound": _SUBS,
            "OnUnits.split": _SUB,
            "_bound": f"{_SUBS} tilts>planes found>backward left>unproved p>each",
            "_left_open": f"{_SUBS} {_SUB} found>backward known>values closing>canonical fresh>unclosed",
            "_tilts_now": f"{_SUB} spent>bounded many>many_units",
            "_work_on": f"{_SUBS} found>backward pace>max_rate some>alike done>proved",
            "_ascent": "fresh>without_planes least>min_steps most>max_steps",
            "_alike": f"{_SUBS} found>places_of_key",
        },
    ),
    **_locals(
        "branch.words",
        {
            "OnWords.of": f"{_FORM} judge>point_test",
            "OnWords.bound": f"{_SUBS} {_SUB} found>backward left>unproved first>first_bounds p>each",
            "OnWords.split": f"{_SUB} halves>children",
            "OnWords._first_step": f"{_FORM} least>outer_lower most>outer_upper",
            "OnWords._attack": f"{_SUBS} {_SUB}",
            "OnWords._descend": f"{_SUB} least>lowest",
            "OnWords._keep": f"{_SUB} question>query",
            "_with_one_changed": f"{_FORM} choices>options trials>variants at>changed_words",
            "_fewer_units": f"{_FORM} moving>movable",
        },
    ),
    # input sets
    **_locals(
        "inputs",
        {
            "Inputs.few": "relus>open_relus",
            "Inputs.sure": "room>gap",
        },
    ),
    **_locals(
        "inputs.budgeted",
        {
            "Budgeted.least": "cost>costs taken>fractions",
            "Budgeted.bought": "share>found taken>fractions",
            "Budgeted.needed": "room>gap price>replacement_rate rise>increase bought>taken_whole",
            "Budgeted._knapsack": "cost>ordered before>spent_before",
            "ways": "bought>most cost>costs",
        },
    ),
    **_locals(
        "inputs.free",
        {
            "Free.fall": "down>found",
            "Free.shared_fall": "gains>shifts",
            "Free.through": "at>middle_values moving>word_weights over>effects reach>radii",
            "Free.word": "found>row_values",
            "Free.few": "relus>open_relus counts>option_counts",
            "Free.sure": "room>gap",
            "Free.halves": "sides>allowed_halves side>allowed",
            "joined": "narrowed>restricted",
        },
    ),
    **_locals(
        "inputs.freed",
        {
            "Freed.least": "paid>within_budget",
            "Freed.buyable": "paid>within_budget",
            "Freed.few": "relus>open_relus",
            "Freed.sure": "room>gap",
            "Freed.halves": "sides>allowed_halves side>allowed paid>taken rest>without count>max_changes",
        },
    ),
    **_locals(
        "inputs.moves",
        {"by_input": "over>input_rows", "falls": "down>radius_shift found>shifts", "choices": "n>count r>rows_each"},
    ),
    **_locals(
        "inputs.numbers",
        {
            "pieces": "each>item_numbers step>items",
            "largest": "among>eligible",
            "lowest": "taken>mask",
        },
    ),
    **_locals(
        "inputs.restored",
        {
            "Restored.join": "start>perturbed opened>optional",
            "Restored.through": "adds>word_shifts at>perturbed_values",
            "Restored.few": "relus>open_relus",
            "Restored.sure": "room>gap",
            "Restored.halves": "opened>optional back>perturbed left>budget_left taken>restored",
        },
    ),
    **_locals(
        "inputs.shared",
        {
            "Shared.seen": "marks>by_word",
            "Shared.products": "moves>shifts",
            "Shared.falls": "place>slots x>signed_block",
            "_among": "there>present",
            "shared_falls": "values>shifts marks>masks mine>seen_allowed some>chunk",
        },
    ),
    # attacks, exact scores, leaf programs
    **_locals(
        "attack",
        {
            "gradients": "z>preactivations back>at_first",
            "first_sums": "z>preactivations moves>changes",
            "first_gradients": "z>preactivations back>at_second",
            "_input_gradients": "z>preactivations back>at_second",
            "_second_gradients": "z>preactivations back>gradient sums>values here>inputs others>rival_labels index>rows",
            "jump": "gains>word_effects corner>vertex",
            "chosen": "gains>word_effects",
            "within": "gains>word_effects",
            "descend": "deepest>to_the_end before>previous",
            "slide": "turn>step way>direction mean>first_moment square>second_moment side>bound",
            "sides": "everywhere>ones",
            "Attacker.of": "push>effects",
            "Attacker.promise": "reach>linear_margins",
            "Attacker.attack": "promise>ranked_rivals turn>done many>restarts_now turns>restart_index fresh>results "
            "open_>unflipped",
            "Attacker.deepest": "promise>ranked_rivals moved>changed",
            "Attacker._from_corner": "moved>changed",
            "_lowest": "turns>restarts",
            "_lower": "index>rows",
        },
    ),
    **_locals(
        "program",
        {
            "leaf_program": f"{_FORM} columns>variables",
            "_solve": f"{_FORM} columns>variables view>leaf limit>right_side moved>values weights>multipliers",
            "_phase_one": f"{_FORM} columns>variables view>leaf limit>right_side worst>with_violation",
            "_Rows.add": "part>units_slice sides>split_signs",
            "_Rows._settle": "group>candidates",
            "_Rows._open": "group>candidates own>variable_row",
            "_View.of": f"{_FORM} built>builder part>units_slice",
            "_View.over": "columns>variables",
            "_View.dual": f"{_FORM} weights>multipliers weight>multiplier share>lower_weights part>units_slice "
            "at>candidates",
            "_open_maxima": f"{_FORM} part>units_slice several>undecided",
            "_round_program": f"{_FORM} columns>variables solved>solution",
            "_Columns.with_tangents": "moved>displacements size>norms far>outside planes>tangent_rows",
            "_Columns.box": "x>center pairs>variable_bounds",
            "_Columns.cross": "half>positive_part extra>limit_rows ranges>variable_bounds owner>word_of_variable",
            "_Columns.mixture": "most>max_corners base>offset equal>equality_rows ranges>variable_bounds none>no_rows",
            "_Columns.point": "found>values moved>reached size>norms",
        },
    ),
    **_locals(
        "exact",
        {
            "scores_with_error": "size>magnitude carried>carried_error",
            "_product": "counted>nonzero whole>integers stored>values_there",
            "_entries": "listed>coordinates",
            "_integers": "whole>integers",
            "confirm": "aims>target_rivals sound>allowed slack>error",
            "_allowed": "members>in_region within>changes_allowed",
            "_margins_with_slack": "doubt>input_error slack>margin_error error>score_errors",
            "_sure_rival": "slack>error sure>certain",
            "_confirm_at_source": "aims>target_rivals source>one_hot sound>allowed doubt>error places>rival_places "
            "real>witness",
        },
    ),
    # presolve
    **_locals(
        "lean",
        {
            "lean": f"{_FORM} open_>unsettled some>units part>units_slice",
            "within": f"{_FORM} whole>full narrow>narrowed open_>unsettled",
            "reach_within": "first>first_step spread>half_width size>magnitude",
            "_staying": "open_>unsettled found>kept",
            "_only": "fewer>with_kept_rows inner>with_kept_columns some>units",
            "told": _FORM,
            "_told_leaf": _FORM,
            "_told_units": _FORM,
        },
    ),
    **_locals(
        "few",
        {
            "suits": f"{_FORM} boxes>plain_boxes pooled>first_is_pooled",
            "decide_few": _FORM,
            "among": f"{_FORM} whole>full sides>restricted_sides first>first_step reach>intervals",
            "_over": "whole>full",
            "_lifted": _FORM,
        },
    ),
    **_locals(
        "choices",
        {
            "by_choice": "choices>options worded>only_maxima wide>too_wide",
            "composed": "moves>option_shifts added>contributions whole>first_step source>one_hot base>constants "
            "every>all_units large>composed_problem",
            "narrowed": "source>one_hot added>contributions smaller>one_hot_kept",
            "_added": "moves>option_shifts choices>options",
            "_coordinates": "choices>options",
            "_hopeless": "source>one_hot doubt>error least>lower_limit still>constant fall>decreases rise>increases "
            "base>constants down>max_decrease up>max_increase",
            "_first_of_equals": "still>constant base>values",
            "Sums.__init__": "source>one_hot",
            "Sums.over": "codes>option_sets marks>pair_masks place>pair_index ends>ranges",
            "Sums._ends": "code>option_set mine>of_options",
            "told_witness": "source>one_hot",
            "told_verdict": "source>one_hot",
        },
    ),
    **_locals(
        "windows",
        {
            "Windows.of": f"{_FORM} words>positions fillings>options added>contributions size>magnitudes source>one_hot "
            "some>region_options",
            "Windows.paying": "limit>max_cost mine>targets",
            "Windows.within": "mine>free_words least>lower_limit live>active gone>decided kept>maxima_left side>word_range",
            "Windows.points": "texts>assignments text>assignment",
            "Windows.text": "choice>option found>assignment",
            "Windows.sums": "text>assignment",
            "Windows.lowered": "text>assignment allowed>allowed_options trials>single_changes word>word_of_row "
            "least>lowest moved>change",
            "Windows._payable": "text>assignment changed>is_changed word>word_of_row",
            "Windows.shortened": "text>assignment found>worst_margins",
            "Windows.attacked": "mine>free_words trials>candidates known>candidate_margins text>assignment least>lowest",
            "Windows.witness": "text>assignment",
            "_lean": f"{_FORM} source>one_hot least>lower most>upper",
            "remaining": "group>group_of_unit",
            "_fillings": "source>one_hot same>first_equal some>options first>representative",
            "_with": "text>assignment filling>option",
        },
    ),
    **_locals(
        "wordwise",
        {
            "decide_by_words": "windows>max_of_sums",
            "_Codes.of": "fillings>word_options own>own_options code>domain mine>domain_options cut>middle "
            "parts>halved fresh>halves_paid first>is_optional cuts>children members>options halves>children_of "
            "word>word_of_domain",
            "_Codes.marks": "fillings>count code>domain mine>domain_options",
            "_Bargains.of": "prices>costs some>max_words",
            "_Bargains.least": "buyable>affordable left>budget_left mine>affordable_here",
            "_Bargains.take": "live>active",
            "_shares": "prices>costs left>budget_left",
            "_Purse.take": "live>active",
            "_View.take": "live>active starts>group_starts kept>maxima_left low>domain_lower high>domain_upper "
            "signs>signed_weights purse>budget group>group_of_unit",
            "_firsts": "marks>masks group>group_of_unit",
            "_Chunk.left": "purse>budget",
            "_Chunk.buyable": "purse>budget",
            "_Chunk.reach": "purse>budget down>max_decrease up>max_increase",
            "_Chunk.ends": "low>lower high>upper",
            "_Chunk.bound": "least>lower most>upper",
            "_Chunk.lines": "terms>coefficients view>model",
            "_Chunk._below": "enough>near_lower fixed>is_constant up>positive_weights group>group_of_unit least>lower "
            "most>upper",
            "_Chunk._above": "rest>others_upper down>negative_weights group>group_of_unit lows>unit_lower highs>unit_upper "
            "mine>maximum low>lower high>upper room>height least>maximum_lower most>maximum_upper",
            "_Chunk.take": "low>lower high>upper",
            "_Chunk.narrowed": "least>maximum_lower live>active kept>maxima_left low>lower high>upper",
            "_Chunk.scores": "share>contention low>lower high>upper room>height",
            "_bytes": "views>model_bytes chunk>batch waiting>frontier",
            "_Proof.__init__": "windows>max_of_sums",
            "_Proof.run": "waiting>frontier parts>children",
            "_Proof._ordered": "windows>max_of_sums lead>margin_effects",
            "_Proof._root": "windows>max_of_sums view>model low>domain_lower high>domain_upper least>lower most>upper "
            "everything>all_domains",
            "_Proof._added": "end>extreme",
            "_Proof._view": "windows>max_of_sums low>domain_lower high>domain_upper moves>word_effects signs>signed_weights "
            "purse>budget added>contributions codes>domains",
            "_Proof._purse": "codes>domains low>lower high>upper prices>costs falls>decreases rises>increases",
            "_Proof._step": "chunk>batch open_>unproved left>unproved_batch decided>unsplittable parts>children",
            "_Proof._divisible": "chunk>batch codes>domains",
            "_Proof._jointly": "chunk>batch left>allowed_values first>first_options sure>not_optional shares>fractions "
            "added>coefficients",
            "_Proof._tried": "chunk>batch windows>max_of_sums codes>domains text>assignment code>domain least>lowest",
            "_Proof._parts": "chunk>batch old>split_domains fresh>child_ids codes>domains one>first_side "
            "other>second_side code>domain left>child_domains low>lower high>upper place>node_id",
            "_Proof._left": "most>removable some>options all_>of_all",
            "_Proof._side": "chunk>batch codes>domains view>model",
            "_Proof._tree": "code>domain",
            "_Proof._chosen": "code>domain fillings>options filling>option choice>region_option",
        },
    ),
    **_locals(
        "runs",
        {
            "Runs.margins": "at>base_values adds>contributions add>contribution some>chunk other>rival_label",
            "Runs._tree": "place>word_index left>budget_left",
            "Runs._grown": "place>word_index left>budget_left stays>unchanged bought>changed",
            "Runs._chosen": "place>word_index left>budget_left",
            "Runs._listed": "place>word_index left>budget_left below>later",
            "few": f"{_FORM}",
            "_most": f"{_FORM} each>input_work",
            "_count": "ways>counts after>next_counts many>number left>budget_left rest>budget_after",
            "_taken_apart": f"{_FORM} opened>optional prices>costs priced>word_costs",
            "_counted": _FORM,
            "_many": "prices>costs together>affordable_at_once",
            "_surely_many": "left>options_left",
            "_of_choices": f"{_FORM} prices>costs left>options_left choices>equal_options stays>with_unchanged",
            "_distinct": "left>options_left choice>option same>equal_options",
            "_choose": "choice>region_option",
            "_put": "below>later",
            "_adds": "moves>shifts size>dimension",
        },
    ),
    **_locals(
        "oracles.bounds",
        {
            "BoundsOracle.ask": "doubtful>undecided fresh>unseen open_>left",
            "BoundsOracle.flips": "slid>result",
            "BoundsOracle.ask_cheaply": "bulk>batch_size late>out_of_time",
            "BoundsOracle.glance": "few>restricted",
            "BoundsOracle.ask_flips": "opened>features few>restricted worth>max_cost text>assignment most>max_changes",
            "BoundsOracle._remembered": "windows>max_of_sums",
            "BoundsOracle._ask_windows": "windows>max_of_sums few>restricted",
            "BoundsOracle._shortened": "few>restricted text>assignment",
            "BoundsOracle._prove": "wide>item_inputs spread>item_bounds found>backward mine>items_of_question",
            "BoundsOracle._try_minimisers": "wide>item_inputs found>backward items>unproved_items",
            "bounds_for": _FORM,
        },
    ),
    **_locals(
        "oracles.milp",
        {
            "MilpOracle._solve": "doubt>first_unknown",
            "quiet": "kept>saved nowhere>null",
            "Affine.plain": "size>magnitude",
            "Affine.keep": "kept>mask",
            "Program.relu": "loose>unstable place>unit_of_unstable",
            "_Query.of": f"{_FORM} moves>change_variables part>units_slice",
            "_Query.solve": "limit>upper_limit asked>with_limit",
            "point_of": "chosen>values moved>reached pulled>inside",
            "_pulled": "moved>displacements size>norms",
            "perturbed_input": "places>free_numbers spread>selection limit>radii",
            "limit_changes": "most>max_changes still>unchanged owner>word_of_variable mine>word_moves moves>change_variables",
            "_owners": "twice>rise_and_fall",
            "_mixture": "share>weights owner>word_of_weight",
            "_mixed": "chosen>values shares>weights",
        },
    ),
    **_locals(
        "oracles.marabou",
        {
            "MarabouOracle._every_rival": "doubt>first_unknown",
            "_query": _FORM,
            "_lines": "least>lower most>upper",
        },
    ),
}

DOCSTRINGS = {
    f"{P}.verdict": """The contract: problems, the three answers to "do these words suffice?", and budgets.

An oracle may always answer Unknown; it may answer Proved or Refuted only with evidence. Problems in
reduced coordinates remember what they were reduced from.

Method: robust explanations over perturbation sets (theory, section 1).
""",
    f"{P}.tree": """Proof trees: leaves that bounds close, splits on units, picks of words, lemmas, tuple fixing.

A tree proves its root because the branches of each node cover everything and each leaf holds.

Method: alpha and beta of CROWN bounds, planes and tuples as evidence (theory, sections 2 to 5).
""",
    f"{P}.branch": """The complete answer: branch and bound on units, and on words where that promises more.

Subproblems of many queries are bounded in one batch, the lowest bounds of each query first. A split on a
unit makes its relu linear on both sides, and brings lines closer to a smooth curve; the split enters the
bound through a multiplier. A subproblem is closed when its bound is above zero or its splits contradict
each other; the point where an open one attains its bound is run through the real network each time. With a
budget, words that the bound cannot do without are taken on the way. Over `Free` and `WithinBudget` the
margin must stay above zero; over `Restorations` it must stay below.

Method: branch and bound with BaBSR scores and beta-CROWN multipliers (theory, section 5).

Read in this order: subproblem.py (parts of a query, and the proof that they make), point_tests.py (which
points answer it), split.py (a subproblem in two), branch_run.py (what a run shares), batching.py (what
subproblems in one batch share), evaluate.py (closed, attacked, reopened or given up), planes.py (upper
planes of maxima), loop.py (rounds, and what to split next), root.py (stronger roots before splits),
unit_branching.py and word_branching.py (the two ways of bounding), region_queries.py (the doors).
""",
    f"{P}.branch.climbing": """Subproblems whose maxima take upper planes of their own, found by smoothed dual ascent.

Method: smoothed, annealed ascent on upper planes (theory, section 3).
""",
    f"{P}.branch.judges": """Point tests: which of the points where bounds are attained answer a query.

Method: exact confirmation of relaxed minimisers (theory, sections 2 and 6).
""",
    f"{P}.branch.questions": """Region queries: do words suffice, do restorations keep the rival ahead, do changes flip?

Method: one branch and bound over free, budgeted and restored words (theory, sections 5 and 6).
""",
    f"{P}.branch.roots": """Stronger roots before anything is split: refined intermediate bounds, and tuple fixing.

Method: refinement of single units (theory, section 2), reduced-cost fixing of tuples (section 4).
""",
    f"{P}.branch.rounds": """The loop: the worst subproblems of each query are split and bounded, until all is decided.

Method: branch and bound, worst bound first, many queries in one batch (theory, section 5).
""",
    f"{P}.branch.run": """One run of branch and bound over a batch of queries: what all of its subproblems share.

Method: branch and bound in batches (theory, section 5).
""",
    f"{P}.branch.settle": """What becomes of bounded subproblems: closed, attacked, reopened, or solved as leaves.

Method: BaBSR scores with the gap at the relaxed minimiser added (theory, section 5).
""",
    f"{P}.branch.split": """Splits: a subproblem in two at zero of a unit, or by the options of a word.

Method: splits on units and words; forced words by reduced costs (theory, section 5).
""",
    f"{P}.branch.subproblem": """Subproblems: parts of one query against one rival, and the proof that closed ones make.

Method: a branch-and-bound tree whose leaves are dual certificates (theory, section 5).
""",
    f"{P}.branch.together": """What subproblems of one batch share, and the dual that they inherit from their parents.

Method: intermediate bounds by batches, warm starts of alpha and beta (theory, sections 2 and 5).
""",
    f"{P}.branch.units": """Branch and bound on units, and on words where that promises more; the dual is optimised.

Method: alpha- and beta-CROWN with upper planes once a query is hard (theory, sections 2, 3 and 5).
""",
    f"{P}.branch.words": """Branch and bound on words alone, with one backward pass of plain lines per subproblem.

In one-hot coordinates a pass costs so little that splitting another word goes further than better slopes do.

Method: branch and bound on options (theory, section 5).
""",
    f"{P}.inputs": """Input sets: what ranges over what in a query, as batches that give least values of linear forms.

`Free` words range over their sets. With `WithinBudget`, words leave the original at a limited cost; with
`Restorations`, words of a perturbed text go back to the original at a limited cost. Bounds need of a set
only its anchor point and its support function there, the least shift of a linear form; a proof also needs
to know on which word to split a set, and into what.

Method: support functions (theory, section 1), the fractional knapsack of a budget (section 6, Lemma 7).

Read in this order: chunks.py, moves.py and shared_rows.py (how far words shift linear forms), knapsack.py
(which words a budget buys), and one module for each kind of set.
""",
    f"{P}.inputs.budgeted": """The knapsack of a budget: which words to take where each has a gain and a cost.

Method: Dantzig's fractional knapsack, and reduced-cost fixing in it (theory, section 6, Lemma 7).
""",
    f"{P}.inputs.free": """Free words: they range over their sets, all of them at once.

Method: support functions of boxes, balls, hulls and finite sets (theory, section 1).
""",
    f"{P}.inputs.freed": """Within a budget: words that leave the original at a limited cost, or few at a time.

Method: the fractional knapsack over words that leave the text (theory, section 6).
""",
    f"{P}.inputs.moves": """Moves: how far single words of a region can shift linear forms from its center.

Method: support functions (theory, section 1).
""",
    f"{P}.inputs.numbers": """Chunks of work that fit in memory, orders that depend on no last bit, and lowest numbers.

Method: the knapsack of equal costs by its lowest gains (theory, section 6).
""",
    f"{P}.inputs.restored": """Restorations: words of a perturbed text that go back to the original at a limited cost.

Method: the restoration lemma's inputs, relaxed by the fractional knapsack (theory, section 6).
""",
    f"{P}.inputs.shared": """Rows over the input that all sets of a batch share, so that shifts by word are kept.

Method: support functions by word, with the sparsity of convolutions (theory, sections 1 and 2).
""",
    f"{P}.attack": """Attacks: perturbed inputs that change the label, sought on many sets of free words at once.

From a starting point, step to the vertex of every free word's set that the linearised margin prefers, and
linearise again; keep the lowest margin seen. Where numbers move on their own, projected gradient steps may
follow. An attack returns candidates; `exact.confirm` runs them through the network.

Method: full Frank-Wolfe (vertex) steps, then PGD by Adam (theory, section 5).
""",
    f"{P}.program": """The linear program of a leaf whose relus are all fixed: exact multipliers, or a point that flips.

Where nothing is left to split the network is linear on the subproblem, and ascent on multipliers would only
come close. A linear program over the free words gives the multipliers (its dual) and the minimiser. Its
word is never taken: multipliers go back into our own bound, points through the real network. A maximum with
several candidates left is a variable above all of them; its multipliers are the weights of the lower line.

Method: LP duality at leaves of branch and bound (theory, section 5).
""",
    f"{P}.exact": """Scores that rounding cannot spoil: the forward pass with an error bound, and exact integers.

Method: forward error analysis after Higham, then exact rational arithmetic (theory, section 2).
""",
    f"{P}.lean": """Presolve: a prepared problem without the candidates of maxima that never win, and its postsolve.

Of the places that a maximum over time looks at, half or more often cannot win whatever the words become.
Magnitudes stay those of the whole network, so that bounds are those that a checker computes.

Method: removal of dominated candidates, with postsolve of proofs (theory, section 5).
""",
    f"{P}.few": """Presolve: a query in which few words of a large network move, restricted to these words.

What the other words add to the first step is worked out once and folded into the bias, and candidates of
maxima that cannot win while so few words move are left out. Magnitudes stay those of the whole network, so
that bounds are those that a checker computes; postsolve tells proofs about all units and words, and runs
flips as texts.

Method: restriction to the words that move, with postsolve (theory, section 5).
""",
    f"{P}.choices": """Presolve: a problem over finitely many options per word, in one-hot coordinates.

Where each word has a few options, the first step sees only a few sums: what each option of each word adds
to each unit. With one coordinate per word and option (all zero: the word itself) these are the weights of a
much smaller first step. Candidates of maxima that cannot win whatever the words become are left out. What
is proved of the smaller problem by picking words, without a choice of slopes, is a proof about the original
as it stands; postsolve turns points into the vectors of their options.

Method: one-hot options (theory, section 5).
""",
    f"{P}.windows": """Margins as maxima of sums: a pooled network in one-hot coordinates, word by word.

Each unit of the first step is a sum over the few words that it sees, so that texts with another word are
tried by adding what its option adds: attacks are cheap, and counterexamples are shrunk by undoing changes.

Method: one-hot options, attacked by coordinate descent (theory, section 5).
""",
    f"{P}.wordwise": """Branch and bound on options, for margins that are maxima of sums over words.

While every word has some of its options left, the least and the largest sum are exact; a maximum lies
between the largest of the least sums and the largest of the largest ones, and the margin, linear in the
maxima, between two more sums. Where these ends do not decide, lines around the maxima may: they make the
margin a sum over words, each with one option for all units, while ends take the worst for every unit. Else
the word that moves most of what may still win is split. Subproblems live in batches, for which each step is
a few operations on arrays; units that can no longer win are dropped from a batch on the way down. Where
changes cost, a word is first paid for or left as it is; ends and lines then take the best that the rest of
the budget buys.

The proof is a tree of picks whose leaves choose nothing: the lines are those that a checker takes around
maxima when nothing is chosen (docs/certificate.md), and these are nowhere worse than ends.

Method: branch and bound on options, by interval ends and lines (theory, section 5).
""",
    f"{P}.runs": """Enumeration: where few inputs of a set are left, all are run through the network.

Undecided words take each of their vectors, as far as a budget pays for them. What the first step makes of a
word is added up, so that a run begins behind that step. The proof is a tree of picks with a leaf for every
input; as all leaves are alike its subtrees are shared, and only writing it down takes them one by one.

Method: enumeration at leaves of branch and bound (theory, section 5).
""",
    f"{P}.oracles": """Oracles by name: our bounds, HiGHS and Marabou, each an answer to "do these words suffice?".

Method: a complete verifier with certificates, and two solvers as second opinions (theory, section 5).
""",
    f"{P}.oracles.bounds": """Our own oracle: attacks and plain bounds in bulk, optimised slopes, then branch and bound.

Method: CROWN in batches before a complete search (theory, sections 2 and 5).
""",
    f"{P}.oracles.milp": """A second opinion by mixed-integer programming: HiGHS, with big-M constants from our bounds.

Each rival is one program, "is there an allowed input with a margin of at most the tolerance?": an unstable
relu is a binary variable; stable ones and fixed words are substituted away. Only intermediate bounds are
shared with our own oracle, neither attacks nor splits. "Proved" means that HiGHS found the program
infeasible; it works to tolerances of about 1e-7, so that is its word and no certificate. A point refutes
only after `exact.confirm`.

Method: big-M models (theory, section 5).
""",
    f"{P}.oracles.marabou": """A second opinion by Marabou (extra `marabou`), in a process of its own as it can crash.

The margin against each rival is asked to be at most zero; a point that Marabou finds refutes only after
`exact.confirm`. Its "unsat" is reported as its word and is never a certificate: it is known to be wrong on
networks with tiny non-zero weights (below about 1e-8). A crash, an error or a time-out is Unknown.

The worker (`marabou_worker`) is told the later steps of the network once and then one query after the
other, in lines of JSON: numbers survive that exactly, and nothing in it is code.

Method: an SMT-style solver as a second opinion (theory, section 5).
""",
    f"{P}.oracles.marabou_worker": """The process in which Marabou runs: lines of JSON in and out, and nothing of suffice.

The first line holds the steps of a network after the first; each further line is a query: the range of the
input's variables, rows over them, the first step as a function of them, and the row of the margin with its
limit.

Method: the other end of `marabou` (theory, section 5).
""",
}

TEXT = [
    (
        f"{P}.verdict",
        (
            "`at_most` limits how many of the free words change at once; None: any number of them. `source` is there where this\n"
            "    is another problem in smaller coordinates: points are run as what they stand for there. `whole` is there where\n"
            "    `network` lacks units that never matter: what counts as run is run through that."
        ),
        (
            "`at_most` limits how many of the free words change at once; None: any number of them. `one_hot`\n"
            "    is there where this is another problem in one-hot coordinates: points are run as what they\n"
            "    decode to there. `unreduced` is there where `network` lacks dominated units: what counts as run\n"
            "    is run through that."
        ),
    ),
    (f"{P}.verdict", '"""The classifier\'s own network."""', '"""The classifier\'s network with all of its units."""'),
    (
        f"{P}.verdict",
        (
            '"""The problem that a smaller one stands for, which units of its first step are kept, and what choices add there.\n'
            "\n"
            "    `added` (units, length, choices) is the first step's weight, word by word."
        ),
        (
            '"""The original of a one-hot problem, which units of its first step are kept, and what options\n'
            "    add there.\n"
            "\n"
            "    `contributions` (units, length, options) is the first step's weight, word by word; `kept_units`\n"
            "    are places among the original's units."
        ),
    ),
    (
        f"{P}.verdict",
        "The vectors (n, length, dimension) of points in coordinates (n, length, choices), each a choice or none.",
        ("The vectors (n, length, dimension) of one-hot points (n, length, options), each an option\n        or none."),
    ),
    (
        f"{P}.verdict",
        '"""How far each word can move each unit down and up: (units, length)."""',
        ('"""The least and the most that each word can add to each unit: two arrays (units,\n        length)."""'),
    ),
    (
        f"{P}.verdict",
        (
            "With `promising`, a question is given up as soon as its bounds do not promise an answer within its subproblems, and\n"
            "    in any case once more than `crowd` of them are open at the same time. With `plain`, lines are tilted late."
        ),
        (
            "With `give_up_early`, a question is given up as soon as its bounds do not promise an answer\n"
            "    within its subproblems; in any case once more than `max_open` of them are open at the same time.\n"
            "    With `late_planes`, upper planes of relus come later."
        ),
    ),
    (
        f"{P}.verdict",
        "Raise OutOfTime once the time is spent: called between pieces of work of a fraction of a second.",
        ("Raise OutOfTime once no second is left: called between pieces of work of a fraction of a\n        second."),
    ),
    (f"{P}.verdict", "What the three answers share: as data, and as JSON.", "A verdict as plain data and as JSON."),
    (
        f"{P}.tree",
        (
            '"""By unit, the shares of its weights in the row of the line above it: one per "word", or per "number".\n'
            "\n"
            "    Where `words` are given, they are of these words' numbers, and those of the others are zero."
        ),
        (
            '"""By unit, the shares in [0, 1] that make its upper plane: one `per` "word", or per "number" of\n'
            "    the input.\n"
            "\n"
            "    Where `words` are given, they are of these words' numbers, and the shares of the others are\n"
            "    zero."
        ),
    ),
    (
        f"{P}.tree",
        "`above` has what tilts the lines above relus of the first step, where they are.",
        "`upper_planes` has the upper planes of the first step, where they replace chords.",
    ),
    (
        f"{P}.tree",
        (
            "Where words are bought with a budget, `chosen` is None: the word is bought (restored, or free to change) in the\n"
            "    first branch, and not in the second."
        ),
        (
            "Where words are paid for with a budget, `chosen` is None: the word is paid for (restored, or\n"
            "    free to change) in the first branch, and stays as it is in the second."
        ),
    ),
    (
        f"{P}.tree",
        '"""A bound of a unit that is proved here and used everywhere below."""',
        '"""A bound of a unit with its proof, which holds in all of the tree `rest`."""',
    ),
    (
        f"{P}.tree",
        (
            '"""Lines above bundles of maxima: `rows` (bundles, length, dimension), slopes `alpha` (units,) below others.\n'
            "\n"
            "    At the first stage on the way to a leaf `bundles` are first units of maxima, then places of the bundles before."
        ),
        (
            '"""Upper planes `planes` (groups, length, dimension) of groups of maxima, lower slopes `alpha`\n'
            "    (units,).\n"
            "\n"
            "    `groups` says what each group joins: first units of maxima at the first stage on the way to a\n"
            "    leaf, then places among the groups before."
        ),
    ),
    (
        f"{P}.tree",
        '"""Of the choices of who wins the maxima, those that these lines leave are the only ones everywhere below."""',
        '"""In the tree `rest`, only the tuples of winners that `stage` does not fix out are left."""',
    ),
    (
        f"{P}.branch.climbing",
        "# where they begin, and what each candidate has then",
        "# the first ascent, and each candidate's least initial weight",
    ),
    (
        f"{P}.branch.climbing",
        '"""Lines above maxima have rows of their own from here on, and those of the parts of these subproblems."""',
        ('"""Ascend on upper planes of maxima, which these subproblems and their children have from here\n    on."""'),
    ),
    (
        f"{P}.branch.climbing",
        "Where no split would do, as lines below maxima are not good enough yet.",
        ("A longer ascent where no split would help, as the lower lines of maxima have not\n    converged."),
    ),
    (
        f"{P}.branch.climbing",
        "Try these points, and what small steps from the lowest of them lead to.",
        "Test these points, and those that PGD reaches from the ones with the lowest margins.",
    ),
    (f"{P}.branch.climbing", "# --- where they climb ---", "# --- where planes ascend ---"),
    (
        f"{P}.branch.climbing",
        '"""Where subproblems of this set of free words climb."""',
        '"""The normalised region of this set of free words, made once in a run."""',
    ),
    (
        f"{P}.branch.climbing",
        '"""Where subproblems about this attacked text climb."""',
        ('"""The restorations of this query\'s perturbed text as an ascent needs them, made once in a\n    run."""'),
    ),
    (
        f"{P}.branch.climbing",
        '"""The maxima of the first step that may take a line below, and its units that may win one."""',
        ('"""The maxima of the first step that may take a lower line, and a mask of its contending\n    units."""'),
    ),
    (
        f"{P}.branch.judges",
        "A point that a rival wins (one of the `aims`), confirmed, refutes.",
        "A point that a rival wins (one of the `target_rivals`), confirmed, refutes.",
    ),
    (
        f"{P}.branch.judges",
        "A point that the label wins, if whole words of it are restored, shows how the attack is undone.",
        ("A point whose margin is not below zero, with each word perturbed or restored, names an\n    undoing set."),
    ),
    (
        f"{P}.branch.questions",
        "What the question about each row of `free` ranges over; with a limit on changes, who changes is a choice too.",
        (
            "The input sets of queries about rows of `free`; with a limit on changes, which words change\n"
            "    is decided too."
        ),
    ),
    (
        f"{P}.branch.questions",
        "Every choice allowed, where the region is one of choices and a proof may branch on them.",
        ("All options allowed (count, length, options), where the region has finitely many; else\n    None."),
    ),
    (
        f"{P}.branch.questions",
        '"""The form for questions in which only these words (length,) move."""',
        '"""The prepared problem for queries in which only these words (length,) move."""',
    ),
    (
        f"{P}.branch.roots",
        "In a wide network, better bounds of the later steps' units for every root that is open, and another look.",
        ("In a wide network, refine intermediate bounds of later steps at every open root, and bound it\n    again."),
    ),
    (
        f"{P}.branch.roots",
        "Where there is nothing but maxima of numbers that move on their own, look at several of them at once.",
        "Where there are only maxima over boxes, fix tuples of winners at every open root.",
    ),
    (
        f"{P}.branch.rounds",
        "What else may settle the roots that are open, before anything is split.",
        "Strengthen the bounds of open roots, before anything is split.",
    ),
    (
        f"{P}.branch.rounds",
        "Whether its bound would stay below zero though every doubling of subproblems did far more than so far.",
        ("Whether the bound stays below zero even if each doubling of subproblems gains far more than\n    so far."),
    ),
    (
        f"{P}.branch.run",
        (
            '"""Questions about one form, against rivals of which `sign` times the margin must stay above zero.\n'
            "\n"
            "    `batch` is how many subproblems are worked on together, and `room` how many more fit into memory."
        ),
        (
            '"""Queries about one prepared problem, against rivals of which `sign` times the margin must stay\n'
            "    positive.\n"
            "\n"
            "    `batch_size` is how many subproblems are worked on together, `capacity` how many more fit into\n"
            "    memory. `planes` are the upper planes of the first step that a dual may take."
        ),
    ),
    (
        f"{P}.branch.run",
        "Run the points where the bounds are attained through the real network: one may answer the question.",
        ("Run points where bounds are attained through the real network: one may answer its\n        query."),
    ),
    (
        f"{P}.branch.run",
        "What may be tilted: lines above relus of the first step, or above its maxima.",
        "The upper planes that a dual may choose: of relus of the first step, or of its maxima.",
    ),
    (
        f"{P}.branch.run",
        "Those units of the first step that may take a line above: with one hidden step that is known.",
        ("Those units of the first step that may take an upper plane: with one hidden step that is\n    known."),
    ),
    (
        f"{P}.branch.settle",
        "Close what is proved; attack the rest, and keep it with what to split it on (`first`: in the first step).",
        (
            "Close what is proved; attack the rest, and reopen it with split scores (`first_scores`: of\n"
            "    the first step)."
        ),
    ),
    (
        f"{P}.branch.settle",
        "How much a split on each unit (n, units) promises; of maxima of the first step `first` knows it, if given.",
        ("Branching scores (n, units): negative coefficient times the chord's intercept, plus a part of\n    the gap."),
    ),
    (f"{P}.branch.settle", "# beyond what a climb's single precision can tell", "# beyond single precision"),
    (
        f"{P}.branch.settle",
        "# such lines give away far less than chords do",
        "# planes give away far less than chords do",
    ),
    (
        f"{P}.branch.settle",
        "Put an open subproblem back, or settle it when nothing is left to split.",
        ("Put an open subproblem back on the frontier, or solve it as a leaf when nothing is left to\n    split."),
    ),
    (
        f"{P}.branch.settle",
        "All relus are linear here: better multipliers, or a flip, settle it. False when neither does.",
        ("All relus are linear here: better multipliers or a flip decide it. False when neither\n    does."),
    ),
    (
        f"{P}.branch.split",
        "Its parts, on one word or on up to `depth` relus at once; in a small round, on sure words too.",
        ("Its children, by one word or by up to `depth` relus at once; in a small round, by forced\n    words too."),
    ),
    (
        f"{P}.branch.split",
        "A split at zero does not straighten a smooth curve, and a word put back settles many candidates of maxima.",
        (
            "A split at zero does not straighten a smooth curve, and a restored word decides many\n"
            "    candidates of maxima."
        ),
    ),
    (f"{P}.branch.split", '"""Its halves by the choices of a word."""', '"""Its children by the options of a word."""'),
    (
        f"{P}.branch.split",
        "Take words that cannot be done without: what remains, and the subproblems without each, which soon close.",
        "Take forced words: what remains, and the subproblems without each, which soon close.",
    ),
    (
        f"{P}.branch.split",
        "The parts of all levels when what is left of a subproblem is split on its `depth` worst relus, one by one.",
        ("The children of all levels when a subproblem is split on its `depth` worst relus, one by\n    one."),
    ),
    (
        f"{P}.branch.split",
        "Its halves at zero of a unit, up to whose step bounds stay; a fresh one can be closed without them.",
        (
            "Its children at zero of a unit; bounds stay up to its step. A parent not yet bounded may\n"
            "    still be closed."
        ),
    ),
    (
        f"{P}.branch.subproblem",
        "A set of words (a mask) that, put back, undoes the attack at an affordable cost.",
        "Restoring `words` (a mask) is affordable and undoes the attack: the rival is not ahead any more.",
    ),
    (
        f"{P}.branch.subproblem",
        "# of the bound, over the input",
        "# coefficients of the bound over the input (length, dimension)",
    ),
    (f"{P}.branch.subproblem", "# to be decided on, where that is known", "# to split on, where that is known"),
    (
        f"{P}.branch.subproblem",
        "# the unit, or the word and its choices, that it was split on",
        "# the unit, or the word and its options, that it was split on",
    ),
    (
        f"{P}.branch.subproblem",
        "# what it is half of, where that was split before it was bounded",
        "# its parent, if split before it was bounded",
    ),
    (f"{P}.branch.subproblem", "# the tilted lines that close it", "# the planes that close it"),
    (
        f"{P}.branch.subproblem",
        "# what is known of hidden units everywhere below the root",
        "# refined intermediate bounds everywhere below the root",
    ),
    (
        f"{P}.branch.subproblem",
        "# inputs, known to be too many for that",
        "# its inputs are known to be too many for that",
    ),
    (
        f"{P}.branch.subproblem",
        "Whether a part that it belongs to is closed, so that it need not be.",
        "Whether an ancestor is closed, so that it need not be.",
    ),
    (
        f"{P}.branch.subproblem",
        "A set of inputs that is asked about: its subproblems that are open, and its answer once there is one.",
        (
            "A set of inputs that is asked about: its open subproblems (`frontier`), and its answer once\n"
            "    there is one.\n"
            "\n"
            "    `bounded` counts its subproblems, `unsplittable` those at zero with nothing left to split."
        ),
    ),
    (
        f"{P}.branch.subproblem",
        '"""The whole of a question against one rival."""',
        '"""The whole of a query against one rival."""',
    ),
    (
        f"{P}.branch.subproblem",
        '"""The proof of a root, after what it states of hidden units."""',
        '"""The proof of a root, below the lemmas that refine its intermediate bounds."""',
    ),
    (
        f"{P}.branch.subproblem",
        "Keep what the proof needs of it, an item of what was bounded together, and nothing else.",
        "Keep what the proof needs of one item of a batch, and nothing else.",
    ),
    (
        f"{P}.branch.together",
        "Each subproblem's dual from the one it is a part of, or the plain one at a root; shares begin as chords.",
        (
            "Each subproblem's dual from its parent, or the initial one at a root; shares of planes begin\n"
            "    as chords."
        ),
    ),
    (
        f"{P}.branch.together",
        "Shares as they begin; none where all have theirs from what they are half of, as these take long over maxima.",
        ("Initial shares of planes; zeros where all inherit theirs, as initial ones take long over\n    maxima."),
    ),
    (
        f"{P}.branch.units",
        "# of ascent, at least, where lines above are tilted",
        "# of ascent, at least, with upper planes",
    ),
    (
        f"{P}.branch.units",
        "# of ascent at a root whose hidden bounds were narrowed",
        "# of ascent at a root whose intermediate bounds were refined",
    ),
    (
        f"{P}.branch.units",
        "# the pace of shares of lines above maxima",
        "# the largest step of shares of planes of maxima",
    ),
    (
        f"{P}.branch.units",
        "# subproblems of a question after which lines above first relus are tilted too",
        "# subproblems of a query after which relus of the first step take upper planes",
    ),
    (f"{P}.branch.units", "# of one that is to be asked plainly", "# of one with `late_planes`"),
    (
        f"{P}.branch.units",
        "# of these relus, from which on that is worth while sooner",
        "# of these relus, from which on planes pay sooner",
    ),
    (
        f"{P}.branch.units",
        "One pass closes most subproblems; what is left is worth more work, and then split.",
        "One backward pass closes most subproblems; the others take an ascent, and are then split.",
    ),
    (
        f"{P}.branch.units",
        "Close what the first pass has proved, or what has few inputs, which are all run: the places of what is left.",
        ("Close what the first pass proves, enumerate what has few inputs, and give the places of what\n    is left."),
    ),
    (
        f"{P}.branch.units",
        "Lines above relus are tilted once a question has turned out to be hard, those above maxima once they were.",
        ("Whether to take upper planes: of relus once a query has proved hard, of maxima once the\n    parent did."),
    ),
    (
        f"{P}.branch.units",
        "Better slopes and multipliers, and where these do not do, other lines around maxima.",
        "Ascend on slopes and multipliers, and where these do not close it, on planes of maxima.",
    ),
    (
        f"{P}.branch.units",
        "How many steps: more with tilted lines, and most at a root whose hidden bounds were narrowed.",
        "How many steps of ascent: more with upper planes, and most at a refined root.",
    ),
    (
        f"{P}.branch.words",
        "Bounds are those of plain lines, with the first step's sums worked out word by word.",
        "Bounds by plain lines, with the first step's ranges worked out option by option.",
    ),
    (
        f"{P}.branch.words",
        "Bounds of the first step's units; None where words are bought, which the sums do not know of.",
        "Bounds of the first step's units; None with a budget, of which the sums do not know.",
    ),
    (
        f"{P}.branch.words",
        "In the first rounds: change one word at a time of the best point as long as the margin falls.",
        ("In the first rounds, coordinate descent: change one word at a time as long as the margin\n        falls."),
    ),
    (
        f"{P}.branch.words",
        "Put it back; where no word is left to decide on, the input itself may be far enough from zero.",
        (
            "Put it back on the frontier; where no word is left to split, the input itself may be far\n"
            "        enough from zero."
        ),
    ),
    (
        f"{P}.branch.words",
        '"""The point with each choice of each of these words in turn."""',
        '"""The point with each option of each of these words in turn."""',
    ),
    (
        f"{P}.branch.words",
        '"""The form without the candidates that cannot win while only these words move."""',
        '"""The prepared problem without candidates that cannot win while only these words move."""',
    ),
    (
        f"{P}.inputs",
        "A batch of input sets: an anchor point each, how far a linear form can fall from it, and where to split it.",
        "A batch of input sets: anchors, support functions at them, and how to split a set.",
    ),
    (
        f"{P}.inputs",
        '"""The same for rows that all sets of the batch share."""',
        '"""`min_shift` for rows that all sets of the batch share: (n, r)."""',
    ),
    (
        f"{P}.inputs",
        "Points (n, length, dimension) where the fall of rows (n, length, dimension) is attained.",
        (
            "Points (n, length, dimension) of the sets that attain `min_shift` of rows (n, length,\n"
            "        dimension), or nearly with a budget."
        ),
    ),
    (
        f"{P}.inputs",
        "The word to decide on that moves the row most; None if none moves it, unless any undecided one will do.",
        (
            "The undecided word that moves the row most; None if none moves it, unless any undecided\n"
            "        one will do."
        ),
    ),
    (
        f"{P}.inputs",
        "Whether deciding on words promises more than splitting that many relus.",
        "Whether splitting words promises more than splitting that many open relus.",
    ),
    (
        f"{P}.inputs",
        "Words that the set cannot do without if the row is to fall by more than the bound can spare.",
        ("Words without which the bound would rise by more than `gap`: reduced-cost fixing in the\n        knapsack."),
    ),
    (
        f"{P}.inputs.budgeted",
        "Which of the `open` words (n, length) to take when each has a gain, a cost, and the budget (n,) is limited.",
        (
            "Which `optional` words (n, length) to take when each has a gain (at most 0) and a cost\n"
            "    (length,).\n"
            "\n"
            "    `budget` (n,) limits the cost of what is taken; the last word may be taken in part."
        ),
    ),
    (
        f"{P}.inputs.budgeted",
        '"""The least sum of gains (n, r, length) that the budget buys: a fractional knapsack.',
        (
            '"""The least sum (n, r) of gains (n, r, length) within the budget: the fractional knapsack\'s\n'
            "        value."
        ),
    ),
    (
        f"{P}.inputs.budgeted",
        "Which words (n, length) that takes, the last one perhaps in part, for gains (n, length).",
        "The fractional knapsack's solution (n, length) in [0, 1] for gains (n, length).",
    ),
    (
        f"{P}.inputs.budgeted",
        (
            "The words of a single set without which the least sum of gains (length,) would rise by more than `room`.\n"
            "\n"
            "        Those come first that it needs most. The first word that the budget cannot buy whole sets the price at which the\n"
            "        others would be replaced."
        ),
        (
            "The words of a single set without which the least sum of gains (length,) would rise by\n"
            "        more than `gap`.\n"
            "\n"
            "        Largest reduced costs first. The first word that the budget cannot buy whole sets the rate,\n"
            "        gain per cost, at which the others would be replaced."
        ),
    ),
    (
        f"{P}.inputs.budgeted",
        "The order in which words are taken, best value for cost first, and the share taken of each.",
        ("The order in which words are taken, best gain for cost first, and the fraction taken of\n        each."),
    ),
    (
        f"{P}.inputs.budgeted",
        "The logarithm of how many sets of these words the budget buys, about.",
        ("About log2 of how many sets of these words the budget buys, as if all cost what the cheapest\n    does."),
    ),
    (
        f"{P}.inputs.free",
        "`allowed` (n, length, m) narrows a Choice region further, when a proof branches on words.",
        ("`allowed` (n, length, options) restricts a Choice region further, when a proof branches on\n    words."),
    ),
    (
        f"{P}.inputs.free",
        "Few enough combinations of choices that trying them beats splitting relus.",
        "Few enough combinations of options that trying them beats splitting relus.",
    ),
    (
        f"{P}.inputs.free",
        "The half of the word's choices with the lower values, against the others.",
        "The half of the word's options with the lower values, against the others.",
    ),
    (
        f"{P}.inputs.free",
        "What is allowed in the sets of several batches, as one; None where nothing is narrowed.",
        "What is allowed in the sets of several batches, as one; None where nothing is restricted.",
    ),
    (
        f"{P}.inputs.freed",
        (
            "The original text with the words of `free`, and any of `open` worth at most `budget`, ranging over their sets.\n"
            "\n"
            "    `allowed` narrows a Choice region, as for `Free`; with a `count` (n,), no more than so many of `open` move."
        ),
        (
            "The text with `free` words, and `optional` ones worth at most `budget` (n,), ranging over\n"
            "    their sets.\n"
            "\n"
            "    `allowed` restricts a Choice region, as for `Free`; with `max_changes` (n,), no more than so\n"
            "    many optional words move."
        ),
    ),
    (
        f"{P}.inputs.freed",
        "What the budget buys, or what so many words can do: neither is more than both allow.",
        ("The larger of the bounds by the budget alone and by the number of changes alone; both are\n        valid."),
    ),
    (
        f"{P}.inputs.freed",
        "How far freeing each word (n, length) can move rows (n, length, dimension) down.",
        ("How far freeing each word can lower rows (n, length, dimension): (n, length), at most\n        0."),
    ),
    (
        f"{P}.inputs.freed",
        "Words that the budget buys only in part stay as they are: the point is always an allowed one.",
        ("Words that the knapsack takes only in part stay as they are: the point is always an\n        allowed one."),
    ),
    (
        f"{P}.inputs.freed",
        "First who changes at all; what those become who do is decided after that.",
        "First which words change at all; what they become is decided after that.",
    ),
    (
        f"{P}.inputs.freed",
        "Few enough ways to say who changes that trying them beats splitting relus; then what those become.",
        ("Few enough sets of changed words that trying them beats splitting relus; then what they\n        become."),
    ),
    (
        f"{P}.inputs.freed",
        "The word free, and paid for, against fixed; or the choices of one that is free already.",
        ("The word free, and paid for, against fixed; or the options of one that is free\n        already."),
    ),
    (
        f"{P}.inputs.moves",
        "# the choices of a word in the first half of a split; None: it is bought",
        "# a word's options in the first child of a split; None: it is paid for",
    ),
    (
        f"{P}.inputs.moves",
        "A batch of input sets: an anchor point each, and how far a linear form can fall from it.",
        ("A batch of input sets by their support functions: anchors, and least shifts of linear forms\n    from them."),
    ),
    (
        f"{P}.inputs.moves",
        "How far each word, if it is free, can move rows (..., length, dimension) down: (..., length).",
        (
            "The least shift of rows (..., length, dimension) by each word, if it is free: (..., length),\n"
            "    at most 0."
        ),
    ),
    (
        f"{P}.inputs.moves",
        "How far one word, if it is free, can move rows (r, dimension) down: (r,).",
        "The least shift of rows (r, dimension) by one word, if it is free: (r,), at most 0.",
    ),
    (
        f"{P}.inputs.moves",
        '"""row·v for every choice v of every word."""',
        '"""row·v for every option v of every word: (length, m)."""',
    ),
    (
        f"{P}.inputs.moves",
        "The half of a word's choices with the lower values, and what is allowed with these and with the others.",
        (
            "The half of a word's options with the lower values, and what is allowed with these and with\n"
            "    the others."
        ),
    ),
    (
        f"{P}.inputs.numbers",
        "0..count in slices whose items, `each` numbers large, fit a piece of work.",
        "0..count in slices whose items, of `item_numbers` numbers each, fit a chunk of work.",
    ),
    (
        f"{P}.inputs.numbers",
        "# numbers that a piece of work holds at once, so that memory is bounded and time looked at",
        "# numbers held at once: memory is bounded, time checked",
    ),
    (
        f"{P}.inputs.numbers",
        "The first of the words with the largest value, if that is large enough.",
        ("The first of the `eligible` words with the largest quantised value, if that is large\n    enough."),
    ),
    (
        f"{P}.inputs.restored",
        (
            "The perturbed text `start` with any words of `open` put back to the original, at a cost of at most `budget`.\n"
            "\n"
            "    Inputs are start + r (center - start) for r in [0, 1] per word with cost·r <= budget."
        ),
        (
            "A `perturbed` text with any `optional` words put back to the original, at a cost of at most\n"
            "    `budget` (n,).\n"
            "\n"
            "    Inputs are perturbed + r (center - perturbed) for r in [0, 1] per word with costs·r <= budget."
        ),
    ),
    (
        f"{P}.inputs.shared",
        (
            "Rows W and -W over the input that all sets of a batch share; what each word can take from them is kept.\n"
            "\n"
            "    Rows of a convolution see few words each: `slots` (rows, s) are the words that each of them sees, and everything is\n"
            "    worked out for those only."
        ),
        (
            "Rows W and -W over the input that all sets of a batch share; their shifts by each word are\n"
            "    kept.\n"
            "\n"
            "    Rows of a convolution see few words each: `seen_words` (rows, s) are the words that each of them\n"
            "    sees, and everything is worked out for those only."
        ),
    ),
    (
        f"{P}.inputs.shared",
        "How far each word alone can move each row down: (r, s).",
        "The least shift of each row by each word alone: (r, s), at most 0.",
    ),
    (
        f"{P}.inputs.shared",
        "The same for shared rows and choices that differ from set to set: (n, r, length).",
        ("Least shifts of shared rows by word, with allowed options that differ from set to set: (n, r,\n    s)."),
    ),
    (
        f"{P}.inputs.shared",
        "What each row's words have of something that is known by word (..., length): (..., 1 or r, s).",
        ("Values by word (..., length) gathered at the words that each row sees: (..., 1 or r,\n        s)."),
    ),
    (
        f"{P}.inputs.shared",
        "For each word, which of the words that they see it is to the rows that see it.",
        "For each word, its slot in each of the rows that see it.",
    ),
    (f"{P}.attack", "# small steps of an attack", "# steps of projected gradient descent"),
    (
        f"{P}.attack",
        "# how far they go at first and in the end, as a share of what a number can move",
        "# step sizes, as a fraction of a number's range",
    ),
    (
        f"{P}.attack",
        "What the first step sums up (n, units); of large sparse weights only what words that moved add is worked out.",
        (
            "Pre-activations (n, units) of the first step; with sparse weights only what changed words add\n"
            "    is worked out."
        ),
    ),
    (
        f"{P}.attack",
        "The lowest point of a linear view of the margin: the best corners of the free words that may change at once.",
        (
            "A full Frank-Wolfe step: the vertex that minimises the linearised margin, with as many\n"
            "    changes as may be."
        ),
    ),
    (
        f"{P}.attack",
        "Of the free words (n, length), as many as may change at once, those with the lowest gains.",
        ("Of the free words (n, length), as many as may change at once, those that lower the margin\n    most."),
    ),
    (
        f"{P}.attack",
        "Corner steps from `start`, a few rounds, until every row has flipped (or all the way, for the `deepest`).",
        ("Vertex steps from `start`, a few rounds, until every row has flipped, or all rounds if\n    `to_the_end`."),
    ),
    (
        f"{P}.attack",
        "Whether points between corners can be attacks, and numbers move on their own.",
        "Whether numbers move on their own, so that points between vertices can be attacks.",
    ),
    (
        f"{P}.attack",
        (
            "Small steps from `start`, which get to where corners are no good: between them, until one row has flipped.\n"
            "\n"
            "    Where the margin is a sum of relus or maxima of which many pull upwards, its lowest points are seldom corners."
        ),
        (
            "Projected gradient steps (Adam) from `start`, until one row has flipped.\n"
            "\n"
            "    Where the margin is a sum of relus or maxima with positive weights, its lowest points are seldom\n"
            "    vertices."
        ),
    ),
    (
        f"{P}.attack",
        "What attacks on one problem share: how far each word can push the margin against each rival.",
        (
            "What attacks on one problem share: margins and best vertices at the text itself, for each\n"
            "    rival.\n"
            "\n"
            "    `word_effects` (rivals, length), at most 0, is how far each word lowers the linearised\n"
            "    margin."
        ),
    ),
    (
        f"{P}.attack",
        "The rivals (n, rivals) in the order in which a linear view of the margin lets them win.",
        "The rivals (n, rivals) by their lowest linearised margin, lowest first.",
    ),
    (
        f"{P}.attack",
        "Several attacks (n, length, dimension) on one set of free words, as deep as they get; some may not flip.",
        (
            "Several attacks (n, length, dimension) on one set of free words, each run to its end;\n"
            "        some may not flip."
        ),
    ),
    (f"{P}.attack", '"""Directions in which attacks begin."""', '"""Random directions in which attacks begin."""'),
    (
        f"{P}.attack",
        "The best of several turns at the same rows, which stand turn after turn.",
        "The best of several restarts for the same rows, which stand restart after restart.",
    ),
    (
        f"{P}.program",
        "The dual of the program, and the minimiser (with its shares of corners for a hull).",
        (
            "The program's dual, and its minimiser (for a hull with the weights of corners); None where it\n"
            "    has none."
        ),
    ),
    (
        f"{P}.program",
        "What steps give as rows over y (`matrix`, `offset`), and the constraints of splits and open maxima on the way.",
        (
            "Steps as rows over y (`matrix`, `offset`), and the constraints of splits and undecided maxima\n"
            "    on the way."
        ),
    ),
    (
        f"{P}.program",
        "The maximum stands at its first unit; the slopes of a settled one mark its winner.",
        "The maximum stands at its first unit; the slopes of a decided one mark its winner.",
    ),
    (
        f"{P}.program",
        "An open maximum is a number of its own, not below any of its candidates.",
        "An undecided maximum is a variable, not below any of its candidates.",
    ),
    (
        f"{P}.program",
        (
            "The margin and constraints (rows·y + constants >= 0) over y, the flattened input and one number per open maximum.\n"
            "\n"
            "    The first rows are the split units (`owners`, sign · z >= 0), the others say that a maximum is not below one of its\n"
            "    candidates (`candidates`)."
        ),
        (
            "The margin and constraints rows·y + constants >= 0 of a leaf over y, on which all is linear.\n"
            "\n"
            "    y is the flattened input and one number per undecided maximum. The first rows are of split units\n"
            "    (`split_units`, sign · z >= 0), the others say that a maximum is not below one of its\n"
            "    `candidates`."
        ),
    ),
    (
        f"{P}.program",
        "The variables of a leaf's linear program: input = base + matrix @ variables.",
        (
            "The input's variables in a leaf's linear program: input = offset + matrix @ variables.\n"
            "\n"
            "    `limit_rows` @ variables <= `limits`, `equality_rows` @ variables = `equality_values`."
        ),
    ),
    (
        f"{P}.program",
        "Shares of every allowed corner of every free word, summing to one per word.",
        "Convex weights of every allowed corner of every free word, summing to one per word.",
    ),
    (
        f"{P}.exact",
        "# times what a margin can be off by that it must be away from zero to count in other coordinates",
        "# times its error bound that a one-hot margin must be away from zero",
    ),
    (
        f"{P}.exact",
        (
            "`shares` give points of a hull as mixtures of corners, which then need not be representable. `aims`\n"
            "    are the rivals (by their place in `problem.rivals`) that count; all when None."
        ),
        (
            "`shares` give points of a hull as mixtures of corners, which then need not be\n"
            "    representable. `target_rivals` are the rivals (by their place in `problem.rivals`) that count;\n"
            "    all when None."
        ),
    ),
    (
        f"{P}.exact",
        "Which points (n,) are finite, in the region (unless they are `members` anyway) and change what they may.",
        (
            "Which points (n,) are finite, in the region (taken for granted if `in_region`) and change\n"
            "    what they may."
        ),
    ),
    (
        f"{P}.exact",
        "The place of the rival that leads most of those that reach the label for sure.",
        ("The place of the rival that leads most, among those whose error bound is below their lead;\n    else None."),
    ),
    (
        f"{P}.exact",
        (
            "The same for coordinates of choices, whose sums are the original's within what it can be off by.\n"
            "\n"
            "    Where that leaves it open, the input that a point stands for is run through the original network."
        ),
        (
            "The same in one-hot coordinates, whose sums are the original's within its error bound.\n"
            "\n"
            "    Where that leaves it open, the decoded input is run through the original network."
        ),
    ),
    (
        f"{P}.lean",
        "The form with the candidates that may win, and the first of each maximum; the form itself where these are all.",
        (
            "The prepared problem with the candidates that may win and the first of each maximum; itself\n"
            "    if these are all."
        ),
    ),
    (
        f"{P}.lean",
        "The form for questions whose inputs stay within a box (length, dimension), where fewer candidates may win.",
        ("The prepared problem for inputs within a box (length, dimension), where fewer candidates may\n    win."),
    ),
    (
        f"{P}.lean",
        "# of the units: where more are left, another form is not worth while",
        "# of the units: where more are left, a reduction does not pay",
    ),
    (
        f"{P}.lean",
        "Bounds of the first step's units over a box, widened well beyond rounding.",
        "Intervals of the first step's pre-activations over a box, widened well beyond rounding.",
    ),
    (
        f"{P}.lean",
        '"""The units of a step without the candidates that are settled."""',
        '"""The units of a step without dominated candidates."""',
    ),
    (
        f"{P}.lean",
        '"""A proof of a form as one about all units of the network."""',
        '"""A proof about the reduced problem as one about all units of the network."""',
    ),
    (
        f"{P}.few",
        '"""The form of the whole network over these words alone; the others have their own vectors."""',
        ('"""The prepared problem of the full network over these words alone; the others keep their\n    vectors."""'),
    ),
    (
        f"{P}.few",
        "The first step over the numbers of these words; what the others add is part of the bias.",
        ("The first step over the numbers of these words; what the others add is folded into the\n    bias."),
    ),
    (
        f"{P}.choices",
        (
            "The same problem in coordinates of choices, where that makes it a good deal smaller or maxima are decided word by\n"
            "    word; else the problem itself."
        ),
        (
            "The same problem in one-hot coordinates, where that makes it a good deal smaller or maxima\n"
            "    are decided by options; else the problem itself."
        ),
    ),
    (
        f"{P}.choices",
        '"""The same problem in coordinates of choices."""',
        '"""The same problem in one-hot coordinates of options."""',
    ),
    (
        f"{P}.choices",
        "One coordinate per choice; a choice that is the word itself is the origin.",
        "One coordinate per option; an option that is the word itself is the origin.",
    ),
    (
        f"{P}.choices",
        "What each choice of each word adds to each unit: (units, length, choices).",
        "What each option of each word adds to each unit: (units, length, options).",
    ),
    (
        f"{P}.choices",
        "Candidates that never win, or are the same constant as one before them; the first of a maximum always stays.",
        ("A mask (units,) of candidates that never win, or equal a constant one before them; first ones\n    stay."),
    ),
    (f"{P}.choices", "# --- sums of choices ---", "# --- sums of options ---"),
    (
        f"{P}.choices",
        "Bounds of what a first step sums up, for sets in which each word has some of its choices left.",
        ("Exact ranges of a first step's sums, for sets in which each word has some of its options\n    left."),
    ),
    (
        f"{P}.choices",
        "The least and the largest sums (n, units) for free words (n, length), choices (n, length, choices).",
        (
            "The least and the largest sums (n, units) for free words (n, length) and allowed options\n"
            "        (n, length, options)."
        ),
    ),
    (
        f"{P}.choices",
        "The least and the most that the choices of a code add to each unit; nothing where no choice is left.",
        (
            "The least and the most that a word's options add to each unit (bits of `option_set`);\n"
            "        zero if none is left."
        ),
    ),
    (f"{P}.choices", "# --- what is found, told of the original ---", "# --- postsolve ---"),
    (
        f"{P}.choices",
        "# choices of a word whose sets fit a whole number, next to the word's place",
        "# options of a word whose sets fit a whole number, next to the word's place",
    ),
    (
        f"{P}.choices",
        "# numbers that what choices add to units may take: beyond that the original takes less memory",
        "# numbers of contributions: beyond, the original takes less memory",
    ),
    (
        f"{P}.windows",
        (
            "What each way to fill each word adds to each unit, and what the maxima over the units are worth.\n"
            "\n"
            "    A *filling* is a word with one of its different vectors; the first one of each word is its own. `added` (fillings,\n"
            "    units) is what it adds, `word` its word, as a place of `words`, the positions that can move, and `choices` the\n"
            "    region's choices that it stands for. `weights` (rivals, maxima) and `constants` (rivals,) make margins of maxima,\n"
            "    which are at least `floor`; no margin counts that is closer to zero than `doubt` (rivals,). A text is a filling for\n"
            "    each word. Changed words cost no more than `limit` in all, by `costs` (length,)."
        ),
        (
            "What each option of each word adds to each unit, and what the maxima over the units are\n"
            "    worth.\n"
            "\n"
            "    An *option* is one of a word's distinct vectors; the first one of each word is its own.\n"
            "    `contributions` (options, units) is what it adds, `word_of_option` its word, as a place of\n"
            "    `positions`, which can move, and `region_options` the region's options that it stands for.\n"
            "    `weights` (rivals, maxima) and `constants` (rivals,) make margins of maxima, which are at least\n"
            "    `floor`; no margin counts that is closer to zero than `error` (rivals,). An *assignment* has an\n"
            "    option for each word. Changed words cost no more than `max_cost` in all, by `costs` (length,)."
        ),
    ),
    (
        f"{P}.windows",
        "For changes worth at most `limit`, by the costs of words (length,), that lift one of these rivals.",
        (
            "For changes worth at most `max_cost`, by the costs of words (length,), that lift one of\n"
            "        these rivals."
        ),
    ),
    (
        f"{P}.windows",
        '"""The text itself: the first filling of each word."""',
        '"""The text itself: the first option of each word."""',
    ),
    (
        f"{P}.windows",
        '"""Texts in coordinates: (n, length, choices)."""',
        '"""Assignments in one-hot coordinates: (n, length, options)."""',
    ),
    (f"{P}.windows", '"""The text of a point in coordinates."""', '"""The assignment of a one-hot point."""'),
    (
        f"{P}.windows",
        "The text with one word after the other changed, within allowed fillings, while the lowest margin falls.",
        ("Coordinate descent within allowed options: change a word at a time while the lowest\n        margin falls."),
    ),
    (
        f"{P}.windows",
        "Which fillings can be paid for beside the changes of a text.",
        "Which options can be paid for beside the changes of an assignment.",
    ),
    (
        f"{P}.windows",
        "The text with words put back while a rival stays ahead, always the one that leaves it furthest ahead.",
        (
            "The assignment with changes undone while a rival stays ahead, always the one that leaves\n"
            "        it furthest ahead."
        ),
    ),
    (
        f"{P}.windows",
        "A text that changes free words (length,) only and keeps no lead, if one is found.",
        (
            "An assignment that changes free words (length,) only and has a margin of at most zero, if\n"
            "        one is found."
        ),
    ),
    (
        f"{P}.windows",
        '"""The text as a counterexample, if it really is one."""',
        '"""The assignment as a counterexample, if it really is one."""',
    ),
    (
        f"{P}.windows",
        "What readers may lose (rivals,) because they take bounds that are close to each other as equal.",
        ("What checkers may lose (rivals,) because they take bounds that are close to each other as\n    equal."),
    ),
    (
        f"{P}.windows",
        "Where groups start among units that are left, whose groups these are; and which groups they are.",
        ("Of units that are left, given the group of each: where groups start, and which groups these\n    are."),
    ),
    (
        f"{P}.windows",
        "The choices of a word, those of equal vectors together, its own first.",
        "The region's options of a word, those of equal vectors together, its own first.",
    ),
    (f"{P}.wordwise", "# subproblems worked on together", "# subproblems of a batch"),
    (f"{P}.wordwise", "# bytes that those that wait may take in all", "# bytes that the frontier may take in all"),
    (
        f"{P}.wordwise",
        "# share of units that may still win below which the others are dropped",
        "# of units that may still win: at most, for others to be dropped",
    ),
    (
        f"{P}.wordwise",
        "# first chunks in which the most doubtful subproblem is attacked",
        "# first batches in which the subproblem with the lowest bound is attacked",
    ),
    (f"{P}.wordwise", "# --- what may be left of a word ---", "# --- domains: what may be left of a word ---"),
    (
        f"{P}.wordwise",
        (
            "The sets of fillings that halving leaves of each word, in one list.\n"
            "\n"
            "    `members` are the fillings of each, `halves` (codes, 2) the codes that it is cut into (-1: it is one filling),\n"
            "    `word` its word. The first codes are those of all fillings of each word, in order. Where words have to be paid for\n"
            "    these are `open`: they are cut into all fillings, which are `paid` like all that these are cut into, and the own."
        ),
        (
            "The sets of options that halving leaves of each word, in one list; a domain is a place in it.\n"
            "\n"
            "    `options` are those of each domain, `children` (domains, 2) the domains that it is split into\n"
            "    (-1: it is one option), `word_of_domain` its word. The first domains are all options of each\n"
            "    word, in order. Where changes cost, these are `optional`: they are split into all options, which\n"
            "    are `paid` like all below, and the word's own."
        ),
    ),
    (
        f"{P}.wordwise",
        "Of each word's fillings, in the order in which they are halved; with the own ones, where changes cost.",
        (
            "Of each word's options, in the order in which they are halved; with the words' own, where\n"
            "        changes cost."
        ),
    ),
    (
        f"{P}.wordwise",
        "Which fillings (codes, fillings) are members.",
        "Which options each domain has: (domains, options).",
    ),
    (
        f"{P}.wordwise",
        (
            "Of each unit (units, some) the words that move it one way, most for what they cost first, how far, and for what.\n"
            "\n"
            "    Words that do not move it are among them, if others have more."
        ),
        (
            "For each unit, the words that move it one way, best gain for cost first: (units, words) of\n"
            "    words, gains, costs.\n"
            "\n"
            "    Rows are as long as the longest; words that do not move the unit fill them up."
        ),
    ),
    (
        f"{P}.wordwise",
        "The least sums of gains (n, units) of words (n, words) that what is left (n,) buys, the last one in part.",
        (
            "The fractional knapsack's value (n, units) over affordable words (n, words) with\n"
            "        `budget_left` (n,)."
        ),
    ),
    (
        f"{P}.wordwise",
        "What is bought of each word, in order (..., words), where those before it are paid for first.",
        ("The fraction taken of each word, in order (..., words), where those before it are paid for\n    first."),
    ),
    (
        f"{P}.wordwise",
        (
            "Where words have to be paid for: which codes are open, what codes have spent, what words cost, and the limit.\n"
            "\n"
            "    `falls` and `rises` say how far open words can move units; a rise is a fall of what is subtracted."
        ),
        (
            "Where changes cost: which domains are optional, what domains have spent, what words cost, and\n"
            "    the limit.\n"
            "\n"
            "    `decreases` and `increases` say how far optional words can move units; increases are negated."
        ),
    ),
    (
        f"{P}.wordwise",
        (
            "The units that may still win in a chunk: what is left of words makes of them at least and at most.\n"
            "\n"
            "    `low` and `high` (codes, units) are the least and the most that a code adds, `moves` (units, words) how far each\n"
            "    word can move each unit, times the weight of its maximum. `signs` (2, maxima) are the weights above and below zero.\n"
            "    `base` (units,) are the sums of the text itself, to which fillings add `added` (units, fillings). Codes that are\n"
            "    open add nothing: what they may is in the purse."
        ),
        (
            "The units that may still win in a batch, and the least and the most that domains add to them.\n"
            "\n"
            "    `domain_lower` and `domain_upper` (domains, units) are these ends, `word_effects` (units, words)\n"
            "    how far each word can move each unit, times the weight of its maximum. `signed_weights` (2,\n"
            "    maxima) are the weights above and below zero. `base` (units,) are the sums of the text itself,\n"
            "    to which options add `contributions` (units, options). Optional domains add nothing: what they\n"
            "    may is in `budget`."
        ),
    ),
    (
        f"{P}.wordwise",
        '"""The view with these units only, and the maxima that have some of them."""',
        '"""The model with these units only, and the maxima that have some of them."""',
    ),
    (
        f"{P}.wordwise",
        (
            "Subproblems: their place in the tree, what is left of their words, bounds of units, and what is settled.\n"
            "\n"
            "    `low` and `high` (n, units) are without what may still be bought. `floor` (n, maxima) is what each maximum is at\n"
            "    least, `constant` (n,) what the settled maxima add to the margin."
        ),
        (
            "Subproblems: their `ids` in the tree, the `domains` (n, words) of their words, bounds of\n"
            "    units.\n"
            "\n"
            "    `lower` and `upper` (n, units) are without what may still be paid for. `floor` (n, maxima) is\n"
            "    what each maximum is at least, `constant` (n,) what decided maxima add to the margin."
        ),
    ),
    (
        f"{P}.wordwise",
        '"""The words (n, words) that may still be bought."""',
        '"""The words (n, words) that may still be paid for."""',
    ),
    (
        f"{P}.wordwise",
        '"""What may still be spent (n,)."""',
        '"""The rest of the budget (n,), infinite where changes are free."""',
    ),
    (
        f"{P}.wordwise",
        (
            "What fillings add (n, fillings), and constants (n,), to lines that the margin is nowhere below.\n"
            "\n"
            "        They are those that a reader takes where nothing is chosen, or others that are lower everywhere."
        ),
        (
            "Linear lower bounds of the margin: what options add (n, options), and constants (n,).\n"
            "\n"
            "        They are those that a checker takes where nothing is chosen, or others that are lower\n"
            "        everywhere."
        ),
    ),
    (
        f"{P}.wordwise",
        "Without the units that win in none of the subproblems, if they are many.",
        "Without the units that can win in none of the subproblems, if these are many.",
    ),
    (
        f"{P}.wordwise",
        "How much each word (n, words) has to do with units of which it is open whether they win.",
        ("Branching scores (n, words): effects on units of which it is undecided whether they\n        win."),
    ),
    (
        f"{P}.wordwise",
        "What chunks take, many of which share a view.",
        "The bytes of batches, many of which share a model.",
    ),
    (
        f"{P}.wordwise",
        '"""One question against one rival."""',
        '"""The branch and bound of one query against one rival."""',
    ),
    (f"{P}.wordwise", "# the fillings of free words", "# the options of free words"),
    (
        f"{P}.wordwise",
        "# of each subproblem the code that it was cut at",
        "# of each subproblem the domain that it was split at",
    ),
    (
        f"{P}.wordwise",
        "# and the first of its two parts, which stand side by side",
        "# and the first of its two children, side by side",
    ),
    (
        f"{P}.wordwise",
        "# as readers count: with words that cannot move",
        "# as checkers count: with words that cannot move",
    ),
    (
        f"{P}.wordwise",
        "The fillings of a word, those first that lower the margin most while all units count alike.",
        ("The options of a word, those first that lower the margin most while all units count\n        alike."),
    ),
    (
        f"{P}.wordwise",
        '"""The subproblem of all fillings."""',
        '"""The batch of the root alone, which has all options."""',
    ),
    (
        f"{P}.wordwise",
        "The least, or the most, (codes, units) that the fillings of each code add.",
        "The least, or the most, (domains, units) that the options of each domain add.",
    ),
    (
        f"{P}.wordwise",
        "What may be spent, and on what, when fillings of words add at least `low` and at most `high` to units.",
        ("The budget of the root, where words add at least `lower` and at most `upper` (words,\n        units)."),
    ),
    (
        f"{P}.wordwise",
        '"""An answer, or the parts of what is not closed."""',
        '"""An answer, or the children of what is not closed."""',
    ),
    (
        f"{P}.wordwise",
        '"""The words (n, words) that can be cut."""',
        '"""The words (n, words) whose domains can be split."""',
    ),
    (
        f"{P}.wordwise",
        "Bounds (n,) by lines, for which a word has one filling for all units.",
        "Bounds (n,) by lines, for which a word has one option for all units.",
    ),
    (
        f"{P}.wordwise",
        '"""A counterexample within the most doubtful subproblem."""',
        (
            '"""A counterexample within the subproblem with the lowest bound, if coordinate descent finds\n'
            '        one."""'
        ),
    ),
    (
        f"{P}.wordwise",
        "Both sides of each subproblem, cut at the word that matters most: all first ones, then all second ones.",
        (
            "The children of each subproblem, split at the word with the best score: all first ones,\n"
            "        then all second ones."
        ),
    ),
    (
        f"{P}.wordwise",
        "What is left of a word in each code, as a share of how many fillings it can lose.",
        (
            "Of each domain, the options that it can still lose as a fraction of those that its word\n"
            "        could lose."
        ),
    ),
    (
        f"{P}.wordwise",
        "The proof, from its leaves up: parts come after what they are parts of.",
        "The proof, from its leaves up: children come after their parents.",
    ),
    (
        f"{P}.wordwise",
        "The choices on the first side of a cut; None where the word is bought there.",
        ("The region's options in the first child of a split; None where the word is paid for\n        there."),
    ),
    (
        f"{P}.runs",
        "# inputs run for one subproblem: the certificate has a line for each",
        "# inputs run for one subproblem: a certificate has a line for each",
    ),
    (
        f"{P}.runs",
        "# passes of bounds that a run may take as long as",
        "# backward passes that running all inputs may cost as much as",
    ),
    (
        f"{P}.runs",
        (
            "An undecided word: the vectors it may take, with the choices that each stands for, and what a change costs.\n"
            "\n"
            "    A word with a price stays at its first vector unless it is paid for, and takes one of the others then."
        ),
        (
            "An undecided word: its vectors, the region's options that each stands for, and what a change\n"
            "    costs.\n"
            "\n"
            "    A word with a cost stays at its first vector unless it is paid for, and takes one of the others\n"
            "    then."
        ),
    ),
    (
        f"{P}.runs",
        '"""Every input of a set that has few."""',
        '"""All inputs of a set that has few, their margins and the proof tree over them."""',
    ),
    (
        f"{P}.runs",
        "How far a margin in doubles can be from the real one, with room to spare.",
        "How far a margin in doubles can be from the real one, with a factor to spare.",
    ),
    (
        f"{P}.runs",
        "The inputs of a single set, where they are finitely many and few enough to be run.",
        ("The enumeration of a single set, where its inputs are finitely many and few enough; else\n    None."),
    ),
    (f"{P}.runs", "# --- sets taken apart ---", "# --- the inputs of a set ---"),
    (
        f"{P}.runs",
        "Whether the budget says all: a limit on how many words change that costs do not know is not counted here.",
        ("Whether the budget alone decides: a limit on changes that costs do not express is not counted\n    here."),
    ),
    (
        f"{P}.runs",
        "Free words take one of their choices; with prices, others may be paid for first.",
        "Free words take one of their options; with costs, others may be paid for first.",
    ),
    (
        f"{P}.runs",
        "The different ones of the points that are left, each with the choices that are the same.",
        "The distinct vectors among the options that are left, each with the options equal to it.",
    ),
    (
        f"{P}.runs",
        "Picks of the word's choices, half of them at a time, until one is left; nothing to pick where it is restored.",
        (
            "Picks of the word's options, half of them at a time, until one is left; nothing to pick where\n"
            "    it is restored."
        ),
    ),
    (
        f"{P}.oracles",
        "Our bounds in coordinates of choices; what they find is told of the original problem.",
        "Our bounds in one-hot coordinates, with postsolve of what they find.",
    ),
    (
        f"{P}.oracles",
        '"""Our bounds, in whichever coordinates they are quickest."""',
        '"""Our bounds, in one-hot coordinates where these are quicker."""',
    ),
    (
        f"{P}.oracles.bounds",
        "# attacks on a set where lines around maxima take long to tell, and on likely explanations",
        "# attacks on a set where bounds of maxima are slow, and on likely explanations",
    ),
    (f"{P}.oracles.bounds", "# of them, from which small steps go on", "# of them, from which PGD goes on"),
    (
        f"{P}.oracles.bounds",
        "# subproblems, where a subproblem takes one pass",
        "# subproblems of a cheap answer in one-hot coordinates",
    ),
    (
        f"{P}.oracles.bounds",
        "# the last ones by free words: complete among windows, else flips",
        "# the last ones by free words: all with `max_of_sums`, else flips alone",
    ),
    (
        f"{P}.oracles.bounds",
        "# sets of free words that a cheap look left open",
        "# free words that a cheap answer left open",
    ),
    (
        f"{P}.oracles.bounds",
        "# those that a complete look left open, and its subproblems",
        "# the limit on subproblems that left them open",
    ),
    (
        f"{P}.oracles.bounds",
        "Whether bounds are of maxima over sets of vectors: then these take far longer than attacks.",
        "Whether there are maxima over vectors, whose bounds take far longer than attacks.",
    ),
    (
        f"{P}.oracles.bounds",
        "A flip, where bounds take long and nobody has attacked this set in vain.",
        ("A flip by deep attacks, where bounds are slow and this set was not attacked in vain\n        before."),
    ),
    (
        f"{P}.oracles.bounds",
        "Sets are asked about again by preferences; proofs are left to those who ask, as they may be large.",
        (
            "Keep what helps if the set is asked about again; proofs are left to those who ask, as\n"
            "        they may be large."
        ),
    ),
    (
        f"{P}.oracles.bounds",
        "Whether no complete look with as many subproblems has left it open before.",
        "Whether no complete search with as many subproblems has left it open before.",
    ),
    (
        f"{P}.oracles.bounds",
        "In coordinates of choices: attacks, then at once the complete answer, question by question.",
        ("In one-hot coordinates: attacks, then at once the complete answer, question by\n        question."),
    ),
    (
        f"{P}.oracles.bounds",
        "A short counterexample, if one attack from the text itself finds one among windows.",
        "A short counterexample, if one coordinate descent from the text itself finds one.",
    ),
    (
        f"{P}.oracles.bounds",
        "Among windows a limit on how many words change must be one of cost too.",
        "With `max_of_sums` a limit on how many words change must be one of cost too.",
    ),
    (
        f"{P}.oracles.bounds",
        "The hidden bounds of a batch of free sets, for those who build on them (MILP, benchmarks).",
        ("Intermediate bounds of a batch of free sets, for those who build on them (MILP,\n    benchmarks)."),
    ),
    (
        f"{P}.oracles.milp",
        "# a margin below this share of the margin's weights is too small to tell from zero",
        "# fraction of the margin's weights that is too small to tell from zero",
    ),
    (
        f"{P}.oracles.milp",
        "A share for each corner of each free word, one in sum; whole shares where words must be real.",
        "A weight for each corner of each free word, one in sum; integral where words must be real.",
    ),
    (
        f"{P}.oracles.milp",
        "The corners (length, m) that have a share: those of free words, none of them twice.",
        "The corners (length, m) that have a weight: those of free words, none of them twice.",
    ),
    (
        f"{P}.oracles.milp",
        "The input that a solution stands for, pulled into the region; with its shares for a hull.",
        ("The input that a solution stands for, pulled into the region; with the weights of corners for\n    a hull."),
    ),
    (
        f"{P}.branch.questions",
        "Can changing words worth at most `limit` lift one of the rivals to the label?",
        ("Can changing words worth at most `max_cost` lift one of the rivals to the\n    label?"),
    ),
    (
        f"{P}.branch.roots",
        "# shares of tilted lines from which on bounds of later steps' units are narrowed too",
        "# shares of planes, from which on later steps' bounds are refined",
    ),
    (
        f"{P}.branch.roots",
        "# with lines above, from which on splits on single ones are too many",
        "# with upper planes, from which on single splits are too many",
    ),
    (
        f"{P}.branch.roots",
        "# of candidates, up to which it pays to look at several maxima at once",
        "# of candidates, up to which joint reasoning pays",
    ),
    (
        f"{P}.branch.roots",
        "A root is closed, its question answered, or left as it was.",
        "Close the root, answer its query, or leave it as it was.",
    ),
    (
        f"{P}.branch.roots",
        "# of the time: others are asked about as well, and splits follow",
        "# of the time left: other roots and splits follow",
    ),
    (
        f"{P}.branch.rounds",
        "# subproblems of one question in a round, so that a hard one does not starve the others",
        "# subproblems of one query in a round, so that none starves",
    ),
    (
        f"{P}.branch.rounds",
        "# times as many subproblems tell whether there is hope, if each doubling gains that much more",
        "# of counts, and of the gain per doubling",
    ),
    (
        f"{P}.branch.rounds",
        "The parts of a subproblem, split on up to `depth` units at once.",
        "The children of a subproblem, split on up to `depth` units at once.",
    ),
    (f"{P}.branch.rounds", "The answers to the questions of a run.", "The answers to the queries of a run."),
    (
        f"{P}.branch.rounds",
        "The subproblems to split next: the lowest bounds of every undecided question within its budget.",
        ("The subproblems to split next: the lowest bounds of every undecided query within its\n    limit."),
    ),
    (
        f"{P}.branch.run",
        "# multiplications per round: it should take a fraction of a second, as time is looked at in between",
        "# per batch: a fraction of a second, as time is checked in between",
    ),
    (
        f"{P}.branch.run",
        "# of lines above maxima that are worked on together: more take longer and far more memory",
        "# of planes of maxima in a batch: more take far more memory",
    ),
    (f"{P}.branch.run", "# by question", "# by query"),
    (
        f"{P}.branch.settle",
        "# subproblems at zero that a question may have before it is given up: another may hold a flip",
        "# leaves at zero before a query is given up: another may hold a flip",
    ),
    (
        f"{P}.branch.settle",
        "# of inputs that were all run, those that may answer the question",
        "# of enumerated inputs, those of lowest margin that are tested",
    ),
    (
        f"{P}.branch.settle",
        "Where few inputs are left, run all of them: the part is closed, or its question answered.",
        ("Where few inputs are left, run all of them: the subproblem is closed, or its query\n    answered."),
    ),
    (f"{P}.branch.split", "# its parts stand for it now", "# its children stand for it now"),
    (
        f"{P}.branch.subproblem",
        (
            "# Says of points where bounds are attained, (n, length, dimension), one for each set, and of their margins against the\n"
            "# rival asked about, which of them answer their question."
        ),
        (
            "# Of one point (n, length, dimension) for each input set, where its bound is attained, and of its margin against\n"
            "# the query's rival: the answers that these points give, None for the others."
        ),
    ),
    (
        f"{P}.branch.subproblem",
        "A part of one question against one rival, on its way to being closed or split.",
        "A part of one query against one rival, on its way to being closed or split.",
    ),
    (
        f"{P}.branch.subproblem",
        "# bounds of the first steps, as far as they are known, before splits cut them",
        "# intervals of the first steps, as far as known, before clamping at splits",
    ),
    (
        f"{P}.branch.together",
        "The bounds of a step: the same for all parts of an input set that are split alike in the steps before it.",
        (
            "The intervals of a step: the same for all subproblems of an input set with equal splits in\n"
            "    the steps before."
        ),
    ),
    (
        f"{P}.branch.units",
        "The places of chosen subproblems, those with the same words free, or of one question, together.",
        ("The places of chosen subproblems, those with the same words free, or of one query,\n    together."),
    ),
    (
        f"{P}.inputs",
        "The set split on a word: what the first half has of it, and both halves.",
        "The set split on a word: the options of the first child, and both children.",
    ),
    (
        f"{P}.few",
        "Whether so few of the words are free that the question is far smaller without the others.",
        "Whether so few words are free that the query is far smaller without the others.",
    ),
    (
        f"{P}.few",
        "# weights of a first step below which the whole is quick enough",
        "# weights of a first step above which a restriction pays",
    ),
    (
        f"{P}.choices",
        "# weights of a first step below which the original is quick enough as it is",
        "# weights of a first step from which on one-hot coordinates pay",
    ),
    (
        f"{P}.windows",
        "Maxima over sums of choices, then scores.",
        "Whether the problem is one of maxima over sums of options, then scores.",
    ),
    (
        f"{P}.windows",
        "# counterexamples known from elsewhere that an attack starts from",
        "# known counterexamples that an attack starts from",
    ),
    (
        f"{P}.windows",
        "# times what readers take off for rounding that a bound must be above zero",
        "# times the checker's rounding error that a bound must exceed",
    ),
    (f"{P}.runs", "# --- parts of trees and runs ---", "# --- subtrees, and what vectors add ---"),
    (f"{P}.attack", "# the same for every question about texts of one shape", "# the same for all texts of one shape"),
    (
        f"{P}.oracles.bounds",
        "# random starts of attacks on a set that is asked about completely at once",
        "# random starts of attacks before a complete search",
    ),
    (f"{P}.program", "# rounds of tangent planes around a 2-norm ball", "# rounds of tangents of a 2-norm ball"),
    (f"{P}.branch.climbing", "# and after that", "# after that, where planes are inherited"),
    (f"{P}.branch.climbing", "# where that is not enough", "# where that has not converged"),
    (
        f"{P}.branch.climbing",
        "# points that small steps lead away from, and how many",
        "# minimisers that PGD starts from, and its steps",
    ),
]
