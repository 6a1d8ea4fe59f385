"""Rename spec of the bounds, planes and joint reasoning over maxima (keys in old paths and names)."""

SYMBOLS = {
    "suffice.prove.bounds.ascent.Ascent": "ProjectedAdam",
    "suffice.prove.bounds.ascent.optimise": "dual_ascent",
    "suffice.prove.bounds.ascent._better_maxima": "_ascend_max_choices",
    "suffice.prove.bounds.attained.Relaxed": "PrimalPoint",
    "suffice.prove.bounds.attained.forward": "relaxed_forward",
    "suffice.prove.bounds.attained.losses": "branching_scores",
    "suffice.prove.bounds.backward.hidden": "intermediate_bounds",
    "suffice.prove.bounds.backward._cut": "_clamped_at_splits",
    "suffice.prove.bounds.backward._first_rows": "_first_step_rows",
    "suffice.prove.bounds.backward._later_rows": "_later_step_rows",
    "suffice.prove.bounds.backward._backward": "_carried_back",
    "suffice.prove.bounds.backward.times": "times_weight",
    "suffice.prove.bounds.dual.Slopes": "RelaxationLines",
    "suffice.prove.bounds.dual.plain": "initial_dual",
    "suffice.prove.bounds.dual.settled": "canonical_dual",
    "suffice.prove.bounds.dual.pools": "steps_with_maxima",
    "suffice.prove.bounds.form.Form": "PreparedProblem",
    "suffice.prove.bounds.form.form_of_source": "prepared_original",
    "suffice.prove.bounds.form._in_coordinates": "_prepared_reduction",
    "suffice.prove.bounds.form.tolls": "error_magnitudes",
    "suffice.prove.bounds.form._unsettled": "_undecided",
    "suffice.prove.bounds.form._split": "_chunks",
    "suffice.prove.bounds.form._stored": "_nonzeros",
    "suffice.prove.bounds.form.ROUND": "UNIT_ROUNDOFF",
    "suffice.prove.bounds.form.PASSES": "SUBPROBLEM_PASSES",
    "suffice.prove.bounds.form.POOLED": "SUBPROBLEM_PASSES_WITH_MAXIMA",
    "suffice.prove.bounds.form.PIECE_WORK": "CHUNK_WORK",
    "suffice.prove.bounds.lines.LEAN": "TIE_RATIO",
    "suffice.prove.bounds.lines.NEAR": "ZERO_TOLERANCE",
    "suffice.prove.bounds.lines.Hidden": "IntermediateBounds",
    "suffice.prove.bounds.lines.draw": "relax_step",
    "suffice.prove.bounds.lines._relax": "_relax_relus",
    "suffice.prove.bounds.magnitudes.LARGE": "OVERFLOW_LIMIT",
    "suffice.prove.bounds.magnitudes.TINY": "UNDERFLOW_CUSHION",
    "suffice.prove.bounds.magnitudes.outer_sides": "enclosing_box",
    "suffice.prove.bounds.margin.MarginRows": "SpecRows",
    "suffice.prove.bounds.margin.Items": "BoundBatch",
    "suffice.prove.bounds.margin.Pass": "BackwardPass",
    "suffice.prove.bounds.margin.margin_bound": "backward_bound",
    "suffice.prove.bounds.margin._through_lines": "_through_relaxation",
    "suffice.prove.bounds.margin._with_tilted": "_with_planes",
    "suffice.prove.bounds.margin.lines_above": "written_planes",
    "suffice.prove.bounds.margin._tilted": "_take_planes",
    "suffice.prove.bounds.margin._without": "_left_to_lines",
    "suffice.prove.bounds.margin.taking": "replaced_units",
    "suffice.prove.bounds.margin._dots": "_row_dots",
    "suffice.prove.tilts.MOST": "MAX_SHARES",
    "suffice.prove.tilts.PACE": "SHARE_RATE",
    "suffice.prove.tilts.FINE": "SHARE_DENOMINATOR",
    "suffice.prove.tilts.Range": "PlaneOffsets",
    "suffice.prove.tilts.Tilts": "ReluPlanes",
    "suffice.prove.tilts._square": "_is_box",
    "suffice.prove.tilts.Moving": "ReluOffsetsOverProduct",
    "suffice.prove.tilts.Returning": "ReluOffsetsOverRestorations",
    "suffice.prove.tilts.Tilted": "PlanesTaken",
    "suffice.prove.tilts.Drift": "PlaneMomentum",
    "suffice.prove.tilts.rounded": "quantised_shares",
    "suffice.prove.peaks.CELLS": "MAX_DENSE_WEIGHTS",
    "suffice.prove.peaks.Peaks": "MaxPlanes",
    "suffice.prove.peaks.Roaming": "MaxOffsetsOverBox",
    "suffice.prove.peaks.Going": "MaxOffsetsOverRestorations",
    "suffice.prove.peaks._ends": "_weight_ends",
    "suffice.prove.peaks.seen": "supports",
    "suffice.prove.climb.QUICK": "WEIGHT_RATE_RATIO",
    "suffice.prove.climb.FLAT": "CANDIDATE_TEMPERATURE_RATIO",
    "suffice.prove.climb.PART": "ROW_SCALE_DIVISOR",
    "suffice.prove.climb.DECAY": "ADAM_DECAY",
    "suffice.prove.climb.SPREAD": "ADAM_SQUARE_DECAY",
    "suffice.prove.climb.FRESH": "EARLY_MIN_WEIGHT",
    "suffice.prove.climb.LOWEST": "MIN_LOG_WEIGHT",
    "suffice.prove.climb.SURE": "GOAL_FRACTION",
    "suffice.prove.climb.TINY": "EPSILON",
    "suffice.prove.climb.CLOSE": "NEAR_WINNER_FRACTION",
    "suffice.prove.climb.FINE": "ROW_SHARE_DENOMINATOR",
    "suffice.prove.climb.Pace": "Annealing",
    "suffice.prove.climb.held": "clamp_",
    "suffice.prove.climb.single": "as_single",
    "suffice.prove.climb.Side": "LinearPieces",
    "suffice.prove.climb.Land": "PlaneProblem",
    "suffice.prove.climb.Ground": "NormalisedRegion",
    "suffice.prove.climb.Start": "AscentStart",
    "suffice.prove.climb.Summit": "AscentResult",
    "suffice.prove.climb.View": "DualValue",
    "suffice.prove.climb.Seen": "HasBound",
    "suffice.prove.climb.Sight": "ValueT",
    "suffice.prove.climb.Climbing": "SmoothedAscent",
    "suffice.prove.climb.highest": "ascend",
    "suffice.prove.climb.Climb": "PlaneAscent",
    "suffice.prove.climb.Steps": "Adam",
    "suffice.prove.climb.risen": "raised_log_weights",
    "suffice.prove.climb.with_settled": "with_decided_rows",
    "suffice.prove.climb._scale": "_row_scale",
    "suffice.prove.climb.Climbed": "PlaneAscentBounds",
    "suffice.prove.climb.climbed": "ascend_planes",
    "suffice.prove.climb.started": "ascent_start",
    "suffice.prove.climb._close": "_near_winners",
    "suffice.prove.climb.with_shares": "with_lower_weights",
    "suffice.prove.climb._loss": "_branching_scores",
    "suffice.prove.climb_back.PART": "ROW_SCALE_FACTOR",
    "suffice.prove.climb_back.DEAR": "MULTIPLIER_RATE_FACTOR",
    "suffice.prove.climb_back.HALF": "UNIT_RADIUS",
    "suffice.prove.climb_back.Way": "NormalisedRestorations",
    "suffice.prove.climb_back._side": "_linear_pieces",
    "suffice.prove.climb_back.Parts": "RestorationStart",
    "suffice.prove.climb_back.ClimbBack": "RestorationAscent",
    "suffice.prove.climb_back.ClimbedBack": "RestorationAscentBounds",
    "suffice.prove.climb_back.climbed_back": "ascend_restoration_planes",
    "suffice.prove.climb_back._started": "_restoration_start",
    "suffice.prove.maxima.ROUND": "UNIT_ROUNDOFF",
    "suffice.prove.maxima.LEAN": "TIE_TOLERANCE",
    "suffice.prove.maxima.narrowed": "contending_candidates",
    "suffice.prove.maxima.start": "initial_choice",
    "suffice.prove.maxima.settled": "canonical_choice",
    "suffice.prove.maxima.shares": "lower_weights",
    "suffice.prove.maxima.level": "threshold",
    "suffice.prove.maxima.slope_of_level": "threshold_gradient",
    "suffice.prove.tangents.GRID": "GRID_CELLS",
    "suffice.prove.tangents.SLOPES": "SLOPE_STRIDE",
    "suffice.prove.tangents._keep": "_improve",
    "suffice.prove.narrow.STEPS": "REFINE_ITERATIONS",
    "suffice.prove.narrow.Narrow": "RefinedBounds",
    "suffice.prove.narrow.worth_it": "refinable",
    "suffice.prove.narrow.narrowed": "refined_bounds",
    "suffice.prove.narrow.bounds_with": "intermediate_with",
    "suffice.prove.narrow._taking_lines_above": "_units_by_gap",
    "suffice.prove.narrow._with_unit": "_refine_unit",
    "suffice.prove.narrow._bounded": "_prove_bound",
    "suffice.prove.narrow._before": "_truncated",
    "suffice.prove.narrow._row": "_weight_row",
    "suffice.prove.narrow._first": "_first_units",
    "suffice.prove.narrow._tilts": "_first_step_planes",
    "suffice.prove.bundles.PIECE": "TUPLE_CHUNK",
    "suffice.prove.bundles.ROUNDING": "SINGLE_ROUNDOFF",
    "suffice.prove.bundles.MOST_NEAR": "ACTIVE_SET_FACTOR",
    "suffice.prove.bundles.MOSTLY": "KEEP_ALL_FRACTION",
    "suffice.prove.bundles.LEAST_SHARE": "MIN_LOWER_WEIGHT",
    "suffice.prove.bundles.Bundle": "TupleGroup",
    "suffice.prove.bundles._sizes": "_l1_distances",
    "suffice.prove.bundles.Sieve": "TupleState",
    "suffice.prove.bundles.Match": "Join",
    "suffice.prove.bundles.matches": "best_joins",
    "suffice.prove.bundles._fitting": "_compatible_counts",
    "suffice.prove.bundles.joined": "apply_joins",
    "suffice.prove.bundles._pair": "_join",
    "suffice.prove.bundles._gains": "_join_gains",
    "suffice.prove.bundles.Guess": "PrimalGuess",
    "suffice.prove.bundles.higher": "ascend_group_planes",
    "suffice.prove.bundles._nearer": "_with_active_set",
    "suffice.prove.bundles._land": "_plane_problem",
    "suffice.prove.bundles._start": "_ascent_start",
    "suffice.prove.sieve.PAIRS": "PAIRS_ANNEALING",
    "suffice.prove.sieve.FOURS": "FOURS_ANNEALING",
    "suffice.prove.sieve.ON": "FURTHER_ANNEALING",
    "suffice.prove.sieve.FEW": "PAIR_JOIN_SAMPLE",
    "suffice.prove.sieve.SOME": "ACTIVE_TUPLES",
    "suffice.prove.sieve.MANY": "FIRST_ACTIVE_TUPLES",
    "suffice.prove.sieve.LITTLE": "MIN_START_WEIGHT",
    "suffice.prove.sieve.JOINED": "FURTHER_JOIN_TUPLES",
    "suffice.prove.sieve.WORST": "SPLIT_GROUPS",
    "suffice.prove.sieve.CHOICES": "MAX_TUPLES",
    "suffice.prove.sieve.EACH": "TUPLES_PER_SUBPROBLEM",
    "suffice.prove.sieve.PARTS": "SUBPROBLEMS_PER_NODE",
    "suffice.prove.sieve.LARGEST": "GROUP_LIMITS",
    "suffice.prove.sieve.WORTH": "WRITTEN_FRACTION",
    "suffice.prove.sieve.AGAIN": "MAX_FURTHER_JOINS",
    "suffice.prove.sieve.sifted": "prove_by_fixing",
    "suffice.prove.sieve.Sifting": "FixingTask",
    "suffice.prove.sieve._Run": "_FixingRun",
    "suffice.prove.sieve._everybody": "_singleton_groups",
    "suffice.prove.sieve._live": "_possible_winners",
}

