HINTS = {"suffice.search.restoration.Prover._decide": {"start": "perturbed"}}
