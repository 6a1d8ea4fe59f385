"""Files of answers from strangers: nothing in them runs."""

from __future__ import annotations

import sqlite3

import pytest

import suffice as sf
from suffice.errors import InputError
from tests.hostile.limited import limited

ENDLESS = (
    "with recursive n(x) as (select 1 union all select x + 1 from n) select 'm' as model, 't' as "
    "text, x as scores"
)
STRANGE = {
    "a recursive view": f"create view answers as {ENDLESS} from n",
    "a recursive view of how far numbers move": (
        "create view moves as with recursive n(x) as (select 1 union all select x + 1 from n) "
        "select 'm' as model, max(x) as size from n"
    ),
    "another view": f"create view more as {ENDLESS} from n",
    "a trigger": (
        "create table answers (model, text, scores, primary key (model, text)); create "
        "trigger t after insert on "
        "answers begin insert or replace into answers select * from answers; end"
    ),
    "a computed column": (
        "create table answers (model, text, scores as (zeroblob(1000000000)), primary key "
        "(model, text))"
    ),
    "an index that computes": (
        "create table answers (model, text, scores, primary key (model, text)); "
        "create index i on answers (length(hex(zeroblob(1000000))))"
    ),
}
ASKED = """
import numpy as np
import suffice as sf

def ask(path):
    scores = lambda texts: np.array([[0.0, 1.0]] * len(texts))
    clf = sf.from_function(scores, ["a", "b"], "m", version="1")
    return sf.explain(clf, "a good film", perturbation=sf.Deletion(), cache=path)
"""


@pytest.mark.parametrize("name", STRANGE)
def test_a_file_of_answers_holds_two_plain_tables_and_nothing_else(name, tmp_path):
    base = sqlite3.connect(tmp_path / "answers")
    base.executescript(STRANGE[name])
    base.close()
    answer = limited(ASKED, "ask(given[0])", [tmp_path / "answers"])
    assert answer.startswith("refused: The file of answers ")
    assert "that no file of answers has" in answer


def test_a_file_that_changes_while_it_is_open_is_refused(tmp_path):
    clf = sf.from_function(lambda texts: [[0.0, 1.0]] * len(texts), ["a", "b"], "m", version="1")
    asked = sf.from_function(clf.function, ["a", "b"], "m", version="1", cache=tmp_path / "answers")
    asked.predict("a good film")
    base = sqlite3.connect(tmp_path / "answers")
    base.executescript(f"drop table answers; {STRANGE['a recursive view']}")
    base.close()
    with pytest.raises(InputError, match="holds a view 'answers'"):
        asked.predict("another film")