MEMBERS = {
    "suffice.prove.bounds.ascent.Ascent.most": "upper",
    "suffice.prove.bounds.ascent.Ascent.turn": "iteration",
    "suffice.prove.bounds.ascent.Ascent.first": "first_moment",
    "suffice.prove.bounds.ascent.Ascent.second": "second_moment",
    "suffice.prove.bounds.ascent.Ascent.step": "update",
    "suffice.prove.bounds.attained.Relaxed.z": "pre_activations",
    "suffice.prove.bounds.attained.Relaxed.values": "activations",
    "suffice.prove.bounds.attained.Relaxed.added": "plane_terms",
    "suffice.prove.bounds.dual.Dual.share": "plane_shares",
    "suffice.prove.bounds.dual.Dual.pick": "replaced_where",
    "suffice.prove.bounds.form.Form.size": "magnitude",
    "suffice.prove.bounds.form.Form.margin_size": "margin_magnitude",
    "suffice.prove.bounds.form.Form.reach": "interval",
    "suffice.prove.bounds.form.Form.toll": "error_magnitude",
    "suffice.prove.bounds.form.Form.whole": "full",
    "suffice.prove.bounds.form.Form.kept": "kept_units",
    "suffice.prove.bounds.form.Form.about": "require_features",
    "suffice.prove.bounds.form.Form.work": "intermediate_work",
    "suffice.prove.bounds.form.Form.effort": "subproblem_work",
    "suffice.prove.bounds.form.Form.together": "batch_limit",
    "suffice.prove.bounds.form.Form.first": "first_chunks",
    "suffice.prove.bounds.form.Form.pieces": "later_chunks",
    "suffice.prove.bounds.form.Form._pieces": "_chunks_of",
    "suffice.prove.bounds.form.Form.constants": "bound_constants",
    "suffice.prove.bounds.form.Form.tax": "error_rate",
    "suffice.prove.bounds.form.Form.unsettled": "undecided_units",
    "suffice.prove.bounds.form.Form.outer": "default_bounds",
    "suffice.prove.bounds.form.Form.off": "margin_error",
    "suffice.prove.bounds.form.Form.units": "unit_count",
    "suffice.prove.bounds.lines.Hidden.low": "lower_slope",
    "suffice.prove.bounds.lines.Hidden.up": "upper_slope",
    "suffice.prove.bounds.lines.Hidden.shift": "upper_intercept",
    "suffice.prove.bounds.lines.Hidden.loose": "unstable",
    "suffice.prove.bounds.lines.Hidden.floor": "lower_intercept",
    "suffice.prove.bounds.lines.Hidden.live": "contenders",
    "suffice.prove.bounds.lines.Hidden.start": "initial_alpha",
    "suffice.prove.bounds.lines.Hidden.crossing": "splittable",
    "suffice.prove.bounds.lines.Hidden.contradicted": "infeasible",
    "suffice.prove.bounds.margin.MarginRows.over": "coefficients",
    "suffice.prove.bounds.margin.MarginRows.size": "magnitude",
    "suffice.prove.bounds.margin.Items.tilts": "planes",
    "suffice.prove.bounds.margin.Items.range": "plane_offsets",
    "suffice.prove.bounds.margin.Items.tiltable": "plane_allowed",
    "suffice.prove.bounds.margin.Pass.over": "unit_coefficients",
    "suffice.prove.bounds.margin.Pass.inputs": "input_coefficients",
    "suffice.prove.bounds.margin.Pass.tilted": "planes_taken",
    "suffice.prove.tilts.Range.top": "offsets",
    "suffice.prove.tilts.Range.width": "term_width",
    "suffice.prove.tilts.Moving.top": "offsets",
    "suffice.prove.tilts.Moving.width": "term_width",
    "suffice.prove.tilts.Moving.least": "least_terms",
    "suffice.prove.tilts.Moving.most": "most_terms",
    "suffice.prove.tilts.Returning.top": "offsets",
    "suffice.prove.tilts.Returning.width": "term_width",
    "suffice.prove.tilts.Returning.start": "attacked_terms",
    "suffice.prove.tilts.Returning.back": "restoring_terms",
    "suffice.prove.tilts.Tilts.size": "share_count",
    "suffice.prove.tilts.Tilts._parts": "_part_count",
    "suffice.prove.tilts.Tilts._dense": "_dense_weight",
    "suffice.prove.tilts.Tilts.rows": "word_weights",
    "suffice.prove.tilts.Tilts._numbers": "_number_weights",
    "suffice.prove.tilts.Tilts.chords": "chord_shares",
    "suffice.prove.tilts.Tilts.at": "terms_at",
    "suffice.prove.tilts.Tilts.back": "to_input_coefficients",
    "suffice.prove.tilts.Tilts.range": "offsets_over",
    "suffice.prove.tilts.Tilts._moves": "_term_ranges",
    "suffice.prove.tilts.Tilts.written": "written_shares",
    "suffice.prove.tilts.Tilted.over": "coefficients",
    "suffice.prove.tilts.Tilted.top": "offsets",
    "suffice.prove.tilts.Tilted.touched": "contact_terms",
    "suffice.prove.tilts.Drift.scale": "inverse_width",
    "suffice.prove.tilts.Drift.pace": "rate",
    "suffice.prove.tilts.Drift.speed": "velocity",
    "suffice.prove.tilts.Drift.step": "update",
    "suffice.prove.peaks.Peaks.members": "candidates",
    "suffice.prove.peaks.Peaks.owner": "maximum",
    "suffice.prove.peaks.Peaks.rows": "weights",
    "suffice.prove.peaks.Peaks.near": "tolerance",
    "suffice.prove.peaks.Peaks.base": "least_weight",
    "suffice.prove.peaks.Peaks.span": "weight_range",
    "suffice.prove.peaks.Peaks.columns": "support",
    "suffice.prove.peaks.Peaks.among": "restricted",
    "suffice.prove.peaks.Peaks.size": "share_count",
    "suffice.prove.peaks.Peaks.at": "terms_at",
    "suffice.prove.peaks.Peaks.fixed": "base_value",
    "suffice.prove.peaks.Peaks.back": "to_input_coefficients",
    "suffice.prove.peaks.Peaks.start": "initial_shares",
    "suffice.prove.peaks.Peaks.may_win": "possible_winners",
    "suffice.prove.peaks.Peaks.range": "offsets_over",
    "suffice.prove.peaks.Peaks.lean": "plane_rows",
    "suffice.prove.peaks.Peaks.best": "best_candidates",
    "suffice.prove.peaks.Roaming.peaks": "planes",
    "suffice.prove.peaks.Roaming.live": "contenders",
    "suffice.prove.peaks.Roaming.top": "offsets",
    "suffice.prove.peaks.Roaming.width": "term_width",
    "suffice.prove.peaks.Roaming._places": "_support_places",
    "suffice.prove.peaks.Roaming._weights": "_support_weights",
    "suffice.prove.peaks.Roaming._reach": "_support_radius",
    "suffice.prove.peaks.Roaming._own": "_middle_values",
    "suffice.prove.peaks.Going.peaks": "planes",
    "suffice.prove.peaks.Going.live": "contenders",
    "suffice.prove.peaks.Going.top": "offsets",
    "suffice.prove.peaks.Going.width": "term_width",
    "suffice.prove.climb.Pace.steps": "iterations",
    "suffice.prove.climb.Pace.smooth": "temperature",
    "suffice.prove.climb.Side.rows": "weights",
    "suffice.prove.climb.Side.own": "constants",
    "suffice.prove.climb.Side.among": "restricted",
    "suffice.prove.climb.Side.each": "per_piece",
    "suffice.prove.climb.Side.softly": "softmax",
    "suffice.prove.climb.Side.evenly": "normalised",
    "suffice.prove.climb.Side.size": "largest_weight",
    "suffice.prove.climb.Land.above": "upper",
    "suffice.prove.climb.Land.below": "lower",
    "suffice.prove.climb.Land.ends": "weight_ends",
    "suffice.prove.climb.Land.width": "max_variation",
    "suffice.prove.climb.Land.among": "restricted",
    "suffice.prove.climb.Land.span": "weight_range",
    "suffice.prove.climb.Land.narrow": "inverse_range",
    "suffice.prove.climb.Land.narrow_each": "inverse_range_each",
    "suffice.prove.climb.Land.flat_each": "inverse_variation_each",
    "suffice.prove.climb.Land.seen": "support",
    "suffice.prove.climb.Land.weights": "support_weights",
    "suffice.prove.climb.Land.places": "support_places",
    "suffice.prove.climb.Land.gathered": "scatter_matrix",
    "suffice.prove.climb.Land.away": "residuals",
    "suffice.prove.climb.Land.moved": "projected",
    "suffice.prove.climb.Land.touched": "soft_contacts",
    "suffice.prove.climb.Land.wins": "win_weights",
    "suffice.prove.climb.Ground.peaks": "planes",
    "suffice.prove.climb.Ground.land": "plane_problem",
    "suffice.prove.climb.Ground.among": "restricted",
    "suffice.prove.climb.Ground.points": "to_inputs",
    "suffice.prove.climb.Ground.rows": "rows_of_shares",
    "suffice.prove.climb.Ground.shares": "shares_of_rows",
    "suffice.prove.climb.Start.rows": "plane_rows",
    "suffice.prove.climb.Start.logs": "log_weights",
    "suffice.prove.climb.Start.live": "contenders",
    "suffice.prove.climb.Start.push": "upper_coefficients",
    "suffice.prove.climb.Start.pull": "lower_coefficients",
    "suffice.prove.climb.Start.rest": "other_row",
    "suffice.prove.climb.Start.constant": "other_constant",
    "suffice.prove.climb.Summit.rows": "plane_rows",
    "suffice.prove.climb.Summit.shares": "lower_weights",
    "suffice.prove.climb.Summit.at": "minimiser",
    "suffice.prove.climb.Summit.wins": "win_weights",
    "suffice.prove.climb.Summit.loss": "relaxation_gap",
    "suffice.prove.climb.View.row": "residual_row",
    "suffice.prove.climb.View.shares": "lower_weights",
    "suffice.prove.climb.View.away": "residuals",
    "suffice.prove.climb.View.reach": "required_offsets",
    "suffice.prove.climb.View.top": "offsets",
    "suffice.prove.climb.Seen.shares": "lower_weights",
    "suffice.prove.climb.Climbing.rows": "plane_rows",
    "suffice.prove.climb.Climbing.view": "evaluate",
    "suffice.prove.climb.Climbing.step": "advance",
    "suffice.prove.climb.Climb.land": "plane_problem",
    "suffice.prove.climb.Climb.rows": "plane_rows",
    "suffice.prove.climb.Climb.logs": "log_weights",
    "suffice.prove.climb.Climb.push": "free_coefficients",
    "suffice.prove.climb.Climb.scale": "row_scale",
    "suffice.prove.climb.Climb.forward": "plane_adam",
    "suffice.prove.climb.Climb.upward": "weight_adam",
    "suffice.prove.climb.Climb.view": "evaluate",
    "suffice.prove.climb.Climb.step": "advance",
    "suffice.prove.climb.Climb._guess": "_soft_minimiser",
    "suffice.prove.climb.Climb._loss": "_relaxation_gap",
    "suffice.prove.climb.Steps.turn": "iteration",
    "suffice.prove.climb.Steps.first": "first_moment",
    "suffice.prove.climb.Steps.second": "second_moment",
    "suffice.prove.climb.Steps.step": "update",
    "suffice.prove.climb.Climbed.found": "backward_pass",
    "suffice.prove.climb.Climbed.loss": "branching_scores",
    "suffice.prove.climb.Climbed.unfinished": "beyond_splits",
    "suffice.prove.climb_back.Way.peaks": "planes",
    "suffice.prove.climb_back.Way.land": "plane_problem",
    "suffice.prove.climb_back.Way.start": "attacked",
    "suffice.prove.climb_back.Way.back": "restoring",
    "suffice.prove.climb_back.Way.scale": "row_scale",
    "suffice.prove.climb_back.Way._sides": "_row_ends",
    "suffice.prove.climb_back.Way.shares": "shares_of_rows",
    "suffice.prove.climb_back.Way.rows": "rows_of_shares",
    "suffice.prove.climb_back.Parts.left": "cost_left",
    "suffice.prove.climb_back.Parts.live": "contenders",
    "suffice.prove.climb_back.Parts.push": "upper_coefficients",
    "suffice.prove.climb_back.Parts.pull": "lower_coefficients",
    "suffice.prove.climb_back.Parts.constant": "other_constant",
    "suffice.prove.climb_back.ClimbBack.way": "region",
    "suffice.prove.climb_back.ClimbBack.land": "plane_problem",
    "suffice.prove.climb_back.ClimbBack.parts": "start",
    "suffice.prove.climb_back.ClimbBack.rows": "plane_rows",
    "suffice.prove.climb_back.ClimbBack.logs": "log_weights",
    "suffice.prove.climb_back.ClimbBack.radius": "support_radius",
    "suffice.prove.climb_back.ClimbBack.own": "middle_values",
    "suffice.prove.climb_back.ClimbBack.price": "budget_multiplier",
    "suffice.prove.climb_back.ClimbBack.push": "free_coefficients",
    "suffice.prove.climb_back.ClimbBack.forward": "plane_adam",
    "suffice.prove.climb_back.ClimbBack.upward": "weight_adam",
    "suffice.prove.climb_back.ClimbBack.dearer": "multiplier_adam",
    "suffice.prove.climb_back.ClimbBack.view": "evaluate",
    "suffice.prove.climb_back.ClimbBack._first_price": "_initial_multiplier",
    "suffice.prove.climb_back.ClimbBack._guess": "_soft_minimiser",
    "suffice.prove.climb_back.ClimbBack.step": "advance",
    "suffice.prove.climb_back.ClimbBack._loss": "_word_scores",
    "suffice.prove.climb_back.ClimbedBack.found": "backward_pass",
    "suffice.prove.climb_back.ClimbedBack.loss": "word_scores",
    "suffice.prove.maxima.Candidates.live": "contenders",
    "suffice.prove.maxima.Candidates.near": "tolerance",
    "suffice.prove.maxima.Candidates.low": "largest_lower",
    "suffice.prove.maxima.Candidates.high": "largest_upper",
    "suffice.prove.maxima.Candidates.settled": "decided",
    "suffice.prove.narrow.Narrow.least": "lower",
    "suffice.prove.narrow.Narrow.most": "upper",
    "suffice.prove.narrow.Narrow.nothing": "unrefined",
    "suffice.prove.narrow.Narrow.cut": "intersected",
    "suffice.prove.narrow.Narrow.joined": "with_proof",
    "suffice.prove.bundles.Bundle.parts": "joined_from",
    "suffice.prove.bundles.Bundle.rows": "weights",
    "suffice.prove.bundles.Bundle.own": "constants",
    "suffice.prove.bundles.Bundle.row": "plane_row",
    "suffice.prove.bundles.Bundle.reach": "required_offsets",
    "suffice.prove.bundles.Bundle.size": "magnitude",
    "suffice.prove.bundles.Bundle.near": "active_set",
    "suffice.prove.bundles.Bundle.under": "with_plane",
    "suffice.prove.bundles.Bundle.top": "offset",
    "suffice.prove.bundles.Bundle.short": "reduced_cost",
    "suffice.prove.bundles.Bundle.only": "restricted",
    "suffice.prove.bundles.Bundle.mostly": "restricted_if_few",
    "suffice.prove.bundles.Bundle.nearest": "most_binding",
    "suffice.prove.bundles.Sieve.bundles": "tuple_groups",
    "suffice.prove.bundles.Sieve.below": "lower",
    "suffice.prove.bundles.Sieve.logs": "log_weights",
    "suffice.prove.bundles.Sieve.pull": "lower_coefficients",
    "suffice.prove.bundles.Sieve.constant": "other_constant",
    "suffice.prove.bundles.Sieve.row": "residual_row",
    "suffice.prove.bundles.Sieve.tops": "offset_sum",
    "suffice.prove.bundles.Sieve.slack": "rounding_slack",
    "suffice.prove.bundles.Sieve.count": "tuple_count",
    "suffice.prove.bundles.Sieve.room": "gap",
    "suffice.prove.bundles.Sieve.sifted": "fixed",
    "suffice.prove.bundles.Sieve._sifted": "_fixed_group",
    "suffice.prove.bundles.Sieve._with": "_replacing",
    "suffice.prove.bundles.Sieve.written": "rebased",
    "suffice.prove.bundles.Match.size": "tuple_count",
    "suffice.prove.bundles.Guess.at": "minimiser",
    "suffice.prove.bundles.Guess.loss": "relaxation_gap",
    "suffice.prove.bundles.Guess.wins": "win_weights",
    "suffice.prove.bundles.Guess.split": "branching_choice",
    "suffice.prove.sieve.Sifting.form": "prepared",
    "suffice.prove.sieve.Sifting.ground": "normalised",
    "suffice.prove.sieve.Sifting.most": "max_tuples",
    "suffice.prove.sieve.Sifting.tried": "is_answer",
    "suffice.prove.sieve.Sifting.largest": "max_group_tuples",
    "suffice.prove.sieve._Run.sifting": "task",
    "suffice.prove.sieve._Run.parts": "nodes_left",
    "suffice.prove.sieve._Run.over": "stopped",
    "suffice.prove.sieve._Run.said": "last_written",
    "suffice.prove.sieve._Run.closed": "close",
    "suffice.prove.sieve._Run._at_first": "_first_joins",
    "suffice.prove.sieve._Run._joined_further": "_further_joins",
    "suffice.prove.sieve._Run._joined": "_apply_joins",
    "suffice.prove.sieve._Run._answered": "_answered_by_guess",
    "suffice.prove.sieve._Run._climbed": "_ascend",
    "suffice.prove.sieve._Run._sifted": "_fix",
    "suffice.prove.sieve._Run._say": "_write",
}

