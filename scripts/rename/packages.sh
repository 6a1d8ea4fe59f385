# New packages need an __init__ with their first sentence.
set -e
put() { mkdir -p "$(dirname "$1")"; [ -e "$1" ] || printf '"""%s"""\n' "$2" > "$1"; git add -N "$1"; }
V=src/suffice/verify
put $V/nets/__init__.py "The verifier of networks: presolve, backward bounds, attacks, branch and bound."
put $V/nets/presolve/__init__.py "Reductions of a problem before it is bounded; each tells proofs and inputs back in the terms of the whole."
put $V/nets/joint_maxpool/__init__.py "Joint reasoning over several maxima: mini-buckets of maxima, and reduced-cost fixing of who wins each."
put $V/nets/options/__init__.py "Networks that are maxima over sums of options: bounds and branch and bound in the options of each word."
put $V/text/__init__.py "The verifier of pipelines and tables over texts: lattice, trellis, worst case, cuts, trees."
put src/suffice/optimise/published/__init__.py "The two published algorithms (La Malfa et al. 2021), by the names of the paper."
