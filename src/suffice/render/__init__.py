"""Render: answers in, strings out (terminal, HTML); sees only the data modules."""