LOCALS = {
    "suffice.prove.bounds.ascent.Ascent.__init__": {"most": "upper"},
    "suffice.prove.bounds.ascent.optimise": {"form": "prepared", "found": "backward_pass", "pace": "share_rate", "best": "best_bound", "kept": "best_dual", "slope": "alpha_adam", "multiplier": "beta_adam", "shares": "plane_momentum", "reached": "primal", "z": "pre_activations", "share": "plane_shares", "fade": "weight_decay"},
    "suffice.prove.bounds.ascent._better_maxima": {"form": "prepared", "found": "backward_pass", "slope": "alpha_adam", "part": "weight_rate", "place": "step_index", "at": "candidate_units", "rise": "level_gradient", "share": "weights", "others": "not_leading", "moved": "moved_weights", "z": "pre_activations"},
    "suffice.prove.bounds.attained.forward": {"form": "prepared", "found": "backward_pass", "lower": "takes_lower", "low": "lower_slope", "up": "upper_slope", "shift": "upper_intercept", "offset": "intercept", "values": "activations", "added": "plane_terms", "z": "pre_activations", "relaxed": "all_activations", "part": "columns", "above": "plane_values", "all_": "replaced", "units": "plane_units"},
    "suffice.prove.bounds.attained.losses": {"form": "prepared", "found": "backward_pass", "reached": "primal", "real": "exact", "part": "columns", "lost": "gaps", "result": "scores", "place": "step_index", "at": "candidate_units", "range_": "candidates", "top": "likely_winner", "open_": "undecided"},
    "suffice.prove.bounds.backward.hidden": {"form": "prepared", "known": "shortcut", "found": "bounds", "place": "step_index", "part": "columns", "mine": "own_signs"},
    "suffice.prove.bounds.backward._cut": {"form": "prepared", "place": "step_index"},
    "suffice.prove.bounds.backward.step_bounds": {"form": "prepared", "found": "bounds", "place": "step_index", "least": "interval_lower", "most": "interval_upper", "below": "lower_bounds"},
    "suffice.prove.bounds.backward._first_rows": {"form": "prepared", "found": "lower_bounds", "many": "chunk"},
    "suffice.prove.bounds.backward._later_rows": {"form": "prepared", "found": "bounds", "place": "step_index", "below": "lower_bounds", "part": "items"},
    "suffice.prove.bounds.backward._backward": {"form": "prepared", "found": "bounds", "place": "step_index", "over": "coefficients", "total": "constant", "part": "columns"},
    "suffice.prove.bounds.dual.Dual.pick": {"wins": "better", "share": "plane_shares"},
    "suffice.prove.bounds.dual.plain": {"start": "alpha"},
    "suffice.prove.bounds.dual.settled": {"form": "prepared", "place": "step_index", "at": "candidate_units"},
    "suffice.prove.bounds.dual.chosen_lines": {"form": "prepared", "low": "lower_slope", "up": "upper_slope", "shift": "upper_intercept", "place": "step_index", "at": "candidate_units"},
    "suffice.prove.bounds.dual.pools": {"form": "prepared", "place": "step_index"},
    "suffice.prove.bounds.form.Form.of": {"sizes": "step_magnitudes", "reach": "intervals", "top": "last_magnitude", "rows": "margin", "largest": "weight_magnitude", "constant": "bias_magnitude"},
    "suffice.prove.bounds.form.Form.finite": {"sizes": "largest_magnitudes", "weights": "largest_weights"},
    "suffice.prove.bounds.form.Form.work": {"sizes": "nonzeros", "place": "step_index", "rows": "row_counts"},
    "suffice.prove.bounds.form.Form.first": {"some": "chunk", "parts": "chunks", "widest": "row_nonzeros"},
    "suffice.prove.bounds.form.Form.pieces": {"place": "step_index"},
    "suffice.prove.bounds.form.Form._pieces": {"place": "step_index"},
    "suffice.prove.bounds.form.Form.constants": {"s": "step", "off": "error", "size": "magnitude"},
    "suffice.prove.bounds.form.Form.tax": {"toll": "magnitude"},
    "suffice.prove.bounds.form.Form.unsettled": {"low": "lower", "high": "upper"},
    "suffice.prove.bounds.form.Form.outer": {"low": "lower", "high": "upper"},
    "suffice.prove.bounds.form.Form.off": {"wrong": "error", "size": "magnitude"},
    "suffice.prove.bounds.form._in_coordinates": {"stands_for": "reduction", "source": "original", "kept": "kept_units", "low": "lower", "high": "upper", "size": "magnitude", "reach": "interval", "toll": "first_error_magnitude", "taken": "margin"},
    "suffice.prove.bounds.form.tolls": {"size": "magnitude", "kept": "kept_units", "lost": "dropped"},
    "suffice.prove.bounds.form._unsettled": {"low": "lower", "high": "upper", "found": "undecided"},
    "suffice.prove.bounds.form._split": {"step": "length"},
    "suffice.prove.bounds.lines.Hidden.blank": {"form": "prepared", "low": "lower_slope", "up": "upper_slope", "shift": "upper_intercept", "floor": "lower_intercept", "loose": "unstable", "live": "contenders", "start": "initial_alpha", "pools": "has_maxima"},
    "suffice.prove.bounds.lines.Hidden.candidates": {"form": "prepared", "place": "step_index", "at": "units", "near": "tolerance", "live": "contenders"},
    "suffice.prove.bounds.lines.Hidden.crossing": {"form": "prepared"},
    "suffice.prove.bounds.lines.draw": {"found": "bounds", "form": "prepared", "place": "step_index", "part": "columns"},
    "suffice.prove.bounds.lines._relax": {"found": "bounds", "part": "columns", "near": "tolerance", "flat": "inactive", "straight": "active", "bent": "crossing", "high": "chord_upper", "deep": "chord_lower", "chord": "chord_intercept", "rise": "line_intercept"},
    "suffice.prove.bounds.lines._relax_curves": {"found": "bounds", "part": "columns", "at": "hidden_units"},
    "suffice.prove.bounds.lines._relax_maxima": {"found": "bounds", "form": "prepared", "place": "step_index", "part": "columns", "at": "candidate_units", "mine": "own_signs", "near": "tolerance", "range_": "candidates", "low": "lower_slope", "up": "upper_slope", "shift": "upper_intercept", "nobody": "nobody_wins"},
    "suffice.prove.bounds.magnitudes.outer_sides": {"wide": "widened"},
    "suffice.prove.bounds.magnitudes.magnitudes": {"sizes": "step_magnitudes", "reach": "intervals", "top": "activation_magnitude", "total": "product_magnitude", "moved": "product_radius", "size": "magnitude", "spread": "radius_out", "least": "output_lower", "most": "output_upper"},
    "suffice.prove.bounds.margin.margin_rows": {"form": "prepared"},
    "suffice.prove.bounds.margin.Items.range": {"at": "candidate_units", "live": "contenders"},
    "suffice.prove.bounds.margin.Items.tiltable": {"live": "contenders"},
    "suffice.prove.bounds.margin.Pass.take": {"tilted": "planes_taken", "low": "lower_slope", "up": "upper_slope", "shift": "upper_intercept", "lines_": "lines"},
    "suffice.prove.bounds.margin.margin_bound": {"form": "prepared", "over": "coefficients", "total": "constant", "tilted": "planes_taken", "seen": "unit_coefficients", "part": "columns", "error": "absolute", "shaped": "input_coefficients"},
    "suffice.prove.bounds.margin._through_lines": {"over": "coefficients", "total": "constant", "part": "columns", "low": "lower_slope", "up": "upper_slope", "shift": "upper_intercept", "floor": "lower_intercept"},
    "suffice.prove.bounds.margin._with_tilted": {"over": "coefficients", "total": "constant", "tilted": "planes_taken", "tilts": "planes", "share": "shares"},
    "suffice.prove.bounds.margin.lines_above": {"tilts": "planes", "found": "backward_pass", "used": "shares_by_unit", "shares": "written"},
    "suffice.prove.bounds.margin._tilted": {"over": "coefficients", "share": "shares"},
    "suffice.prove.bounds.margin._without": {"over": "coefficients", "error": "absolute", "tilted": "planes_taken", "each": "replaced"},
    "suffice.prove.bounds.margin.taking": {"tilts": "planes"},
    "suffice.prove.bounds.margin._multipliers": {"form": "prepared"},
    "suffice.prove.tilts.Range.top": {"share": "shares"},
    "suffice.prove.tilts.Tilts.of": {"numbers": "by_number"},
    "suffice.prove.tilts.Tilts.bias": {"still": "fixed_words"},
    "suffice.prove.tilts.Tilts.chords": {"up": "upper_slope"},
    "suffice.prove.tilts.Tilts.at": {"moving": "moving_words"},
    "suffice.prove.tilts.Tilts.back": {"weights": "coefficients"},
    "suffice.prove.tilts.Tilts.range": {"own": "own_terms", "down": "lowest", "up": "highest"},
    "suffice.prove.tilts.Tilts.written": {"share": "shares"},
    "suffice.prove.tilts.Moving.top": {"share": "shares", "off": "if_inactive", "on": "if_active"},
    "suffice.prove.tilts.Returning.top": {"share": "shares", "off": "if_inactive", "on": "if_active", "if_off": "gains_inactive", "if_on": "gains_active", "each": "per_unit"},
    "suffice.prove.tilts.Drift.__init__": {"width": "term_width", "pace": "rate"},
    "suffice.prove.tilts.Drift.step": {"share": "shares", "tilted": "planes_taken", "added": "plane_terms", "pull": "gradient"},
    "suffice.prove.tilts.rounded": {"share": "shares"},
    "suffice.prove.peaks.Peaks.of": {"some": "chosen_maxima", "near": "tolerance", "whole": "full_step", "alone": "independent", "chosen": "is_candidate", "members": "candidates", "owner": "maximum", "rows": "weights", "base": "least_weight", "top": "largest_weight"},
    "suffice.prove.peaks.Peaks.back": {"weights": "coefficients"},
    "suffice.prove.peaks.Peaks.start": {"rows": "plane_rows", "one": "item_slopes"},
    "suffice.prove.peaks.Peaks.range": {"live": "contenders", "peaks": "planes"},
    "suffice.prove.peaks.Peaks.lean": {"share": "shares"},
    "suffice.prove.peaks.Peaks.best": {"who": "winner", "live": "contenders"},
    "suffice.prove.peaks.Roaming.top": {"share": "shares", "peaks": "planes", "lean": "plane_rows", "rest": "largest_negated", "here": "row_on_support", "more": "extra", "most": "largest", "who": "winner", "side": "direction", "touched": "contact_points"},
    "suffice.prove.peaks.Going.top": {"share": "shares", "peaks": "planes", "away": "residuals", "own": "attacked_values", "most": "largest", "who": "winner", "mine": "winner_gains", "each": "per_maximum", "touched": "contact_points"},
    "suffice.prove.peaks._ends": {"some": "chosen_maxima", "place": "maximum"},
    "suffice.prove.peaks.seen": {"there": "nonzero"},
    "suffice.prove.climb.Pace.at": {"turn": "iteration", "way": "progress", "smooth": "temperature"},
    "suffice.prove.climb.held": {"size": "limit"},
    "suffice.prove.climb.Side.of": {"owner": "maximum", "rows": "weights", "parts": "pieces_by_maximum", "own": "constants", "scaled": "scaled_weights"},
    "suffice.prove.climb.Side.among": {"parts": "pieces_by_maximum"},
    "suffice.prove.climb.Land.of": {"above": "upper", "below": "lower", "ends": "weight_ends"},
    "suffice.prove.climb.Land.away": {"rows": "plane_rows", "here": "row_on_support", "away": "residuals", "more": "extra"},
    "suffice.prove.climb.Land.moved": {"rows": "plane_rows", "by": "moved"},
    "suffice.prove.climb.Land.touched": {"rows": "plane_rows", "away": "residuals", "wins": "win_weights", "smooth": "temperature", "found": "plane_part", "seen": "candidate_part"},
    "suffice.prove.climb.Land.wins": {"view": "value", "live": "contenders", "smooth": "temperature", "behind": "exponents"},
    "suffice.prove.climb.Ground.of": {"peaks": "planes", "below": "lower_maxima", "live": "contenders", "move": "shift", "mine": "upper_kept", "theirs": "lower_kept", "high": "upper", "low": "lower"},
    "suffice.prove.climb.Ground.points": {"at": "normalised", "found": "points"},
    "suffice.prove.climb.Ground.rows": {"share": "shares"},
    "suffice.prove.climb.Ground.shares": {"rows": "plane_rows", "up": "fraction", "found": "shares"},
    "suffice.prove.climb.View.of": {"land": "plane_problem", "rows": "plane_rows", "shares": "lower_weights", "above": "upper", "below": "lower", "weighted": "lower_terms", "row": "residual_row", "away": "residuals", "more": "extra", "reach": "required_offsets", "top": "offsets"},
    "suffice.prove.climb.Climbing.step": {"view": "value", "smooth": "temperature"},
    "suffice.prove.climb.highest": {"climb": "ascent", "pace": "annealing", "view": "value", "rows": "best_rows", "shares": "best_weights", "goal": "enough", "turn": "iteration"},
    "suffice.prove.climb.Climb.__init__": {"land": "plane_problem", "several": "undecided"},
    "suffice.prove.climb.Climb.run": {"pace": "annealing", "view": "value", "rows": "best_rows", "shares": "best_weights", "at": "minimiser", "wins": "win_weights"},
    "suffice.prove.climb.Climb._guess": {"view": "value", "smooth": "temperature"},
    "suffice.prove.climb.Climb.step": {"view": "value", "smooth": "temperature", "land": "plane_problem", "at": "minimiser", "wins": "win_weights", "touched": "gradient"},
    "suffice.prove.climb.Climb._loss": {"view": "value", "at": "minimiser", "above": "upper", "values": "piece_values", "line": "plane_values", "lost": "gap"},
    "suffice.prove.climb.Steps.step": {"slope": "gradient", "wide": "root_mean_square", "found": "move"},
    "suffice.prove.climb.risen": {"logs": "log_weights", "below": "lower", "shares": "lower_weights", "pull": "lower_coefficients", "at": "minimiser", "steps": "adam", "rise": "gradient", "found": "raised"},
    "suffice.prove.climb.with_settled": {"land": "plane_problem", "rows": "plane_rows", "alone": "decided"},
    "suffice.prove.climb._scale": {"land": "plane_problem"},
    "suffice.prove.climb.climbed": {"form": "prepared", "found": "backward_pass", "ground": "normalised", "pace": "annealing", "least": "min_weight", "summit": "result", "after": "new_pass", "new": "new_dual", "wins": "better"},
    "suffice.prove.climb.started": {"form": "prepared", "found": "backward_pass", "ground": "normalised", "least": "min_weight", "below": "lower", "shares": "lower_weights", "pull": "lower_coefficients", "push": "upper_coefficients", "logs": "log_weights", "row": "input_row", "alone": "own_value", "rest": "other_row", "size": "row_difference"},
    "suffice.prove.climb._close": {"ground": "normalised", "above": "upper", "view": "value"},
    "suffice.prove.climb.with_shares": {"form": "prepared", "below": "lower", "shares": "lower_weights", "found": "new_alpha", "mine": "not_leading", "every": "all_weights"},
    "suffice.prove.climb._loss": {"form": "prepared", "ground": "normalised", "summit": "result", "found": "scores"},
    "suffice.prove.climb_back.Way.of": {"peaks": "planes", "below": "lower_maxima", "live": "contenders", "start": "attacked", "back": "restoring", "mine": "upper_kept", "theirs": "lower_kept", "high": "upper", "low": "lower"},
    "suffice.prove.climb_back.Way._sides": {"peaks": "planes"},
    "suffice.prove.climb_back.Way.shares": {"rows": "plane_rows", "low": "lowest", "high": "highest", "up": "fraction", "found": "shares"},
    "suffice.prove.climb_back.Way.rows": {"share": "shares", "lean": "plane_rows"},
    "suffice.prove.climb_back._side": {"owner": "maximum", "start": "attacked", "back": "restoring", "parts": "pieces_by_maximum", "adds": "word_terms"},
    "suffice.prove.climb_back.ClimbBack.__init__": {"way": "region", "parts": "start", "rows": "plane_rows", "logs": "log_weights", "several": "undecided"},
    "suffice.prove.climb_back.ClimbBack.run": {"pace": "annealing", "view": "value", "rows": "best_rows", "shares": "best_weights"},
    "suffice.prove.climb_back.ClimbBack.view": {"parts": "start", "above": "upper", "below": "lower", "shares": "lower_weights", "weighted": "lower_terms", "row": "residual_row", "away": "residuals", "more": "extra", "idle": "row_range", "reach": "required_offsets", "top": "offsets"},
    "suffice.prove.climb_back.ClimbBack._first_price": {"parts": "start", "paid": "affordable", "beyond": "unaffordable_gains"},
    "suffice.prove.climb_back.ClimbBack._guess": {"view": "value", "smooth": "temperature", "parts": "start", "at": "minimiser"},
    "suffice.prove.climb_back.ClimbBack.step": {"view": "value", "smooth": "temperature", "way": "region", "parts": "start", "below": "lower", "at": "minimiser", "wins": "win_weights", "moved": "gradient", "spent": "overspent"},
    "suffice.prove.climb_back.ClimbBack._loss": {"view": "value", "smooth": "temperature", "at": "minimiser", "wins": "win_weights", "apart": "distance", "away": "residuals"},
    "suffice.prove.climb_back.climbed_back": {"form": "prepared", "found": "backward_pass", "way": "region", "pace": "annealing", "least": "min_weight", "parts": "start", "rows": "plane_rows", "logs": "log_weights", "shares": "lower_weights", "loss": "word_scores", "after": "new_pass", "new": "new_dual", "wins": "better"},
    "suffice.prove.climb_back._started": {"form": "prepared", "found": "backward_pass", "way": "region", "least": "min_weight", "below": "lower", "shares": "lower_weights", "moved": "changed", "gone": "restored", "parts": "start", "logs": "log_weights"},
    "suffice.prove.maxima.narrowed": {"near": "tolerance", "alive": "allowed", "named": "winner_named", "least": "largest_lower", "live": "contenders", "nobody": "nobody_wins"},
    "suffice.prove.maxima.start": {"found": "candidates", "live": "contenders", "enough": "nearly_largest", "top": "likely_winner"},
    "suffice.prove.maxima.lines": {"found": "candidates", "live": "contenders", "settled": "decided", "one": "decided_each", "below": "lower_slope", "room": "excess", "open_": "rising", "above": "upper_slope", "chord": "chord_intercept", "size": "magnitude", "most": "additions", "shift": "upper_intercept", "plain": "is_single"},
    "suffice.prove.maxima.settled": {"found": "candidates", "one": "decided_each", "alone": "single_choice"},
    "suffice.prove.maxima.shares": {"share": "weights"},
    "suffice.prove.maxima.level": {"found": "candidates", "way": "fraction"},
    "suffice.prove.maxima.slope_of_level": {"found": "candidates", "z": "pre_activations", "along": "chord_rise"},
    "suffice.prove.tangents.lines": {"low": "lower", "high": "upper", "reach": "magnitude", "sag": "curve_error", "least": "range_lower", "most": "range_upper", "below": "lower_line", "above": "upper_line", "gap": "intercepts", "doubt": "error"},
    "suffice.prove.tangents._keep": {"offset": "intercept"},
    "suffice.prove.narrow.Narrow.nothing": {"units": "count"},
    "suffice.prove.narrow.Narrow.cut": {"part": "columns"},
    "suffice.prove.narrow.worth_it": {"form": "prepared"},
    "suffice.prove.narrow.narrowed": {"form": "prepared", "found": "refined", "place": "step_index", "over": "coefficients"},
    "suffice.prove.narrow.bounds_with": {"narrow": "refined", "form": "prepared", "known": "shortcut", "place": "step_index", "before": "earlier"},
    "suffice.prove.narrow._taking_lines_above": {"form": "prepared", "over": "coefficients", "place": "step_index", "part": "columns", "lost": "gaps"},
    "suffice.prove.narrow._with_unit": {"form": "prepared", "place": "step_index", "narrow": "refined", "low": "lower", "high": "upper"},
    "suffice.prove.narrow._bounded": {"form": "prepared", "place": "step_index", "own": "row_index", "before": "truncated", "size": "magnitude", "tilts": "planes", "found": "backward_pass"},
    "suffice.prove.narrow._before": {"form": "prepared", "place": "step_index", "size": "magnitude", "reach": "interval", "toll": "error_magnitude"},
    "suffice.prove.narrow._first": {"units": "count", "low": "lower_slope", "up": "upper_slope", "shift": "upper_intercept", "side": "array"},
    "suffice.prove.narrow._tilts": {"before": "truncated"},
    "suffice.prove.bundles.Bundle.of": {"parts": "joined_from", "rows": "weights", "own": "constants", "row": "plane_row", "size": "magnitude", "reach": "required_offsets"},
    "suffice.prove.bundles.Bundle.under": {"row": "plane_row"},
    "suffice.prove.bundles.Bundle.only": {"places": "new_places"},
    "suffice.prove.bundles._sizes": {"rows": "weights", "row": "plane_row", "found": "distances", "room": "buffer", "piece": "chunk", "away": "residuals"},
    "suffice.prove.bundles.Sieve.row": {"lines": "plane_sum", "bundle": "group"},
    "suffice.prove.bundles.Sieve.tops": {"bundle": "group"},
    "suffice.prove.bundles.Sieve.slack": {"below": "largest_lower", "size": "magnitude", "lines": "plane_magnitude", "bundle": "group"},
    "suffice.prove.bundles.Sieve._sifted": {"bundle": "group", "left": "kept", "row": "residual_row", "alone": "bounds"},
    "suffice.prove.bundles.Sieve.split": {"place": "index", "mine": "group", "bundle": "one"},
    "suffice.prove.bundles.Sieve._with": {"place": "index", "bundle": "group"},
    "suffice.prove.bundles.matches": {"sieve": "state", "most": "max_tuples", "look": "sample", "left": "unjoined", "pair": "join"},
    "suffice.prove.bundles._fitting": {"room": "gap"},
    "suffice.prove.bundles.joined": {"sieve": "state", "pairs": "joins", "pair": "join", "taken": "joined_places", "alone": "others", "bundle": "group"},
    "suffice.prove.bundles._pair": {"sieve": "state", "pair": "join"},
    "suffice.prove.bundles._gains": {"sieve": "state", "look": "sample", "nearest": "binding", "away": "residuals", "own": "constants", "found": "gains", "reach": "required_offsets", "bundle": "group", "some": "indices"},
    "suffice.prove.bundles.Guess.split": {"worst": "group_limit", "found": "options", "share": "win_share", "who": "candidates", "best": "likeliest", "place": "index"},
    "suffice.prove.bundles.higher": {"sieve": "state", "pace": "annealing", "look": "active_count", "land": "plane_problem", "summit": "result", "wins": "win_weights", "bundle": "group", "bundles": "groups", "row": "plane_row", "new": "better", "more": "active_sets", "tried": "new_group", "old": "old_group", "near": "active_set", "pairs": "updated"},
    "suffice.prove.bundles._nearer": {"bundle": "group", "look": "active_count", "nearest": "binding", "fresh": "start_afresh"},
    "suffice.prove.bundles._land": {"sieve": "state", "rows": "weights", "own": "constants", "bundle": "group", "parts": "tuples_by_group"},
    "suffice.prove.bundles._start": {"sieve": "state", "bundle": "group"},
    "suffice.prove.sieve.sifted": {"form": "prepared", "ground": "normalised", "tried": "is_answer", "asked": "task"},
    "suffice.prove.sieve.Sifting.stage": {"sieve": "state", "bundle": "group"},
    "suffice.prove.sieve._Run.__init__": {"sifting": "task", "parts": "nodes_left"},
    "suffice.prove.sieve._Run.closed": {"sieve": "state", "found": "tree"},
    "suffice.prove.sieve._Run._at_first": {"sieve": "state", "look": "sample", "near": "active_count", "pace": "annealing", "turns": "rounds", "pairs": "joins", "pair": "join"},
    "suffice.prove.sieve._Run._joined_further": {"sieve": "state", "few": "is_small", "pairs": "joins"},
    "suffice.prove.sieve._Run._joined": {"sieve": "state", "pairs": "joins"},
    "suffice.prove.sieve._Run._answered": {"sieve": "state"},
    "suffice.prove.sieve._Run._climbed": {"sieve": "state", "pace": "annealing", "look": "active_count", "turns": "rounds"},
    "suffice.prove.sieve._Run._sifted": {"sieve": "state", "left": "fixed"},
    "suffice.prove.sieve._Run._say": {"sieve": "state", "left": "fixed"},
    "suffice.prove.sieve._Run._split": {"sieve": "state", "cut": "choice", "without": "other_tree", "within": "tree"},
    "suffice.prove.sieve._everybody": {"form": "prepared", "ground": "normalised", "land": "plane_problem", "live": "contenders", "rows": "plane_rows", "bundles": "groups", "place": "index", "some": "candidates", "push": "coefficient", "own": "constants", "mine": "weights", "size": "magnitude"},
    "suffice.prove.sieve._live": {"form": "prepared", "ground": "normalised", "found": "possible", "members": "candidates"},
}

