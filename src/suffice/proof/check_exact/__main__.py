"""`python -m check_exact proof.cert model/`."""

import sys

from . import main

sys.exit(main(sys.argv[1:]))
