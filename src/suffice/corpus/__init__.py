"""Many texts: rows of a file, a journal to resume from, engines to run on, batch and audit."""
