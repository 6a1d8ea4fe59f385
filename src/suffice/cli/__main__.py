"""`python -m suffice.cli`."""

from suffice.cli import main

raise SystemExit(main())