DOCSTRINGS = {
    "suffice.prove.bounds": """Sound linear lower bounds over sets of inputs, for many sets at once (CROWN, alpha-CROWN, beta-CROWN).

A row of coefficients over the scores is carried back through the network. At each relu it is replaced
by the relu's lower line where the coefficient is positive (slope alpha, free in [0, 1] for an unstable
unit) and by its upper chord where it is negative; at a smooth curve by the lines of `smooth`, and at a
maximum by those of `max_lines`, which go through all its candidates. A unit that a proof has split on also
gets a multiplier beta >= 0 (sign s: the row becomes A - beta s), unless the split is on who wins a maximum.
At the input the set's own support function gives the least value. In the first step, upper planes over the
whole input may stand for the lines above relus and maxima.

Every bound that leaves this folder is already lowered by an a-priori bound of the rounding error (Higham's
gamma), so "bound > 0" holds for the real-number network. The argument: replacing a row A by the floats
computed for A @ W changes A·z by at most gamma(n) |A| |W| |h|, and |h| is bounded once per problem over the
largest region.

Read in this order: magnitudes (how large everything can get), prepared (the problem prepared), relaxation
(bounds of hidden units and the lines around them), intermediate (how these bounds are computed), dual (what a
proof may choose), backward (the bound of a row), primal (where it is attained), ascent (better choices); then
the planes, and the ascent over them.

Method: CROWN with optimised slopes and split multipliers, lowered by rounding errors (theory, section 2).
""",
    "suffice.prove.bounds.ascent": """Projected ascent on what a proof may choose: slopes, split multipliers and shares of planes.

Supergradients come from the minimiser of the bound, carried forward through the relaxed network (Danskin's
rule); no automatic differentiation is needed.

Method: alpha-CROWN and beta-CROWN, by projected Adam steps (theory, section 2).
""",
    "suffice.prove.bounds.attained": """The primal side of a backward bound: the point where it is attained, and the gap at every unit.

The gaps, weighted by the coefficients of the row, are the scores of the units that a search may split on.

Method: relaxed minimiser (theory, section 2); branching scores after BaBSR (theory, section 5).
""",
    "suffice.prove.bounds.backward": """Intermediate bounds: lower and upper bounds of the pre-activations of every hidden unit.

The rows of each step, and their negatives, are carried back through the lines of the steps before it, in
chunks that fit the cache, and intersected with interval bounds.

Method: CROWN for intermediate layers (theory, section 2).
""",
    "suffice.prove.bounds.dual": """The dual variables of a backward bound, all of which a proof may choose freely.

They are lower slopes alpha of unstable relus (and the lower weights and thresholds of maxima, kept in the
same array), multipliers beta of splits, and shares of upper planes. Any finite values give a sound bound.

Method: weak duality (theory, section 2).
""",
    "suffice.prove.bounds.form": """A problem prepared for backward bounds: its steps, its margin rows, and what rounding can take.

All that depends on the problem alone, not on a subproblem, is computed here once: magnitudes, interval
bounds, the units that intervals leave undecided, and the sizes of chunks.

Method: a-priori rounding errors after Higham (theory, section 2).
""",
    "suffice.prove.bounds.lines": """The relaxation: for bounds of each hidden unit, a line below it and a line above it.

Relus get CROWN's lines (a chord above), smooth curves those of `smooth`, maxima those of `max_lines`. Each
is valid in real arithmetic whatever the rounding here.

Method: CROWN's relaxation (theory, section 2).
""",
    "suffice.prove.bounds.magnitudes": """Magnitudes |W| |h| + |b| of every step over all that can be asked about.

Rounding errors of backward bounds are measured by them. They come from interval arithmetic that is widened
well beyond rounding.

Method: a-priori rounding errors after Higham (theory, section 2).
""",
    "suffice.prove.bounds.margin": """Backward bounds: one row per item carried back to the input, through lines that a dual may choose.

Method: CROWN with slopes alpha, split multipliers beta and upper planes (theory, sections 2 and 3).
""",
    "suffice.prove.tilts": """Upper planes of relus of the first step: planes over the whole input instead of chords.

relu(w·x + b) <= a·x + c for any row a, if c is the largest value that relu(w·x + b) - a·x has over the input
set: the offset of the plane. A relu is the larger of two linear forms, so c is the larger of two largest
values, which the support function of the set gives. The chord has a = slope·w. Here every part of the input (a
number, or a word) has a share of its own in [0, 1], a = share·w, and the plane can touch the relu at many
corners of the set where the chord is far off. Shares are dual variables, like slopes.

Method: upper planes (theory, section 3).
""",
    "suffice.prove.peaks": """Upper planes of maxima of the first step: planes over the whole input, chosen number by number.

The largest of w_p·x + b_p is at most a·x + c for any row a, if c, the offset of the plane, is the largest
value that (w_p - a)·x + b_p has over the input set for any candidate p; the support function of the set gives
it. Such a plane can touch the maximum at many corners where a threshold and chords, as in `max_lines`, are far
off: over a box the best plane is the concave envelope of the maximum. Each number of a lies between the least
and the largest weight that a candidate has there; how far up is a share in [0, 1], a dual variable.

Method: upper planes (theory, section 3).
""",
    "suffice.prove.climb": """Smoothed, annealed ascent on upper planes and lower weights of maxima, over boxes, for many subproblems at once.

In coordinates y in which every number of the input moves within [-1, 1], the dual value is a constant, less
|r|_1 of the residual row r, less the offsets of the planes, each the largest of b_p + |w_p - a|_1 over its
candidates p. It is concave, but at its best most of r is zero and many candidates tie, so that supergradient
steps zigzag. So |·| becomes Huber's function and the maximum log-sum-exp, at a temperature that falls
geometrically over the iterations (Adam steps). The smoothed minimiser is a good guess of the worst input and of
who wins there: attacks start from it, and splits are chosen by it.

Single precision, and nothing is proved here: `backward.backward_bound` bounds the planes that were found anew.

Method: Nesterov smoothing with annealed temperature (theory, section 3).
""",
    "suffice.prove.climb_back": """Smoothed, annealed ascent on upper planes and lower weights of maxima, over restorations of an attacked text.

The primal variables are how far each word is restored, in [0, 1], and a Lagrange multiplier stands for the
budget. The rest is as in `plane_ascent`. Rows of planes have one number per word here, what restoring it adds to
the plane; proofs have one for each number of the input, of which that is all that counts.

Single precision, and nothing is proved here: `backward.backward_bound` bounds the planes that were found anew.

Method: Nesterov smoothing with annealed temperature (theory, section 3) over restorations (theory, section 6).
""",
    "suffice.prove.maxima": """Lines below and above the maximum of several units, and what a proof may choose of them.

Let m be the largest of z_p, each in [l_p, u_p]. Below: m >= sum of w_p z_p, for lower weights w_p >= 0 that add
up to one. Above: for any threshold theta that is no lower than the l_p of the contenders, max(z_p - theta, 0)
lies under its chord, so m <= theta + sum of s_p (z_p - l_p), s_p = max(u_p - theta, 0) / (u_p - l_p). Both are
kept where slopes of relus are: a candidate's weight at its place, and theta, as a fraction of the way from the
largest l_p to the largest u_p, at the place of the first candidate, whose own weight is what the others leave
of one.

A proof splits on who wins: "this one" leaves one contender, and the maximum is exact; "another" leaves the others.

Method: CROWN's relaxation, for maxima (theory, section 2).
""",
    "suffice.prove.tangents": """A line below and a line above a smooth curve over an interval, for many intervals at once.

Between two points of a grid of width h a curve is at most bend·h²/8 away from its chord. So the least value of
f(z) - s z on the grid, less that much, is an intercept that is valid for slope s on the whole interval. Of some
slopes, that of the chord and zero, the one is kept whose line is closest to the curve in the middle.

Method: CROWN's relaxation, for smooth curves (theory, section 2).
""",
    "suffice.prove.narrow": """Refinement of intermediate bounds: single hidden units bounded with slopes and planes of their own, at the root.

Intermediate bounds come from one pass with the relaxation's own lines, and in wide networks that is what makes the
bound of the margin loose. Here the units that matter, those whose upper line the margin takes, are bounded as
if each were a margin. What is found holds everywhere below the root, and a proof states it, with its evidence,
before its tree.

Method: alpha-CROWN for chosen intermediate bounds (theory, section 2).
""",
    "suffice.prove.bundles": """Groups of maxima of the first step, by their tuples: who wins each maximum of the group.

Upper planes of single maxima touch at different inputs. The weighted sum of several maxima is the largest, over
its tuples, of a linear form; one plane above all of these forms is lower than the planes of the single maxima
added up (a mini-bucket bound). A bound then is a constant, less |r|_1 of the residual row, less the offset of
each group's plane: the largest offset that one of its tuples requires. How far a tuple stays below the offset is
its reduced cost. At an input where such a tuple wins, the margin is higher by that much, so tuples whose reduced
cost exceeds the gap to zero are not those of an input at which the label is lost, and are fixed out. Fewer tuples
allow lower planes; two groups can be joined to one that keeps only pairs whose reduced costs fit the gap.

Numbers of the input move within [-1, 1]. They are single precision, and `rounding_slack` is more than rounding can do.

Method: mini-buckets with reduced-cost fixing (theory, section 4).
""",
    "suffice.prove.sieve": """Tuple fixing: a question over maxima of the input decided by who can win them where the label is lost.

Groups of maxima (`tuple_groups`) get better planes, lose the tuples that these fix out, and are joined as long as
that helps; what is left is split on who wins one of the maxima, and both sides go on from where they are. The
proof holds the planes and the joins; its reader does the fixing, and sees that in the end no tuple is left.

Method: reduced-cost fixing of tuples, with splits on winners (theory, section 4).
""",
}

