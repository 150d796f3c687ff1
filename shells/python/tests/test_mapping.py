"""Keyspaces as mappings: what `dict` does, in the order of the keys."""

from __future__ import annotations

import array
import random
from collections.abc import ItemsView, KeysView, Mapping, MutableMapping, ValuesView
from pathlib import Path

import pytest

import holm


def test_it_is_a_mutable_mapping(db: holm.Database) -> None:
    assert isinstance(db, MutableMapping)
    assert isinstance(db.keyspace("reefs"), MutableMapping)
    with db.snapshot() as then, db.transaction() as tx:
        assert isinstance(then, Mapping) and not isinstance(then, MutableMapping)
        assert isinstance(tx, MutableMapping)
    assert isinstance(db.keys(), KeysView)
    assert isinstance(db.values(), ValuesView)
    assert isinstance(db.items(), ItemsView)


def test_random_operations_do_as_a_dict_does(db: holm.Database) -> None:
    chance, model = random.Random(7), dict[bytes, bytes]()
    space = db.keyspace("model")
    for _ in range(3_000):
        key, value = b"%d" % chance.randrange(60), bytes(chance.randbytes(chance.randrange(50)))
        step = chance.randrange(9)
        if step == 0:
            space[key] = model[key] = value
        elif step == 1:
            assert space.get(key) == model.get(key)
        elif step == 2:
            assert space.pop(key, None) == model.pop(key, None)
        elif step == 3:
            assert space.setdefault(key, value) == model.setdefault(key, value)
        elif step == 4:
            assert (key in space) == (key in model)
        elif step == 5:
            assert len(space) == len(model) and bool(space) == bool(model)
        elif step == 6:
            low, high = sorted([key, value])
            assert list(space[low:high]) == sorted((k, v) for k, v in model.items() if low <= k < high)
        elif step == 7 and key in model:
            del space[key], model[key]
        elif step == 8 and model and chance.random() < 0.3:
            last = chance.random() < 0.5
            pair = space.popitem(last)
            assert pair[0] == (max(model) if last else min(model))
            assert model.pop(pair[0]) == pair[1]
    assert dict(space) == model and space == model
    assert list(space) == sorted(model) and list(reversed(space)) == sorted(model, reverse=True)
    assert list(space.values()) == [model[key] for key in sorted(model)]
    assert list(reversed(space.items())) == sorted(model.items(), reverse=True)
    assert space.keys() & {b"1", b"2", b"x"} == set(model) & {b"1", b"2"}
    space.clear()
    assert not space and space == {}


def test_what_a_dict_refuses(db: holm.Database) -> None:
    for call in [lambda: db["north"], lambda: db.pop("north"), lambda: db.popitem(), lambda: db.__delitem__("north")]:
        with pytest.raises(KeyError):
            call()
    with pytest.raises(KeyError, match="north"):
        db["north"]
    with pytest.raises(TypeError):
        db.update({}, {})


def test_keys_and_values_of_many_types(db: holm.Database) -> None:
    north = b"n\xc3\xb6rd"
    for key in ["n\u00f6rd", north, bytearray(north), memoryview(north), memoryview(b"xx" + north)[2:]]:
        db[key] = key
        assert db[key] == north and type(db[key]) is bytes
    assert list(db) == [north]
    db["numbers"] = array.array("H", [1, 2])
    assert db["numbers"] == array.array("H", [1, 2]).tobytes()
    db["stepped"] = memoryview(b"abcdef")[::2]
    assert db["stepped"] == b"ace"
    db[""] = ""
    assert db[b""] == b"" and db.first() == (b"", b"")


@pytest.mark.parametrize("wrong", [None, 7, 1.5, [1, 2], ("a",), object(), {"a": 1}, slice(1, 2)])
def test_other_types_are_refused(db: holm.Database, wrong: object) -> None:
    calls = [
        lambda: db.__setitem__(wrong, b""),
        lambda: db.__setitem__(b"", wrong),
        lambda: db.get(wrong),
        lambda: wrong in db,
        lambda: db.prefix(wrong),
        lambda: db.put_many([(wrong, b"")]),
        lambda: db.put_many([wrong]),
        lambda: db.get_many([wrong]),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="bytes|pair"):
            call()
    assert len(db) == 0


def test_text_that_utf8_has_not_is_refused(db: holm.Database) -> None:
    with pytest.raises(UnicodeEncodeError):
        db["\ud800"] = b""


def test_a_bytearray_is_copied_and_not_held(db: holm.Database) -> None:
    key = bytearray(b"north")
    view = memoryview(key)
    db[view] = view
    view.release()
    key.extend(b"west")  # a view that was held would raise here
    assert list(db) == [b"north"]


def test_limits(db: holm.Database) -> None:
    longest = b"k" * holm.MAX_KEY
    db[longest] = b"v"
    assert db[longest] == b"v"
    with pytest.raises(holm.TooLargeError):
        db[longest + b"k"] = b""
    with pytest.raises(ValueError, match="limit"):
        db[longest + b"k"] = b""
    large = random.Random(1).randbytes(20 << 20)
    db["large"] = large
    assert db["large"] == large and db.get_many(["large"]) == [large]
    assert [len(value) for value in db.values()] == [1, len(large)]


def test_many_at_once(db: holm.Database) -> None:
    pairs = {b"%05d" % n: b"%d" % n for n in range(5_000)}
    assert db.put_many(pairs) == 5_000
    assert db.put_many((key, value) for key, value in pairs.items()) == 5_000
    assert db.put_many([[b"list", b"1"]]) == 1
    keys = [b"%05d" % n for n in range(0, 6_000, 7)]
    assert db.get_many(keys) == [pairs.get(key) for key in keys]
    assert db.get_many(iter(keys), b"-") == [pairs.get(key, b"-") for key in keys]
    assert db.remove_many(keys) == sum(key in pairs for key in keys)
    assert len(db) == 5_001 - sum(key in pairs for key in keys)
    assert db.put_many([]) == 0 and db.get_many([]) == [] and db.remove_many([]) == 0


def test_an_iterable_that_fails_leaves_what_came_before(db: holm.Database) -> None:
    def pairs() -> object:
        yield b"a", b"1"
        yield b"b", b"2"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        db.put_many(pairs())
    assert dict(db) == {b"a": b"1", b"b": b"2"}


def test_keyspaces(db: holm.Database) -> None:
    reefs = db.keyspace("reefs")
    reefs["north"] = "coral"
    assert db.keyspaces() == ["default", "reefs"] and db.keyspace("reefs")["north"] == b"coral"
    assert reefs.name == "reefs" and "reefs" in repr(reefs) and "sea.holm" in repr(db)
    assert "north" not in db
    with pytest.raises(KeyError):
        db.keyspace("atolls", create=False)
    assert db.drop_keyspace("reefs") and not db.drop_keyspace("reefs")
    with pytest.raises(holm.DroppedError):
        reefs["north"]
    with pytest.raises(holm.InvalidError):
        db.drop_keyspace("default")


def test_the_design_is_chosen_once(folder: Path) -> None:
    with holm.open("pages.holm", design="clustered") as db:
        db["north"] = "coral"
        assert db.stats()["design"] == "clustered"
    with holm.open("pages.holm") as db:
        assert (db["north"], db.stats()["design"]) == (b"coral", "clustered")
    with pytest.raises(holm.FormatError):
        holm.open("pages.holm", design="buffered")
    with pytest.raises(holm.InvalidError):
        holm.open("other.holm", design="slab")
