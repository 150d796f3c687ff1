"""Ranges and the loops over them."""

from __future__ import annotations

import pytest

import holm

KEYS = [b"%04d" % n for n in range(3_000)]


@pytest.fixture
def space(db: holm.Database) -> holm.Keyspace:
    space = db.keyspace("numbers")
    space.put_many((key, key[::-1]) for key in KEYS)
    return space


def test_slices(space: holm.Keyspace) -> None:
    pairs = [(key, key[::-1]) for key in KEYS]
    assert list(space["0010":"0020"]) == pairs[10:20]
    assert list(space[:"0003"]) == pairs[:3]
    assert list(space["2990":]) == pairs[2990:]
    assert list(space[:]) == pairs and space[:].to_list() == pairs
    assert list(space["9":"1"]) == [] and list(space["5":"5"]) == []
    with pytest.raises(ValueError, match="step"):
        space["a":"b":2]
    with pytest.raises(TypeError):
        space["a":"b"] = b""


def test_directions_kinds_and_limits(space: holm.Keyspace) -> None:
    ten = space["0010":"0020"]
    assert list(ten.keys()) == KEYS[10:20]
    assert list(ten.reverse().keys()) == KEYS[10:20][::-1] == list(reversed(ten.keys()))
    assert list(ten.reverse().reverse().values()) == [key[::-1] for key in KEYS[10:20]]
    assert list(ten.limit(3).keys()) == KEYS[10:13] == list(ten.keys().limit(9).limit(3))
    assert list(ten.reverse().limit(3).keys()) == KEYS[17:20][::-1]
    assert list(space.range("0010", "0020", reverse=True, limit=2).keys()) == KEYS[18:20][::-1]
    assert ten.first() == (b"0010", b"0100") and ten.last() == (b"0019", b"9100")
    assert ten.reverse().first() == ten.last()
    assert ten.count() == 10 and ten.limit(4).count() == 4 and list(ten.limit(0)) == []
    assert bool(ten) and not space["x":"z"]
    with pytest.raises(holm.InvalidError):
        ten.limit(3).reverse()
    assert "0010" in repr(ten)


def test_membership(space: holm.Keyspace) -> None:
    ten = space["0010":"0020"]
    assert b"0010" in ten.keys() and "0019" in ten.keys()
    assert b"0020" not in ten.keys() and b"0010x" not in ten.keys()
    assert (b"0010", b"0100") in ten and (b"0010", b"") not in ten and b"0010" not in ten
    with pytest.raises(TypeError):
        b"" in ten.values()


def test_prefixes(space: holm.Keyspace) -> None:
    assert list(space.prefix("001").keys()) == KEYS[10:20]
    assert list(space.prefix("001", reverse=True, limit=2).keys()) == [b"0019", b"0018"]
    assert space.prefix("").count() == 3_000
    space[b"\xff\xff"] = b"1"
    space[b"\xff\xff\xff"] = b"2"
    space[b"\xfe\xff"] = b"3"
    assert list(space.prefix(b"\xff\xff").values()) == [b"1", b"2"]
    assert list(space.prefix(b"\xfe\xff").values()) == [b"3"]


def test_ranges_are_removed(space: holm.Keyspace) -> None:
    assert space["0010":"0020"].remove() == 10
    del space["1000":]
    assert list(space) == KEYS[:10] + KEYS[20:1000]
    with pytest.raises(holm.InvalidError):
        space[:].limit(1).remove()


def test_a_range_is_read_anew_by_each_loop(db: holm.Database) -> None:
    everything = db[:]
    assert list(everything) == []
    db["a"] = "1"
    assert list(everything) == [(b"a", b"1")]


def test_a_loop_may_change_what_it_loops_over(space: holm.Keyspace) -> None:
    for key in space:
        del space[key]
    assert not space


def test_an_iterator_that_has_ended_stays_so(db: holm.Database) -> None:
    db["a"] = "1"
    loop = iter(db)
    assert list(loop) == [b"a"]
    db["b"] = "2"
    assert list(loop) == []


def test_a_generator_left_half_way_holds_nothing(db: holm.Database, space: holm.Keyspace) -> None:
    def some() -> object:
        for key in space:
            yield key

    loop = some()
    next(loop)
    db.close()
    with pytest.raises(holm.ClosedError):
        next(loop)
    with holm.open(db.path) as again:
        assert len(again.keyspace("numbers")) == 3_000


def test_a_keyspace_dropped_under_a_loop(db: holm.Database, space: holm.Keyspace) -> None:
    loop = iter(space)
    next(loop)
    db.drop_keyspace("numbers")
    with pytest.raises(holm.DroppedError):
        list(loop)
    assert list(loop) == []


def test_columns(space: holm.Keyspace) -> None:
    pairs = []
    for count, key_ends, keys, value_ends, values in space[:].columns(bytes=1_000):
        key_at, value_at = memoryview(key_ends).cast("Q"), memoryview(value_ends).cast("Q")
        assert len(key_at) == len(value_at) == count + 1
        for n in range(count):
            pairs.append((keys[key_at[n] : key_at[n + 1]], values[value_at[n] : value_at[n + 1]]))
    assert pairs == list(space[:])


def test_a_table_of_arrow(space: holm.Keyspace) -> None:
    pytest.importorskip("pyarrow")
    table = space["0010":"0020"].to_arrow()
    assert table.column_names == ["key", "value"]
    assert table.column("key").to_pylist() == KEYS[10:20]
    assert table.column("value").to_pylist() == [key[::-1] for key in KEYS[10:20]]
    assert space["x":].to_arrow().num_rows == 0