TEXT = [
    (
        'suffice.prove.bounds.ascent',
        '"""Adam for one array, with values kept in float32 so that a certificate can hold them exactly."""',
        '"""Adam for one array in [0, upper], kept in float32 so that a certificate can hold the values\n    exactly."""',
    ),
    (
        'suffice.prove.bounds.ascent',
        '"""The value moved along its gradient and clipped to [0, most]."""',
        '"""The value after one step along its gradient, clipped to [0, upper]."""',
    ),
    (
        'suffice.prove.bounds.ascent',
        '"""Projected ascent on slopes and multipliers, from a first pass; the best dual of each item and its pass.\n\n    `pace` is that of shares: less of it where they are good already.\n    """',
        '"""Projected ascent on the dual variables, from a first pass; the best dual of each item and its\n    pass.\n\n    `iterations` is the most backward passes; it stops earlier where all bounds are above zero or\n    the budget is spent. `share_rate` is the first step of shares of planes: less of it where they\n    are good already.\n    """',
    ),
    (
        'suffice.prove.bounds.ascent',
        '"""The slopes moved along their gradient; of maxima, theta is, and shares move towards the winner."""',
        '"""The slopes alpha after one step; thresholds of maxima along their gradient, lower weights\n    towards the winner.\n\n    `weight_rate` is the fraction of the way to the winner at the relaxed minimiser.\n    """',
    ),
    (
        'suffice.prove.bounds.attained',
        '"""Where each bound is attained, carried forward through the lines: before and after every relu (n, units).\n\n    `added` is what each part of the input adds there to the units whose lines are tilted.\n    """',
        '"""The point where each bound is attained, run through the relaxed network: all arrays (n,\n    units).\n\n    `pre_activations` and `activations` are before and after the lines of each unit; `plane_terms`\n    (n, m, k) is what one whole share of each part of the input adds there to the planes of the\n    first step.\n    """',
    ),
    (
        'suffice.prove.bounds.attained',
        '"""The minimiser of each item run through the relaxed network, along the lines of its pass."""',
        '"""The minimiser of each item run through the relaxed network, along the lines of its pass."""',
    ),
    (
        'suffice.prove.bounds.attained',
        '"""How much the relaxation of each relu (n, units) gives away; of a maximum, at the candidate to split on."""',
        '"""Branching scores (n, units): |coefficient| times the gap between line and unit at the relaxed\n    minimiser.\n\n    Of a maximum, the score stands at the candidate to split on. Units that no split can improve\n    have 0.\n    """',
    ),
    (
        'suffice.prove.bounds.backward',
        '"""Bounds of every hidden unit, step by step; `signs` (n, units) are the splits (+1, -1, 0).\n\n    `known` gives the bounds of a step, from the lines of those before it, where the caller has a quicker way to them:\n    splits of a step do not change its bounds. Raises OutOfTime when the budget is spent on the way.\n    """',
        '"""Bounds of every hidden unit, step by step; `signs` (n, units) are the splits (+1, -1, 0).\n\n    `shortcut` gives the bounds of a step, from those of the steps before it, where the caller has a\n    quicker way to them: splits of a step do not change its bounds. Raises OutOfTime when the budget\n    is spent on the way.\n    """',
    ),
    (
        'suffice.prove.bounds.backward',
        '"""Bounds of a step\'s units, cut at zero where they are split; who wins a maximum is no such split."""',
        '"""Bounds of a step\'s units, clamped at zero where they are split; who wins a maximum is no such\n    split."""',
    ),
    (
        'suffice.prove.bounds.backward',
        '"""Bounds of one step\'s units from the lines of the steps before it; intervals have settled some of them."""',
        '"""Bounds of one step\'s units from the lines of the steps before it, intersected with interval\n    bounds."""',
    ),
    (
        'suffice.prove.bounds.backward',
        '"""Lower bounds (n, r) of the first step\'s rows and of their negatives, piece by piece, without the bias."""',
        '"""Lower bounds (n, r) of the first step\'s rows and of their negatives, chunk by chunk, without\n    the bias."""',
    ),
    (
        'suffice.prove.bounds.backward',
        '"""The same for a later step: its rows are carried back through the lines of the steps before it."""',
        '"""The same for a later step: its rows are carried back through the lines of the steps before\n    it."""',
    ),
    (
        'suffice.prove.bounds.dual',
        '"""What a proof may choose: lower slopes alpha and split multipliers beta, both (n, units).\n\n    And shares (n, m, k) of the lines above first relus, where those are tilted.\n    """',
        '"""Dual variables of a batch: lower slopes alpha and split multipliers beta, both (n, units).\n\n    `plane_shares` (n, m, k) are the shares of the upper planes of the first step, where there are\n    planes.\n    """',
    ),
    (
        'suffice.prove.bounds.dual',
        '"""The new dual for the items that win, this one for the others."""',
        '"""The new dual for the items (n,) that are better with it, this one for the others."""',
    ),
    (
        'suffice.prove.bounds.dual',
        '"""The dual that every search starts from: the relaxation\'s own slopes, no multipliers."""',
        '"""The dual that every ascent starts from: the relaxation\'s own slopes, no multipliers."""',
    ),
    (
        'suffice.prove.bounds.dual',
        '"""The dual as it is written down: with the slopes that were used where there was nothing to choose.\n\n    A reader with slightly other bounds may find that there is, or the other way round: it uses what is written.\n    """',
        '"""The dual in canonical form, as it is written down: where there is no choice, the slopes that\n    were used.\n\n    A reader with slightly other bounds may find that there is a choice, or the other way round: it\n    uses what is written.\n    """',
    ),
    (
        'suffice.prove.bounds.dual',
        '"""The slopes below and above every unit, and the constants above, that a dual chooses."""',
        '"""The slopes below and above every unit, and the intercepts above, that a dual chooses."""',
    ),
    (
        'suffice.prove.bounds.dual',
        '"""The steps with maxima: their places, their groups, and where the candidates are among all units."""',
        '"""The steps with maxima: their index, their groups, and the places of the candidates among all\n    units."""',
    ),
    (
        'suffice.prove.bounds.form',
        '"""A Problem prepared for bounds: hidden steps, margin rows, and how large everything can get.\n\n    `size[k]` bounds |W_k| |h| + |b_k| over everything free, which is what rounding errors are measured by (at smooth\n    curves times their steepness, plus their values, since lines around them have such slopes and intercepts);\n    `reach[k]` bounds the pre-activations of step k over everything free; `toll[k]` is the size, with that of candidates\n    that are left out of a maximum at its first one. All hold for questions about features only,\n    which `about` makes sure of.\n    """',
        '"""A Problem prepared for bounds: hidden steps, margin rows, and the magnitudes that rounding\n    errors are measured by.\n\n    `magnitude[k]` (units of step k) bounds |W_k| |h| + |b_k| over everything free (at smooth curves\n    times their steepness, plus their values, since lines around them have such slopes and\n    intercepts); `interval[k]` bounds the pre-activations of step k over everything free;\n    `error_magnitude[k]` is the magnitude, with that of candidates that are left out of a maximum\n    added at its first one. All hold for questions about features only, which `require_features`\n    makes sure of.\n    """',
    ),
    (
        'suffice.prove.bounds.form',
        '"""Refuse a question in which words move (n, length) that are no features: bounds do not hold there."""',
        '"""Raise ValueError where words move (n, length) that are no features: bounds do not hold\n        there."""',
    ),
    (
        'suffice.prove.bounds.form',
        '"""False when the network can overflow over the region: then nothing here may be believed."""',
        '"""False when the network can overflow over the region: then no bound may be believed."""',
    ),
    (
        'suffice.prove.bounds.form',
        '"""Multiplications that the bounds of all hidden units take for one input set, roughly."""',
        '"""Multiplications that the intermediate bounds of all hidden units take for one input set,\n        roughly."""',
    ),
    (
        'suffice.prove.bounds.form',
        '"""Multiplications that a subproblem takes, roughly: these bounds, and some passes through the network."""',
        '"""Multiplications that a subproblem takes, roughly: these bounds, and some passes through\n        the network."""',
    ),
    (
        'suffice.prove.bounds.form',
        '"""How many input sets can be worked on at once, so that what is kept of each fits a piece of memory."""',
        '"""How many input sets can be bounded at once, so that what is kept of each fits a chunk of\n        memory."""',
    ),
    (
        'suffice.prove.bounds.form',
        '"""The unsettled units of the first step in pieces, each with its rows over the input."""',
        '"""The undecided units of the first step in chunks, each with its rows over the input."""',
    ),
    (
        'suffice.prove.bounds.form',
        '"""By later step, its unsettled units in pieces, so that carrying the rows of one back is quickly done."""',
        '"""By later step, its undecided units in chunks small enough that the clock is looked at\n        often."""',
    ),
    (
        'suffice.prove.bounds.form',
        '"""By step, what is added to bounds of z and of -z (2, units): the bias, less what rounding can take."""',
        '"""By step, what is added to bounds of z and of -z (2, units): the bias, less the rounding\n        error."""',
    ),
    (
        'suffice.prove.bounds.form',
        '"""By step, what rounding can take from a bound for each unit of a coefficient (units,)."""',
        '"""By step (units,), the rounding error of a bound for each unit of a coefficient\'s absolute\n        value."""',
    ),
    (
        'suffice.prove.bounds.form',
        '"""At each step the units whose shape plain intervals leave open.\n\n        The others need no better bounds. They could still show that splits contradict each other, but the checker does\n        not look at them, so such a proof would be rejected.\n        """',
        '"""By step, the units whose relaxation interval bounds leave open: their bounds are worth\n        improving.\n\n        The others need no better bounds. They could still show that splits contradict each other,\n        but the checker does not look at them, so such a proof would be rejected.\n        """',
    ),
    (
        'suffice.prove.bounds.form',
        '"""By step, bounds of its units over everything; units that are passed on as they are count as [0, inf]."""',
        '"""By step, interval bounds of its units over everything; [0, inf] for units that are passed\n        on as they are."""',
    ),
    (
        'suffice.prove.bounds.form',
        '"""How far a margin (rivals,) that is run in doubles can be from the real one."""',
        '"""How far the margin (rivals,) computed in doubles can be from the real one."""',
    ),
    (
        'suffice.prove.bounds.form',
        '"""The form of a problem that many smaller ones stand for, one after the other."""',
        '"""The prepared problem that many reduced ones stand for, one after the other."""',
    ),
    (
        'suffice.prove.bounds.form',
        '"""The form of a problem that stands for another: what rounding is measured by is that of the original.\n\n    So bounds are those that a reader of the original network gets, within what is taken off them.\n    """',
        '"""A reduced problem prepared with the magnitudes of the original, so that rounding is measured\n    as there.\n\n    So bounds are those that a reader of the original network gets, within what is taken off them.\n    """',
    ),
    (
        'suffice.prove.bounds.form',
        '"""Sizes of the units that are kept, with those of candidates that are not at the first of their maximum."""',
        '"""Magnitudes of the kept units; those of dropped candidates are added at the first one of their\n    maximum."""',
    ),
    (
        'suffice.prove.bounds.form',
        '"""The units whose bounds matter: curves, relus that can switch, candidates that can win."""',
        '"""The units (units,) whose bounds matter: curves, relus that can switch, candidates that can\n    win."""',
    ),
    (
        'suffice.prove.bounds.form',
        '"""How many weights a product with the step\'s matrix multiplies by."""',
        '"""How many stored weights a product with the step\'s matrix multiplies by."""',
    ),
    (
        'suffice.prove.bounds.lines',
        '"""For a batch of input sets, bounds of all hidden units in one row (n, units) and the lines they allow.\n\n    relu(z) lies above low·z and below up·z + shift; `loose` marks the unstable units, whose `low` may be any\n    slope in [0, 1]. Units without relu are given as [0, inf], which makes both lines the identity. A smooth curve\n    lies above low·z + floor; there is no `floor` where there are no curves. `live` marks the candidates of maxima that\n    may still win, and `start` has the slopes and the choice of lines to start from; there are none where there are no\n    maxima. The `shift` of a maximum is at its first candidate.\n    """',
        '"""Intermediate bounds and the lines that they allow, for a batch of input sets: all arrays (n,\n    units).\n\n    lower <= z <= upper, and lower_slope·z <= relu(z) <= upper_slope·z + upper_intercept; `unstable`\n    marks the relus whose `lower_slope` may be any slope in [0, 1]. Units without relu are given as\n    [0, inf], which makes both lines the identity. A smooth curve lies above lower_slope·z +\n    lower_intercept (None where there are no curves). `contenders` marks the candidates of maxima\n    that may still win, and `initial_alpha` has the slopes, lower weights and thresholds that an\n    ascent starts from; both are None where there are no maxima. The `upper_intercept` of a maximum\n    is at its first candidate.\n    """',
    ),
    (
        'suffice.prove.bounds.lines',
        '"""Arrays to be filled in, step by step."""',
        '"""Arrays to be filled in, step by step."""',
    ),
    (
        'suffice.prove.bounds.lines',
        '"""The candidates of the maxima of one step, once all bounds are known."""',
        '"""The candidates of the maxima of one step, once all bounds are known."""',
    ),
    (
        'suffice.prove.bounds.lines',
        '"""The units that a split at zero would tell something about."""',
        '"""The units (n, units) whose relaxation a split at zero would improve."""',
    ),
    (
        'suffice.prove.bounds.lines',
        '"""Items whose splits cannot all hold: some unit\'s lower bound is above its upper bound."""',
        '"""Items (n,) whose splits cannot all hold: some unit\'s lower bound is above its upper\n        bound."""',
    ),
    (
        'suffice.prove.bounds.lines',
        '"""Fill in the lines around one step\'s units, whose bounds are known; `signs` (n, units) are its own splits."""',
        '"""Fill in the lines around one step\'s units, whose bounds are known; `signs` (n, units) are its\n    own splits."""',
    ),
    (
        'suffice.prove.bounds.lines',
        '"""Fill in the lines around relu over [lower, upper], valid in real arithmetic whatever the rounding here.\n\n    The line above is flat where `upper` is `near` zero, has the slope one where `lower` is, and is the chord elsewhere.\n    Where a unit is split, one of them is on the right side of zero already.\n    """',
        '"""Fill in the lines around relu over [lower, upper], valid in real arithmetic whatever the\n    rounding here.\n\n    The upper line is flat where `upper` is within `tolerance` of zero or below, has slope one where\n    `lower` is or above, and is the chord elsewhere. Where a unit is split, one of them is on the\n    right side of zero already.\n    """',
    ),
    (
        'suffice.prove.bounds.lines',
        '"""The same for maxima: who may win, and the lines that every search starts from."""',
        '"""The same for maxima: who may win, and the lines that every ascent starts from."""',
    ),
    (
        'suffice.prove.bounds.magnitudes',
        '"""The least and the largest value of every number of the input, a hair outside of a ball."""',
        '"""The smallest box (length, dimension) around a region, a hair larger than a ball."""',
    ),
    (
        'suffice.prove.bounds.magnitudes',
        '"""The smallest box around everything that can be asked about: words that are no features stay where they are."""',
        '"""The smallest box around all inputs that can be asked about: words that are no features do not\n    move."""',
    ),
    (
        'suffice.prove.bounds.magnitudes',
        '"""Sizes and interval bounds of every step over `box`, widened well beyond rounding."""',
        '"""By step, magnitudes and interval bounds over `box`, widened well beyond rounding.\n\n    And the magnitude of what the last of them gives.\n    """',
    ),
    (
        'suffice.prove.bounds.margin',
        '"""One linear form per item over the last hidden step, to be bounded from below: coefficients, constant, size."""',
        '"""One linear form per item over the last hidden step, to be bounded from below (a specification\n    row).\n\n    `coefficients` (n, units of that step), `constant` (n,), and `magnitude` (n,), by which the\n    rounding error of the form itself is measured.\n    """',
    ),
    (
        'suffice.prove.bounds.margin',
        '"""Rows to be bounded, each over its input set and through the lines around its relus; `signs` are the splits.\n\n    Lines above first relus, or first maxima, are tilted where there are `tilts` and the dual has shares.\n    """',
        '"""Rows to be bounded, each over its input set and through its intermediate bounds; `signs` are\n    the splits.\n\n    Where there are `planes`, and the dual has shares of them, they stand for the upper lines of the\n    first step.\n    """',
    ),
    (
        'suffice.prove.bounds.margin',
        '"""What parts of the input can add to the units whose lines are tilted."""',
        '"""The offsets of the planes over the input sets of the batch."""',
    ),
    (
        'suffice.prove.bounds.margin',
        '"""Where a line (n, m) may be tilted: at open relus, and at maxima that several candidates may reach."""',
        '"""Where a plane (n, m) may stand for a line: at unstable relus, and at maxima with several\n        contenders."""',
    ),
    (
        'suffice.prove.bounds.margin',
        '"""One backward pass: the bound of each item, the rows over every relu (n, units) and over the input, the lines."""',
        '"""One backward pass: the bound (n,) of each item and the rows that led to it.\n\n    `unit_coefficients` (n, units) are the coefficients over every hidden unit, `input_coefficients`\n    (n, length, dimension) those over the input; `lines` are the lines that were used, and\n    `planes_taken` the planes.\n    """',
    ),
    (
        'suffice.prove.bounds.margin',
        '"""Sound lower bound (n,) of one row per item over its input set.\n\n    Without a `dual` the lines are the relaxation\'s own. It may hold anything finite: slopes are used on unstable units\n    only and clipped to [0, 1], multipliers on split units only and clipped to >= 0.\n    """',
        '"""Sound lower bound (n,) of one row per item over its input set.\n\n    Without a `dual` the lines are the relaxation\'s own. It may hold anything finite: slopes are\n    used on unstable units only and clipped to [0, 1], multipliers on split units only and clipped\n    to >= 0.\n    """',
    ),
    (
        'suffice.prove.bounds.margin',
        '"""Coefficients of one step\'s units as those of what these are made of, and the constant with that of the lines."""',
        '"""The row over the pre-activations of a step\'s units, and the constant with the lines\'\n    intercepts."""',
    ),
    (
        'suffice.prove.bounds.margin',
        '"""The row over the input, and the constant, with what the tilted lines have of both."""',
        '"""The row over the input, and the constant, with what the planes add to both."""',
    ),
    (
        'suffice.prove.bounds.margin',
        '"""The tilted lines that an item of a pass took, as a proof writes them."""',
        '"""The planes that an item of a pass took, as a proof writes them."""',
    ),
    (
        'suffice.prove.bounds.margin',
        '"""The tilted lines, for those coefficients of the first step (n, units) that take a line above an open unit."""',
        '"""The planes, for those coefficients of the first step (n, units) that are negative at a unit\n    that may have one."""',
    ),
    (
        'suffice.prove.bounds.margin',
        '"""What is left to the other lines; what rounding is measured by counts three times where lines are tilted."""',
        '"""What is left to the other lines; coefficients that planes take count three times for\n    rounding."""',
    ),
    (
        'suffice.prove.bounds.margin',
        '"""The units that tilted lines stand for, all candidates of a maximum, and for each the value (n, m) of its line."""',
        '"""The units that planes stand for, all candidates of a maximum, and for each the value (n, m)\n    of its plane."""',
    ),
    (
        'suffice.prove.tilts',
        '"""What the parts of the input can add to some units, over a batch of input sets."""',
        '"""The offsets of planes as a function of their shares, over a batch of input sets."""',
    ),
    (
        'suffice.prove.tilts',
        '"""The constants c (n, m), and what each part adds (n, m, k) at the input where they are attained."""',
        '"""The offsets c (n, m), and what a whole share of each part adds (n, m, k) where they are\n        attained."""',
    ),
    (
        'suffice.prove.tilts',
        '"""How far each part moves each unit (n, m, k)."""',
        '"""How far each part of the input moves each unit (n, m, k): what steps of shares are\n        measured by."""',
    ),
    (
        'suffice.prove.tilts',
        '"""The units (m,) of the first step that may switch, and the words (w,) that move.\n\n    Parts of the input are these words, or their numbers one by one (`per`).\n    """',
        '"""Upper planes of relus: the units (m,) of the first step that may switch, and the words (w,)\n    that move.\n\n    A plane has a share for each part of the input: for each of these words, or for each of their\n    numbers (`per`).\n    """',
    ),
    (
        'suffice.prove.tilts',
        '"""None where lines above cannot be tilted: with words to choose or to pay for, or too many of them."""',
        '"""None where there can be no planes: with words to choose or to pay for, or with too many\n        shares."""',
    ),
    (
        'suffice.prove.tilts',
        '"""How many shares there are."""',
        '"""How many shares the planes have in all."""',
    ),
    (
        'suffice.prove.tilts',
        '"""The weights (m, length, d), worked out once they are needed: easy questions need none."""',
        '"""The weights (m, length, d), computed once they are needed: easy questions need none."""',
    ),
    (
        'suffice.prove.tilts',
        '"""The weights by word that moves: (w, m, d)."""',
        '"""The weights by word that moves: (w, m, d)."""',
    ),
    (
        'suffice.prove.tilts',
        '"""With what the other words add, which stay as they are."""',
        '"""The bias (m,) with what the other words add, which stay as they are."""',
    ),
    (
        'suffice.prove.tilts',
        '"""The shares (n, m, k) of the chords, whose slopes are among those above all units (n, units)."""',
        '"""The shares (n, m, k) at which planes are the chords, by their slopes among those of all\n        units (n, units)."""',
    ),
    (
        'suffice.prove.tilts',
        '"""What each part of points (n, length, dimension) adds to each unit: (n, m, k)."""',
        '"""What each part of points (n, length, dimension) adds to each unit: (n, m, k)."""',
    ),
    (
        'suffice.prove.tilts',
        '"""Weights (n, m, k) of what the parts add, as rows (n, inputs) over the input."""',
        '"""Coefficients (n, m, k) of what the parts add, as rows (n, inputs) over the input."""',
    ),
    (
        'suffice.prove.tilts',
        '"""How far each part alone can move each unit down and up: (m, k)."""',
        '"""The least and the most that each part alone moves each unit: (m, k)."""',
    ),
    (
        'suffice.prove.tilts',
        '"""Whether all numbers of a word move on their own."""',
        '"""Whether all numbers of a word move independently."""',
    ),
    (
        'suffice.prove.tilts',
        '"""Parts that move independently: the least and the most that each adds (n, m, k)."""',
        '"""Offsets of relu planes over a product of sets, one per part of the input.\n\n    `least_terms` and `most_terms` (n, m, k) are the least and the most that each part adds to each\n    unit.\n    """',
    ),
    (
        'suffice.prove.tilts',
        '"""Words of an attacked text, as many as a budget pays for, go back: what each adds there, and what that changes."""',
        '"""Offsets of relu planes over restorations: words of an attacked text put back within a budget.\n\n    `attacked_terms` (n, m, k) is what each word adds in the attacked text, `restoring_terms` what\n    restoring it changes.\n    """',
    ),
    (
        'suffice.prove.tilts',
        '"""The tilted lines of a pass: the coefficients (n, m) that take them, constants, and where these are attained."""',
        '"""The planes that a pass took: coefficients (n, m), at most 0, and offsets (n, m).\n\n    `contact_terms` (n, m, k) is what a whole share of each part adds at an input where the offset\n    is attained.\n    """',
    ),
    (
        'suffice.prove.tilts',
        '"""Moves shares along their gradient: up where a part adds more where the line touches than at the minimiser.\n\n    Measured by how far the part moves the unit at all, so that every share moves at the same pace.\n    """',
        '"""Momentum ascent on shares: up where a part adds more where the plane touches than at the\n    minimiser.\n\n    Gradients are divided by how far the part moves the unit at all, so that every share moves at\n    the same rate.\n    """',
    ),
    (
        'suffice.prove.tilts',
        '"""Shares as certificates hold them."""',
        '"""Shares as certificates hold them: multiples of 1/SHARE_DENOMINATOR in float32."""',
    ),
    (
        'suffice.prove.peaks',
        '"""Maxima of the first step that may take such lines: `units` (m,) give them, `members` (p,) are their candidates.\n\n    `owner` (p,) is the place of each candidate\'s maximum, `rows` (p, inputs) are the candidates\' weights.\n    """',
        '"""Upper planes of maxima of the first step: `units` (m,) give the maxima, `candidates` (p,) are\n    their units.\n\n    `maximum` (p,) is the index of each candidate\'s maximum, `weights` (p, inputs) and `bias` (p,)\n    are the candidates\' linear forms, `tolerance` (p,) is what bounds of candidates may differ by\n    from reader to reader.\n    """',
    ),
    (
        'suffice.prove.peaks',
        '"""For some of the maxima; None where neither numbers nor words move on their own, or they are too many.\n\n        Shares are measured by all candidates, those of the `whole` step, which a reader looks at.\n        """',
        '"""Planes for the chosen maxima; None where the parts of the input do not move\n        independently, or are too many.\n\n        Shares are measured by all candidates, those of the `full_step`, which a reader looks at.\n        """',
    ),
    (
        'suffice.prove.peaks',
        '"""The same without the other candidates, of which at least one of each maximum is kept."""',
        '"""The same with these candidates alone, at least one of each maximum."""',
    ),
    (
        'suffice.prove.peaks',
        '"""How many shares there are."""',
        '"""How many shares the planes have in all."""',
    ),
    (
        'suffice.prove.peaks',
        '"""What a whole share of each number adds to the line (n, m, inputs)."""',
        '"""What a whole share of each number adds to the plane (n, m, inputs)."""',
    ),
    (
        'suffice.prove.peaks',
        '"""What the line has (n, m) where no number has a share."""',
        '"""The value of the plane (n, m), without its offset, where all shares are 0."""',
    ),
    (
        'suffice.prove.peaks',
        '"""Weights (n, m, inputs) of what shares add, as rows (n, inputs) over the input."""',
        '"""Coefficients (n, m, inputs) of what shares add, as rows (n, inputs) over the input."""',
    ),
    (
        'suffice.prove.peaks',
        '"""The shares (n, m, inputs) of a line that rises with its candidates at these slopes (n, p), or nearly."""',
        '"""The shares (n, m, inputs) of a plane that rises with its candidates at these slopes (n,\n        p), or nearly."""',
    ),
    (
        'suffice.prove.peaks',
        '"""Candidates (n, p) between these bounds that a reader may count, however it rounds."""',
        '"""Candidates (n, p) between these bounds that some reader may count, however it rounds."""',
    ),
    (
        'suffice.prove.peaks',
        '"""The rows (n, m, inputs) of the lines."""',
        '"""The rows a (n, m, inputs) of the planes."""',
    ),
    (
        'suffice.prove.peaks',
        '"""The largest of the candidates that may win (n, m), and who that is."""',
        '"""The largest of the contenders\' values (n, m), and whose it is."""',
    ),
    (
        'suffice.prove.peaks',
        '"""Numbers of the input that move independently, within `radius` (n, inputs) of `middle`."""',
        '"""Offsets of planes of maxima over boxes: numbers move within `radius` (n, inputs) of `middle`."""',
    ),
    (
        'suffice.prove.peaks',
        '"""Where the numbers that candidates see (p, s) are in the rows of all maxima."""',
        '"""Where the numbers that candidates see (p, s) stand in the rows of all planes."""',
    ),
    (
        'suffice.prove.peaks',
        '"""The candidates (n, p) in the middle."""',
        '"""The values of the candidates (n, p) in the middle."""',
    ),
    (
        'suffice.prove.peaks',
        '"""Words of an attacked text, as many as a budget pays for, go back."""',
        '"""Offsets of planes of maxima over restorations: words of an attacked text put back within a\n    budget."""',
    ),
    (
        'suffice.prove.peaks',
        '"""The least and the largest weights (m, inputs) of the candidates of some maxima."""',
        '"""The least and the largest weights (m, inputs) of the candidates of some maxima."""',
    ),
    (
        'suffice.prove.peaks',
        '"""The numbers (p, s) that each row has a weight for, first ones first, and others where there are fewer."""',
        '"""The numbers (p, s) that each row has a weight for, first ones first, padded with others where\n    there are fewer."""',
    ),
    (
        'suffice.prove.climb',
        '"""How many steps, what they are smoothed by and how far they go, at first and in the end."""',
        '"""An annealing schedule: iterations, and temperature and learning rate at first and in the end."""',
    ),
    (
        'suffice.prove.climb',
        '"""The values, which are written over, between -size and size."""',
        '"""The values, written over, clipped to [-limit, limit]."""',
    ),
    (
        'suffice.prove.climb',
        '"""Candidates of some maxima, group by group: their weights, and their values where every number is at 0."""',
        '"""Candidates of some maxima as linear pieces w·y + b: weights (p, numbers), and constants (p,),\n    their values at y = 0."""',
    ),
    (
        'suffice.prove.climb',
        '"""For numbers (inputs,) that move by `radius` around `middle`; those that do not move are left out."""',
        '"""For numbers (inputs,) that move by `radius` around `middle`; those that do not move are\n        left out."""',
    ),
    (
        'suffice.prove.climb',
        '"""The same without the other candidates, of which at least one of each maximum is kept."""',
        '"""The same with these candidates alone, at least one of each maximum."""',
    ),
    (
        'suffice.prove.climb',
        '"""What is known of maxima (n, maxima), for each candidate."""',
        '"""Values of maxima (n, maxima), for each candidate (n, candidates)."""',
    ),
    (
        'suffice.prove.climb',
        '"""Shares (n, candidates) that add up to one in each maximum, by their logarithms, up to a constant."""',
        '"""Weights (n, candidates) that add up to one in each maximum, by their logarithms, up to a\n        constant."""',
    ),
    (
        'suffice.prove.climb',
        '"""Shares (n, candidates) that add up to one in each maximum, by what they are in proportion."""',
        '"""Weights (n, candidates) that add up to one in each maximum, in proportion to the values."""',
    ),
    (
        'suffice.prove.climb',
        '"""The largest weight (maxima, numbers) of a candidate, up or down."""',
        '"""The largest absolute weight (maxima, numbers) of a candidate."""',
    ),
    (
        'suffice.prove.climb',
        '"""Maxima that may take lines above, and some that may take shares of candidates.\n\n    `ends` are the least and the largest weight (maxima, numbers) that a candidate above has, and `width` (maxima,) is\n    how far the candidate that moves furthest moves.\n    """',
        '"""Maxima that take upper planes (`upper`), and those that take weighted means of candidates\n    (`lower`).\n\n    `weight_ends` are the least and the largest weight (maxima, numbers) of the upper candidates:\n    planes stay between them. `max_variation` (maxima,) is the largest |w_p|_1 of a candidate.\n    """',
    ),
    (
        'suffice.prove.climb',
        '"""The same with some of the candidates above."""',
        '"""The same with some of the upper candidates."""',
    ),
    (
        'suffice.prove.climb',
        '"""One by the largest span (maxima, 1) of a number."""',
        '"""1 / the largest weight range (maxima, 1) of a number."""',
    ),
    (
        'suffice.prove.climb',
        '"""The same for each candidate (candidates, 1)."""',
        '"""The same for each candidate (candidates, 1)."""',
    ),
    (
        'suffice.prove.climb',
        '"""One by how far the candidate that moves furthest moves, for each candidate (candidates,)."""',
        '"""1 / (max_variation times CANDIDATE_TEMPERATURE_RATIO), for each candidate (candidates,)."""',
    ),
    (
        'suffice.prove.climb',
        '"""The numbers (candidates, s) that each candidate sees."""',
        '"""The numbers (candidates, s) that each candidate has weights for."""',
    ),
    (
        'suffice.prove.climb',
        '"""Where the numbers that candidates see are in the rows of all maxima."""',
        '"""Where the numbers that candidates see stand in the rows of all planes."""',
    ),
    (
        'suffice.prove.climb',
        '"""Adds up what candidates see, number by number, in the rows of all maxima: a sparse matrix of ones."""',
        '"""Adds up values on the candidates\' numbers, in the rows of all planes: a sparse matrix of\n        ones."""',
    ),
    (
        'suffice.prove.climb',
        '"""How far the weights of candidates are from their lines\' rows (n, maxima, numbers), where they see numbers.\n\n        And how much larger that is than it would be if they did not see them: both (n, candidates, s).\n        """',
        '"""The residuals w_p - a of candidates and their planes\' rows, on the numbers that\n        candidates see.\n\n        And |w_p - a| - |a| there: both (n, candidates, s).\n        """',
    ),
    (
        'suffice.prove.climb',
        '"""The rows, by shares of how far their numbers may go, which are written over."""',
        '"""The rows of planes after a move, given as fractions of the weight ranges, projected\n        between the weight ends."""',
    ),
    (
        'suffice.prove.climb',
        '"""Where constants of lines are attained (n, maxima, numbers): a mean over the candidates that ask for them.\n\n        Of how far each number moves, from -1 to 1.\n        """',
        '"""Where the smoothed offsets of planes are attained (n, maxima, numbers): each number in\n        [-1, 1].\n\n        The mean over candidates, by their win weights, of Huber\'s clipped residuals.\n        """',
    ),
    (
        'suffice.prove.climb',
        '"""How far each candidate that may win (n, candidates) does so, where candidates ask for constants of lines."""',
        '"""The softmax weights (n, candidates) of contenders in the smoothed offsets of their\n        planes."""',
    ),
    (
        'suffice.prove.climb',
        '"""One set of free words: the land in coordinates in which `middle` and `radius` (inputs,) say how numbers move."""',
        '"""One set of free words in coordinates y in [-1, 1]: x = middle + radius·y, both (inputs,).\n\n    `plane_problem` has the maxima in these coordinates.\n    """',
    ),
    (
        'suffice.prove.climb',
        '"""While words (length,) are free, with the candidates (units,) that may win; `below` are places of maxima."""',
        '"""While words (length,) are free, with the contenders (units,); `lower_maxima` are the\n        indices of maxima."""',
    ),
    (
        'suffice.prove.climb',
        '"""Points of the input, from numbers (n, moving) between -1 and 1."""',
        '"""Inputs (n, length, dimension) from numbers (n, moving) in [-1, 1]."""',
    ),
    (
        'suffice.prove.climb',
        '"""As certificates hold them; numbers that do not move have none."""',
        '"""Shares (n, maxima, inputs) of these rows, as certificates hold them; numbers that do not\n        move have none."""',
    ),
    (
        'suffice.prove.climb',
        '"""Subproblems: rows of lines above (n, maxima, numbers), logarithms of shares below, and who may win above.\n\n    `push` and `pull` (n, maxima) are what maxima above and below are weighted with, both at least 0; `rest` (n,\n    numbers) and `constant` (n,) are what else there is in row and bound.\n    """',
        '"""Subproblems of an ascent: rows of planes (n, maxima, numbers), logarithms of lower weights,\n    contenders.\n\n    `upper_coefficients` and `lower_coefficients` (n, maxima), at least 0, are the absolute\n    coefficients of the maxima that take planes and of those that take lower weights; `other_row`\n    (n, numbers) and `other_constant` (n,) are what else there is in residual row and bound.\n    """',
    ),
    (
        'suffice.prove.climb',
        '"""What a climb found: rows, shares below, and guesses at where the margin is least (n, numbers) and who wins there.\n\n    `loss` (n, maxima) is what the lines above give away there.\n    """',
        '"""The best planes and lower weights that an ascent found, and its smoothed minimiser.\n\n    `minimiser` (n, numbers) guesses where the margin is least, `win_weights` (n, candidates) who\n    wins there, and `relaxation_gap` (n, maxima) is what the planes give away there.\n    """',
    ),
    (
        'suffice.prove.climb',
        '"""Bounds (n,) and their rows (n, numbers); the shares below, and what the lines above are made of.\n\n    `away` (n, candidates, s) is how far the weights of candidates are from their line\'s, `reach` (n, candidates) what\n    each of them asks of its line\'s constant, and `top` (n, maxima) the largest of that.\n    """',
        '"""The dual value: bounds (n,), their residual rows (n, numbers), lower weights, and what the\n    offsets are made of.\n\n    `residuals` (n, candidates, s) are w_p - a, `required_offsets` (n, candidates) what each\n    candidate requires of its plane\'s offset, and `offsets` (n, maxima) the largest of these.\n    """',
    ),
    (
        'suffice.prove.climb',
        '"""What bounds are where a climb is, and the shares that they come from."""',
        '"""A dual value: its bounds (n,) and the lower weights that they come from."""',
    ),
    (
        'suffice.prove.climb',
        '"""A climb: the rows it has come to, the view from there, and a step along smoothed bounds."""',
        '"""A smoothed ascent: the planes it has come to, their dual value, and a step along the smoothed\n    bound."""',
    ),
    (
        'suffice.prove.climb',
        '"""The last view of a climb, and the rows and shares that gave the best bound of each subproblem on the way."""',
        '"""The last dual value of an ascent, and the planes and weights of the best bound of each\n    subproblem on the way."""',
    ),
    (
        'suffice.prove.climb',
        '"""One climb: where the subproblems are, and how they got there."""',
        '"""Smoothed ascent over boxes: its subproblems, its current planes and lower weights, and the\n    moments of Adam."""',
    ),
    (
        'suffice.prove.climb',
        '"""Steps along the smoothed bounds; what gave the best bound of each subproblem on the way."""',
        '"""The planes and weights of the best bounds on the way, and the smoothed minimiser at the\n        end."""',
    ),
    (
        'suffice.prove.climb',
        '"""Where the margin is least (n, numbers), and how far each candidate wins there (n, candidates)."""',
        '"""Where the smoothed bound is attained (n, numbers), and the candidates\' win weights (n,\n        candidates)."""',
    ),
    (
        'suffice.prove.climb',
        '"""What the lines above give away (n, maxima) where the margin is least."""',
        '"""What the planes give away (n, maxima) at the minimiser, times their coefficients."""',
    ),
    (
        'suffice.prove.climb',
        '"""The logarithms of shares after a step towards the candidates that are larger where numbers are `at`."""',
        '"""Logarithms of lower weights after an Adam step towards the candidates that are larger at the\n    minimiser."""',
    ),
    (
        'suffice.prove.climb',
        '"""The rows, which are those of the candidate where one is left."""',
        '"""The planes\' rows; where one contender is left, that contender\'s weights."""',
    ),
    (
        'suffice.prove.climb',
        '"""How large numbers of rows usually are (n, 1), whatever the lines."""',
        '"""How large numbers of residual rows usually are (n, 1), whatever the planes."""',
    ),
    (
        'suffice.prove.climb',
        '"""Better bounds and the duals they are those of; points where margins may be least; and what splits may bring.\n\n    `loss` (n, units) is what the line above each maximum of the first step gives away, at the candidate to split on.\n    """',
        '"""Better bounds with their duals; points where margins may be least; and branching scores.\n\n    `branching_scores` (n, units) is what the plane of each maximum of the first step gives away, at\n    the candidate to split on.\n    """',
    ),
    (
        'suffice.prove.climb',
        '"""Where all splits together could not lift the bound above zero: better lines below must."""',
        '"""Items (n,) that all splits together could not lift above zero: better lower weights must."""',
    ),
    (
        'suffice.prove.climb',
        '"""For subproblems over one set of free words; no share below begins lower than `least`."""',
        '"""For subproblems over one set of free words; lower weights start at `min_weight` or higher."""',
    ),
    (
        'suffice.prove.climb',
        '"""The subproblems as climbers see them; what is not theirs to change is what is left of row and bound."""',
        '"""The subproblems in normalised coordinates; what the ascent does not change goes into\n    other_row and other_constant."""',
    ),
    (
        'suffice.prove.climb',
        '"""Without the candidates that are far below their lines: while rows change a little, these hardly ever count."""',
        '"""Without the candidates far below their planes: where planes change a little, these hardly\n    ever count."""',
    ),
    (
        'suffice.prove.climb',
        '"""The slopes with these shares below; the first candidate of a maximum has what the others leave."""',
        '"""The slopes alpha with these lower weights; the first candidate of a maximum has what the\n    others leave."""',
    ),
    (
        'suffice.prove.climb_back',
        '"""One attacked text: its land, where what putting each word back adds to a candidate is its row."""',
        '"""One attacked text: how far word i is restored is r_i in [0, 1], x = attacked + r·restoring.\n\n    `plane_problem` has the maxima in these coordinates: a candidate\'s weights (length,) are what\n    restoring each word adds to it. `cost` (length,) is what restoring it takes of the budget.\n    """',
    ),
    (
        'suffice.prove.climb_back',
        '"""From the text of the first of these inputs, with the candidates (units,) that may win."""',
        '"""From the attacked text of the first of these inputs, with the contenders (units,)."""',
    ),
    (
        'suffice.prove.climb_back',
        '"""What the numbers of rows are measured by."""',
        '"""The mean absolute weight of candidates: what steps and smoothing are measured by."""',
    ),
    (
        'suffice.prove.climb_back',
        '"""What putting each word back adds at least and at most (maxima, length) to a line of the proof."""',
        '"""What restoring each word adds at least and at most (maxima, length) to a plane of the\n        proof."""',
    ),
    (
        'suffice.prove.climb_back',
        '"""Subproblems: how far words are put back, `radius` around `middle` (n, length), for a cost `left` (n,) in all.\n\n    The rest is as in `climb.Start`.\n    """',
        '"""Subproblems: restored fractions within `radius` of `middle` (n, length), at a cost of at most\n    `cost_left` (n,).\n\n    The rest is as in `plane_ascent.AscentStart`.\n    """',
    ),
    (
        'suffice.prove.climb_back',
        '"""One climb: where the subproblems are, and how they got there."""',
        '"""Smoothed ascent over restorations: subproblems, planes, lower weights, the budget\'s\n    multiplier, moments of Adam."""',
    ),
    (
        'suffice.prove.climb_back',
        '"""The rows and shares of the best bounds, and what lines lose by each word (n, length) in the end."""',
        '"""The planes and weights of the best bounds, and what planes lose by each word (n, length)\n        in the end."""',
    ),
    (
        'suffice.prove.climb_back',
        '"""The gain (n, 1) of the first word that cannot be paid for, those with the largest gains being put back."""',
        '"""The gain per cost (n, 1) of the best word beyond the budget, when words are bought in\n        order of it."""',
    ),
    (
        'suffice.prove.climb_back',
        '"""How far words are put back where the bound is attained (n, length), and how far each candidate wins there."""',
        '"""The restored fractions where the smoothed bound is attained (n, length), and the\n        candidates\' win weights."""',
    ),
    (
        'suffice.prove.climb_back',
        '"""Better bounds and the duals they are those of, and what lines lose by each word (n, length)."""',
        '"""Better bounds with their duals, and what planes lose by each word (n, length), a score to\n    split on."""',
    ),
    (
        'suffice.prove.climb_back',
        '"""For subproblems about one attacked text; no share below begins lower than `least`."""',
        '"""For subproblems about one attacked text; lower weights start at `min_weight` or higher."""',
    ),
    (
        'suffice.prove.maxima',
        '"""Bounds of candidates (n, candidates), those that may still win, and what that leaves of their maxima.\n\n    Candidates that move by no more than `near` (candidates,) count as constants.\n    """',
        '"""Bounds of candidates (n, candidates), and the contenders: those that may still win.\n\n    Candidates that move by no more than `tolerance` (candidates,) count as constants.\n    """',
    ),
    (
        'suffice.prove.maxima',
        '"""The largest lower bound (n, groups) of those that may win: theta is not below it."""',
        '"""The largest lower bound (n, groups) of the contenders: theta is not below it."""',
    ),
    (
        'suffice.prove.maxima',
        '"""The groups (n, groups) of which one candidate is left."""',
        '"""The groups (n, groups) with one contender."""',
    ),
    (
        'suffice.prove.maxima',
        '"""Who may win by the splits (+1: this one, -1: another) and by the bounds; and where nobody can (n, candidates)."""',
        '"""The contenders by the splits (+1: this one, -1: another) and by the bounds; and where nobody\n    can win (n, candidates)."""',
    ),
    (
        'suffice.prove.maxima',
        '"""The choice (n, candidates) that every search starts from.\n\n    All of the share goes to the candidate with the largest lower bound, theta to the second largest upper bound.\n    """',
        '"""The choice (n, candidates) that every ascent starts from.\n\n    All of the lower weight goes to the contender with the largest lower bound, theta to the second\n    largest upper bound.\n    """',
    ),
    (
        'suffice.prove.maxima',
        '"""Slopes below and above (n, candidates), and the constant above (n, groups), right whatever the rounding here."""',
        '"""Slopes below and above (n, candidates), and the intercept above (n, groups), valid whatever\n    the rounding here."""',
    ),
    (
        'suffice.prove.maxima',
        '"""A choice in which a maximum of one candidate is that candidate."""',
        '"""A choice in which a maximum of one contender is that contender."""',
    ),
    (
        'suffice.prove.maxima',
        '"""The shares that a choice means: none below zero, and together one."""',
        '"""The lower weights that a choice means: none below zero, and together one."""',
    ),
    (
        'suffice.prove.maxima',
        '"""The theta (n, groups) that a choice means."""',
        '"""The threshold theta (n, groups) that a choice means."""',
    ),
    (
        'suffice.prove.maxima',
        '"""How fast the line above rises (n, groups) with the choice of theta, at z (n, candidates)."""',
        '"""How fast the upper line rises (n, groups) with the choice of theta, at pre-activations (n,\n    candidates)."""',
    ),
    (
        'suffice.prove.tangents',
        '"""Take the new line where it is closer to the curve in the middle of the interval."""',
        '"""Take the new line where it is closer to the curve in the middle of the interval."""',
    ),
    (
        'suffice.prove.narrow',
        '"""Bounds of all hidden units (units,), infinite where nothing better is known, and the proofs of the others."""',
        '"""Bounds of all hidden units (units,), infinite where nothing better is known, and the proofs\n    of the finite ones."""',
    ),
    (
        'suffice.prove.narrow',
        '"""Bounds (n, units) of a step, narrowed."""',
        '"""Bounds (n, units) of a step, intersected with the refined ones."""',
    ),
    (
        'suffice.prove.narrow',
        '"""With one more bound."""',
        '"""With one more proved bound."""',
    ),
    (
        'suffice.prove.narrow',
        '"""Whether the network has relus only, in several hidden steps, so that bounds of the later ones can be narrowed."""',
        '"""Whether the network has relus only, in several hidden steps: then bounds of the later ones\n    can be refined."""',
    ),
    (
        'suffice.prove.narrow',
        '"""Bounds, over one input set, of the open units whose lines above the margin\'s rows take."""',
        '"""Refined bounds, over one input set, of the unstable units whose upper lines the margin\'s rows\n    take."""',
    ),
    (
        'suffice.prove.narrow',
        '"""Bounds of the hidden units with those that are known to be narrower."""',
        '"""Intermediate bounds, intersected with the refined ones."""',
    ),
    (
        'suffice.prove.narrow',
        '"""The open units of a step with coefficients below zero, those first that lose most by their lines."""',
        '"""The unstable units of a step with negative coefficients, those first whose upper lines cost\n    most."""',
    ),
    (
        'suffice.prove.narrow',
        '"""With better bounds of one unit: first of the side that is closer to zero, as it may settle the unit."""',
        '"""With better bounds of one unit: first of the side closer to zero, as it may make the unit\n    stable."""',
    ),
    (
        'suffice.prove.narrow',
        '"""The best bound found of a unit from below (sign 1) or from above (-1), less what its reader may round."""',
        '"""The best bound found of a unit from below (sign 1) or from above (-1), less the rounding\n    error of its own sum."""',
    ),
    (
        'suffice.prove.narrow',
        '"""The form of the steps before one, whose units are the margins."""',
        '"""The problem cut off before a step, whose units are the margins."""',
    ),
    (
        'suffice.prove.narrow',
        '"""The bounds of the first units."""',
        '"""The bounds of the first `count` units."""',
    ),
    (
        'suffice.prove.narrow',
        '"""What may be tilted: lines above open relus of the first step, where it is known those that take such lines."""',
        '"""Planes of the unstable relus of the first step; with one step before it, of those the row\n    takes from above."""',
    ),
    (
        'suffice.prove.bundles',
        '"""Some maxima, and the choices of who wins each of them that are left.\n\n    `winners` (n, maxima) are candidates; `rows` (n, numbers) and `own` (n,) are their weighted sums; `row`\n    (numbers,) is that of the line above, and `reach` (n,) what each choice asks of its constant. `parts` are the places\n    of the bundles that it was when a proof was last written, `size` is how large a sum can be, and `near` are the\n    choices that climbs looked at.\n    """',
        '"""A group of maxima and its tuples that are left: who wins each of them.\n\n    `winners` (n, maxima) are candidates, `weights` (n, numbers) and `constants` (n,) the weighted\n    sums of their linear pieces; `plane_row` (numbers,) is the row of the group\'s plane, and\n    `required_offsets` (n,) what each tuple requires of its offset. `joined_from` are the indices of\n    the groups that it was when a proof was last written, `magnitude` bounds the sums, and\n    `active_set` are the tuples that ascents looked at.\n    """',
    ),
    (
        'suffice.prove.bundles',
        '"""With another line above."""',
        '"""With another plane."""',
    ),
    (
        'suffice.prove.bundles',
        '"""How far each choice stays below the line\'s constant (n,)."""',
        '"""How far each tuple stays below the plane\'s offset (n,), at least 0."""',
    ),
    (
        'suffice.prove.bundles',
        '"""With these choices alone."""',
        '"""With these tuples (n,) alone."""',
    ),
    (
        'suffice.prove.bundles',
        '"""With these choices alone, where they are so few that it is worth while to take the others out."""',
        '"""With these tuples alone, where they are few enough that copying them is worth while."""',
    ),
    (
        'suffice.prove.bundles',
        '"""The choices of the largest reach, as many as that."""',
        '"""The indices of the `count` tuples that require the largest offsets."""',
    ),
    (
        'suffice.prove.bundles',
        '"""|rows - row|, number by number added up (n,), piece by piece."""',
        '"""|weights - row|_1 (n,), chunk by chunk."""',
    ),
    (
        'suffice.prove.bundles',
        '"""Bundles of all maxima that take lines above, and logarithms of shares below the others.\n\n    `pull` (1, maxima) is what the others are weighted with, and `constant` (1,) what else there is in the bound.\n    """',
        '"""Groups of all maxima that take planes, and logarithms of the lower weights of the others.\n\n    `lower_coefficients` (1, maxima) are the coefficients of the others, and `other_constant` (1,)\n    what else there is in the bound.\n    """',
    ),
    (
        'suffice.prove.bundles',
        '"""What is left of the row (numbers,) once all lines are taken off."""',
        '"""The residual row (numbers,) once the rows of all planes are taken off."""',
    ),
    (
        'suffice.prove.bundles',
        '"""The bound without row and lines above."""',
        '"""The bound without residual row and offsets."""',
    ),
    (
        'suffice.prove.bundles',
        '"""What is above zero by that is so however it is rounded."""',
        '"""A bound on the error of `bound` however it is rounded, here or by a reader."""',
    ),
    (
        'suffice.prove.bundles',
        '"""Whether no input is left at which the label is lost."""',
        '"""Whether some group has no tuple left: no input is left at which the label is lost."""',
    ),
    (
        'suffice.prove.bundles',
        '"""How much choices may stay below their lines in all."""',
        '"""The gap between bound and zero, with slack: reduced costs beyond it are fixed out."""',
    ),
    (
        'suffice.prove.bundles',
        '"""Without the choices that would lift the margin above zero."""',
        '"""Without the tuples whose reduced cost exceeds the gap (reduced-cost fixing)."""',
    ),
    (
        'suffice.prove.bundles',
        '"""Where another candidate wins the maximum, and where this one does."""',
        '"""Where another candidate wins the maximum, and where this one does."""',
    ),
    (
        'suffice.prove.bundles',
        '"""After a proof was written of it: from now on parts are these bundles."""',
        '"""After a proof was written of it: from now on `joined_from` counts these groups."""',
    ),
    (
        'suffice.prove.bundles',
        '"""Two bundles, and for each choice of the first how many of the second fit it, in the order of what these lack."""',
        '"""Two groups to be joined, and for each tuple of the first how many of the second fit it, by\n    their reduced costs."""',
    ),
    (
        'suffice.prove.bundles',
        '"""Pairs of bundles, each in one at most, that lower the lines most and have no more than `most` choices.\n\n    What a pair gains is guessed by the `look` choices of either with the largest reach.\n    """',
        '"""Pairs of groups, each group in one at most, that lower offsets most and have no more than\n    `max_tuples` tuples.\n\n    What a join gains is estimated by the `sample` tuples of either that require the largest\n    offsets.\n    """',
    ),
    (
        'suffice.prove.bundles',
        '"""For each choice, how many of the other bundle stay below their lines by no more than there is room for."""',
        '"""For each tuple, how many of the other group have a reduced cost that together with its own\n    fits the gap."""',
    ),
    (
        'suffice.prove.bundles',
        '"""With these bundles joined."""',
        '"""With these pairs of groups joined."""',
    ),
    (
        'suffice.prove.bundles',
        '"""The choices of both that fit each other."""',
        '"""The pairs of tuples of both groups that fit the gap, as one group."""',
    ),
    (
        'suffice.prove.bundles',
        '"""By how much lines of pairs (i, j), i > j, are lower than their lines added up."""',
        '"""By how much the offsets of pairs (i, j), i > j, are lower than their offsets added up."""',
    ),
    (
        'suffice.prove.bundles',
        '"""Where the margin is least (1, numbers); what each bundle\'s line gives away there, and how far choices win it."""',
        '"""A primal guess: the minimiser (1, numbers), each group\'s relaxation gap there, and its\n    tuples\' win weights."""',
    ),
    (
        'suffice.prove.bundles',
        '"""The maximum, of the bundles that give away most, and the candidate that wins it about half of the time."""',
        '"""The maximum, of the groups with the largest gaps, and the candidate whose win weight is\n        closest to half."""',
    ),
    (
        'suffice.prove.bundles',
        '"""Better lines, as steps along smoothed bounds find them with the choices that count most; a guess by them.\n\n    Where others turn out to count, nothing changes but that the next climb looks at them too.\n    """',
        '"""Better planes, by smoothed ascent over the tuples of the active sets; and a primal guess.\n\n    Where tuples outside of the active sets turn out to bind, nothing changes but that these join\n    them for the next.\n    """',
    ),
    (
        'suffice.prove.bundles',
        '"""The choices that a climb looks at as candidates, the bundles as maxima."""',
        '"""The tuples of the active sets as candidates, the groups as maxima."""',
    ),
    (
        'suffice.prove.sieve',
        '"""The proof of an item without splits, as far as the budget\'s subproblems go.\n\n    `tried` says of a point, as numbers between -1 and 1, whether it answers the question: there is no proof then.\n    """',
        '"""The proof of an item without splits, as far as the budget\'s subproblems go.\n\n    `is_answer` says of a point, as numbers in [-1, 1], whether it answers the question: there is no\n    proof then.\n    """',
    ),
    (
        'suffice.prove.sieve',
        '"""What is asked: the form, where it climbs, how many choices may be looked at, and who tries points for real."""',
        '"""What stays the same in a run: problem, coordinates, slopes alpha, tuple limit, budget, and\n    the test of points."""',
    ),
    (
        'suffice.prove.sieve',
        '"""How many choices one bundle may have."""',
        '"""How many tuples one group may have."""',
    ),
    (
        'suffice.prove.sieve',
        '"""One run: the stages of the part it is at, what the last of them left, and how many parts it may still look at.\n\n    It is `over` once a point has answered the question, or there are too many choices to look at.\n    """',
        '"""One run of fixing and splitting: the stages of the node it is at, and how many nodes it may\n    still look at.\n\n    It is `stopped` once a point has answered the question, or there are too many tuples.\n    """',
    ),
    (
        'suffice.prove.sieve',
        '"""The proof of what is left, or None."""',
        '"""The proof of what is left, or None."""',
    ),
    (
        'suffice.prove.sieve',
        '"""In pairs, then in fours."""',
        '"""Joined in pairs, then in fours, with ascents between."""',
    ),
    (
        'suffice.prove.sieve',
        '"""Joined as long as there are so few choices that this is quick."""',
        '"""Joined further while there are few enough tuples that this is quick."""',
    ),
    (
        'suffice.prove.sieve',
        '"""Joined by lines that the proof says."""',
        '"""Joined under planes that the proof has."""',
    ),
    (
        'suffice.prove.sieve',
        '"""Whether the point where the margin is least, as far as lines tell, answers the question."""',
        '"""Whether the guessed minimiser answers the question."""',
    ),
    (
        'suffice.prove.sieve',
        '"""Sifted and with better lines, in turns."""',
        '"""Tuples fixed and planes improved, in rounds."""',
    ),
    (
        'suffice.prove.sieve',
        '"""Without choices that are out; where these are few, they stay, as the proof would be longer by all others."""',
        '"""Tuples fixed out; where these are few, they stay, as a stage of the proof costs more than\n        they do."""',
    ),
    (
        'suffice.prove.sieve',
        '"""Who wins one of the maxima, and who does not: both sides."""',
        '"""A split on who wins one of the maxima: another candidate, and this one."""',
    ),
    (
        'suffice.prove.sieve',
        '"""Every maximum that takes a line above as a bundle of its own, with the candidates that may win it."""',
        '"""Every maximum that takes a plane as a group of its own, with its contenders as tuples."""',
    ),
    (
        'suffice.prove.sieve',
        '"""The units (units,) that a reader may let win, however it rounds."""',
        '"""The units (units,) that some reader may let win, however it rounds."""',
    ),
    (
        'suffice.prove.bounds.attained',
        '# splits bring the line above closer; below, shares are as good as it gets',
        '# a split improves the line above; below, lower weights are as good as it gets',
    ),
    (
        'suffice.prove.bounds.dual',
        '# below and above every unit (n, units), and the constants above',
        '# lower slopes, upper slopes, upper intercepts (n, units)',
    ),
    (
        'suffice.prove.bounds.form',
        '# through the network for a subproblem, and what it takes where there are maxima',
        '# passes through the network per subproblem, without and with maxima: a rough estimate',
    ),
    (
        'suffice.prove.bounds.form',
        '# multiplications between two looks at the clock',
        '# multiplications per chunk: between two looks at the clock',
    ),
    (
        'suffice.prove.bounds.form',
        '# the form with all units, where this one has only some',
        '# the problem with all units, where this one has only some',
    ),
    (
        'suffice.prove.bounds.form',
        '# and the places of its hidden units among all of them',
        '# the indices of its hidden units among those of the full problem',
    ),
    (
        'suffice.prove.bounds.lines',
        '# Bounds as far below zero as above it, and those that touch zero, which whole numbers often have, get the same lines\n# by every reader, however it rounds: a share of their distance, and a share of the size of what is added up.',
        '# Bounds as far below zero as above it, and those that touch zero, which whole numbers often have, get the\n# same lines by every reader, however it rounds: a ratio of the two bounds, and a fraction of the magnitude.',
    ),
    (
        'suffice.prove.bounds.lines',
        '# a contradiction',
        '# an empty interval: the item is infeasible',
    ),
    (
        'suffice.prove.bounds.magnitudes',
        '# Products of numbers up to LARGE that underflow lose less than TINY times the rounding error in all.',
        '# Products of numbers up to OVERFLOW_LIMIT that underflow lose less than UNDERFLOW_CUSHION times the rounding\n# error in all.',
    ),
    (
        'suffice.prove.tilts',
        '# shares that a proof chooses for one subproblem',
        '# shares of planes in one subproblem, at most: more take too much time and memory',
    ),
    (
        'suffice.prove.tilts',
        '# of shares, at most, in one step of ascent',
        '# largest change of a share in the first iteration',
    ),
    (
        'suffice.prove.tilts',
        '# shares are whole multiples of this part of one: certificates stay short',
        '# shares are multiples of 1/SHARE_DENOMINATOR: certificates stay short',
    ),
    (
        'suffice.prove.peaks',
        '# weights of candidates that are kept dense',
        '# weights of candidates kept as a dense array, at most',
    ),
    (
        'suffice.prove.peaks',
        '# from there to the largest',
        '# from there to the largest (m, inputs)',
    ),
    (
        'suffice.prove.peaks',
        '# the numbers (p, s) that each candidate sees; others fill up the rest',
        '# the numbers (p, s) that each candidate has weights for, padded with others',
    ),
    (
        'suffice.prove.climb',
        '# times as fast as rows, the logarithms of shares move',
        '# rate of logarithms of lower weights / rate of rows of planes',
    ),
    (
        'suffice.prove.climb',
        '# times as much as what numbers are smoothed by, candidates are',
        "# temperature of log-sum-exp over candidates / that of Huber's function over numbers",
    ),
    (
        'suffice.prove.climb',
        "# of the usual size of a row's numbers: what smoothing is measured by",
        "# Huber's width at temperature 1 is the usual size of a row's numbers divided by this",
    ),
    (
        'suffice.prove.climb',
        '# of the mean slope and of its mean square',
        "# of Adam's mean gradient and mean squared gradient",
    ),
    (
        'suffice.prove.climb',
        '# shares below that begin higher than this belong to rows that are not good yet',
        '# lower weights that start at this or higher: planes are not good yet, all candidates are kept',
    ),
    (
        'suffice.prove.climb',
        '# logarithm of a share',
        '# lower weights never fall below exp of this, relative to the largest',
    ),
    (
        'suffice.prove.climb',
        '# of the first bound: how far above zero is far enough, as rows are rounded later',
        '# fraction of the first |bound| above zero that ends an ascent: rows are rounded later',
    ),
    (
        'suffice.prove.climb',
        '# of how far candidates move: those further below the largest are left out where rows are good',
        '# fraction of max_variation: candidates further below the largest are left out where planes are good',
    ),
    (
        'suffice.prove.climb',
        '# shares of rows are whole multiples of this part of one',
        '# shares of planes are multiples of 1/ROW_SHARE_DENOMINATOR',
    ),
    (
        'suffice.prove.climb',
        '# --- where one climbs ---',
        '# --- the problem in normalised coordinates ---',
    ),
    (
        'suffice.prove.climb',
        '# --- rows of lines above, in these coordinates, and as shares ---',
        '# --- rows of planes, in these coordinates, and as shares ---',
    ),
    (
        'suffice.prove.climb',
        '# --- climbing ---',
        '# --- smoothed ascent ---',
    ),
    (
        'suffice.prove.climb',
        '# of lines that can be chosen',
        '# of planes that are free: several contenders',
    ),
    (
        'suffice.prove.climb',
        '# --- from bounds and back ---',
        '# --- from backward bounds and back ---',
    ),
    (
        'suffice.prove.climb_back',
        '# times as much as what words usually add to candidates: what smoothing is measured by',
        "# Huber's width at temperature 1 is the mean absolute weight times this",
    ),
    (
        'suffice.prove.climb_back',
        '# times as much, the price moves by',
        "# step of the budget's multiplier at rate 1 is the mean absolute weight times this",
    ),
    (
        'suffice.prove.climb_back',
        '# as words are put back from 0 to 1, and numbers of the input move from -1 to 1',
        '# words are restored from 0 to 1, while numbers of a box move from -1 to 1',
    ),
    (
        'suffice.prove.climb_back',
        '# --- rows over words, and shares of numbers ---',
        '# --- rows of planes over words, and shares of numbers ---',
    ),
    (
        'suffice.prove.climb_back',
        '# candidates with words halfway back',
        '# values of candidates with words halfway restored',
    ),
    (
        'suffice.prove.climb_back',
        '# of lines that can be chosen',
        '# of planes that are free: several contenders',
    ),
    (
        'suffice.prove.climb_back',
        '# put back already',
        '# restored already',
    ),
    (
        'suffice.prove.maxima',
        '# of the way to the largest upper bound: lower bounds that close together count as equal',
        '# fraction of the way to the largest upper bound: lower bounds closer than that count as equal',
    ),
    (
        'suffice.prove.maxima',
        '# m is at least that, whoever wins',
        '# the maximum is at least that, whoever wins',
    ),
    (
        'suffice.prove.tangents',
        '# cells that an interval is cut into',
        '# cells of the grid over an interval',
    ),
    (
        'suffice.prove.tangents',
        "# at every such point of the grid the curve's slope is tried",
        "# the curve's slope is tried at every such point of the grid",
    ),
    (
        'suffice.prove.narrow',
        '# of ascent for each bound',
        '# iterations of ascent for each bound',
    ),
    (
        'suffice.prove.bundles',
        '# choices whose reach is worked out at a time: they stay in the cache',
        '# tuples whose distances are computed at a time: they stay in the cache',
    ),
    (
        'suffice.prove.bundles',
        '# four times what one rounding of a single changes',
        '# four times the unit roundoff of single precision',
    ),
    (
        'suffice.prove.bundles',
        '# times as many choices as a climb looks at anew are kept from climbs before',
        '# times the tuples looked at anew: an active set larger than that starts afresh',
    ),
    (
        'suffice.prove.bundles',
        '# of choices: where more are left, all are kept',
        '# fraction of the tuples: where more are left, all are kept',
    ),
    (
        'suffice.prove.bundles',
        '# below which no share below a maximum begins',
        '# lower weights start an ascent at this or higher',
    ),
    (
        'suffice.prove.bundles',
        '# what is not a number is no reason',
        '# NaN fixes nothing out',
    ),
    (
        'suffice.prove.bundles',
        '# --- joining ---',
        '# --- joining groups ---',
    ),
    (
        'suffice.prove.bundles',
        '# --- climbing ---',
        '# --- better planes ---',
    ),
    (
        'suffice.prove.sieve',
        '# choices of each bundle that are looked at to join pairs, to climb, and at first',
        '# tuples per group: that joins of pairs are chosen by, of an active set, and of the first ones',
    ),
    (
        'suffice.prove.sieve',
        '# what each candidate has below a maximum at least',
        '# lower weights start at this or higher',
    ),
    (
        'suffice.prove.sieve',
        '# choices up to which bundles of four are joined further',
        '# tuples in all up to which groups of four are joined further',
    ),
    (
        'suffice.prove.sieve',
        '# bundles that give away most: one of their maxima is split on',
        '# groups with the largest gaps: one of their maxima is split on',
    ),
    (
        'suffice.prove.sieve',
        '# that bundles may have in all, at most and for each subproblem that is allowed',
        '# tuples of all joins of a round: at most, and per subproblem of the budget',
    ),
    (
        'suffice.prove.sieve',
        '# subproblems that take as long as one part',
        '# subproblems of the budget that one node takes as long as',
    ),
    (
        'suffice.prove.sieve',
        '# choices that one bundle may have, and numbers that these may have in all',
        '# tuples of one group, and numbers in their weights',
    ),
    (
        'suffice.prove.sieve',
        '# of all choices: where no more are left, a sieve is worth a line of the proof',
        '# fraction of the tuples: where no more are left, fixing is written as a stage of the proof',
    ),
    (
        'suffice.prove.sieve',
        '# times that bundles of four are joined further, at most',
        '# times that groups of four are joined further, at most',
    ),
    (
        'suffice.prove.sieve',
        '# as the whole network has it',
        '# the index in the full problem',
    ),
    (
        'suffice.prove.peaks',
        'The constants c (n, m), and what',
        'The offsets c (n, m), and what',
    ),
    (
        'tests.prove.test_oracle',
        '"_relax",\n        "np.where(bent, chord",\n        "np.where(bent, -chord",',
        '"_relax_relus",\n        "np.where(crossing, chord_intercept",\n        "np.where(crossing, -chord_intercept",',
    ),
    (
        'tests.prove.test_oracle',
        '"_relax", "part] = slope", "part] = 0.5 * slope"',
        '"_relax_relus", "columns] = slope", "columns] = 0.5 * slope"',
    ),
    (
        'tests.prove.test_oracle',
        '"_through_lines", "negative *= up[", "negative *= low["',
        '"_through_relaxation", "negative *= upper_slope[", "negative *= lower_slope["',
    ),
    (
        'tests.prove.test_oracle',
        '"margin_bound",\n        "+ over @ step.bias",\n        "+ 0.0 * over @ step.bias",',
        '"backward_bound",\n        "+ coefficients @ step.bias",\n        "+ 0.0 * coefficients @ step.bias",',
    ),
    (
        'tests.prove.test_oracle',
        '"hidden", "= lower, upper\\n", "= -upper, -lower\\n"',
        '"intermediate_bounds", "relax_step(bounds", "bounds.lower[:, columns], bounds.upper[:, columns] = -upper, -lower; relax_step(bounds"',
    ),
    (
        'tests.prove.test_oracle',
        '"_relax", "(high - deep), straight)", "(high - deep), flat)"',
        '"_relax_relus", "(chord_upper - chord_lower), active)", "(chord_upper - chord_lower), inactive)"',
    ),
    (
        'tests.prove.test_oracle',
        '"_cut", "np.maximum(lower, 0.0)"',
        '"_clamped_at_splits", "np.maximum(lower, 0.0)"',
    ),
    (
        'tests.prove.test_oracle',
        '"margin_bound", "form.gamma *", "0.0 *"',
        '"backward_bound", "prepared.gamma *", "0.0 *"',
    ),
    (
        'tests.prove.test_maxima',
        '"narrowed",\n',
        '"contending_candidates",\n',
    ),
    (
        'tests.prove.test_maxima',
        'live=np.isin(np.arange',
        'contenders=np.isin(np.arange',
    ),
    (
        'tests.prove.test_sieve',
        '("_sizes", lambda rows, row: 0.7 * np.abs(rows - row).sum(-1))',
        '("_l1_distances", lambda weights, row: 0.7 * np.abs(weights - row).sum(-1))',
    ),
    (
        'tests.prove.test_sieve',
        '("_sizes", lambda rows, row: np.abs(rows).sum(-1))',
        '("_l1_distances", lambda weights, row: np.abs(weights).sum(-1))',
    ),
    (
        'tests.prove.test_tilts',
        '"kind", ["Moving", "Returning"]',
        '"kind", ["ReluOffsetsOverProduct", "ReluOffsetsOverRestorations"]',
    ),
    (
        'tests.prove.test_tilts',
        'kind).top\n',
        'kind).offsets\n',
    ),
    (
        'tests.prove.test_tilts',
        'kind), "top", lambda',
        'kind), "offsets", lambda',
    ),
    (
        'tests.search.test_fuzz',
        '"margin_bound", leaves_that',
        '"backward_bound", leaves_that',
    ),
    (
        'tests.proof.test_exact_bounds',
        '"errors = [self.gamma * size for", "errors = [0 * size for"',
        '"errors = [self.gamma * magnitude for", "errors = [0 * magnitude for"',
    ),
    (
        'tests.proof.test_exact_bounds',
        '"        total -= np.abs(over) @ form.tax[k]\\n"',
        '"        constant -= np.abs(coefficients) @ prepared.error_rate[k]\\n"',
    ),
    (
        'tests.proof.test_exact_bounds',
        '"batch.rows.constant - form.gamma * batch.rows.size"',
        '"batch.rows.constant - prepared.gamma * batch.rows.magnitude"',
    ),
    (
        'tests.proof.test_exact_bounds',
        '("total - error @ form.tax[k] + over", "total + over")',
        '("- absolute @ prepared.error_rate[k]", "")',
    ),
    (
        'tests.proof.test_exact_bounds',
        '("error = error + np.abs(multiplier[:, part])", "error = error + 0")',
        '("absolute = absolute + np.abs(multiplier[:, columns])", "absolute = absolute + 0")',
    ),
    (
        'tests.proof.test_exact_bounds',
        '("high * (1 - slope)) + 8 * ROUND * high", "high * (1 - slope))")',
        '("8 * UNIT_ROUNDOFF * chord_upper", "0 * UNIT_ROUNDOFF * chord_upper")',
    ),
    (
        'tests.proof.test_exact_bounds',
        '("np.maximum(np.where(flat, upper, -lower), 0.0)", "0.0")',
        '("np.maximum(np.where(inactive, upper, -lower), 0.0)", "0.0")',
    ),
    (
        'tests.proof.test_exact_bounds',
        '("moved + size * 1e-9", "moved")',
        '("product_radius + magnitude * 1e-9", "product_radius")',
    ),
    (
        'tests.proof.test_exact_bounds',
        '"groups.total(chord) + 4 * most * ROUND * size", "groups.total(chord)"',
        '"4 * additions * UNIT_ROUNDOFF", "0 * additions * UNIT_ROUNDOFF"',
    ),
    (
        'tests.proof.test_exact_bounds',
        'proving.narrowed(',
        'proving.contending_candidates(',
    ),
    (
        'tests.proof.test_exact_bounds',
        'proving.start(',
        'proving.initial_choice(',
    ),
    (
        'tests.proof.test_exact_bounds',
        'module.Form.of(',
        'module.PreparedProblem.of(',
    ),
    (
        'tests.proof.test_exact_bounds',
        'module.hidden(form, inputs)',
        'module.intermediate_bounds(form, inputs)',
    ),
    (
        'tests.proof.test_exact_bounds',
        'module.Items(',
        'module.BoundBatch(',
    ),
    (
        'tests.proof.test_exact_bounds',
        'module.margin_bound(',
        'module.backward_bound(',
    ),
    (
        'tests.proof.test_exact_bounds',
        '(found.low, found.up, found.shift)',
        '(found.lower_slope, found.upper_slope, found.upper_intercept)',
    ),
    (
        'tests.proof.test_exact_bounds',
        'module.Dual(found.low, beta)',
        'module.Dual(found.lower_slope, beta)',
    ),
    (
        'tests.proof.test_exact_bounds',
        'signs = np.zeros((1, form.units), dtype',
        'signs = np.zeros((1, form.unit_count), dtype',
    ),
    (
        'tests.proof.test_exact_bounds',
        'beta = scale * rng.random((1, form.units))',
        'beta = scale * rng.random((1, form.unit_count))',
    ),
    (
        'benchmarks.oracle',
        '(ascent, "Ascent", _SlopesOnly)',
        '(ascent, "ProjectedAdam", _SlopesOnly)',
    ),
]
