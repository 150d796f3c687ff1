"""Keyspaces of objects."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

import holm


@pytest.mark.parametrize("codec", [holm.Json, holm.Pickle, holm.Msgpack])
def test_objects_come_back(db: holm.Database, codec: holm.Codec[Any]) -> None:
    if codec is holm.Msgpack:
        pytest.importorskip("msgpack")
    users = holm.Coded(db.keyspace("users"), codec)
    value = {"name": "n\u00f6rd", "reefs": [1, 2.5, None, True]}
    users["ann"] = value
    users.put_many({"bob": [1], "cem": {}})
    assert users["ann"] == value and users.get("x", 7) == 7 and users.get("bob") == [1]
    assert dict(users) == {b"ann": value, b"bob": [1], b"cem": {}} and len(users) == 3 and "ann" in users
    assert list(users.pairs("b")) == [(b"bob", [1]), (b"cem", {})]
    assert [key for key, _ in users.pairs(reverse=True)] == [b"cem", b"bob", b"ann"]
    assert users.get_many(["ann", "x"], 0) == [value, 0]
    assert users.pop("bob") == [1] and users.setdefault("dan", 3) == 3
    del users["dan"]
    with db.transaction() as tx:
        view = holm.Coded(tx.keyspace(db.keyspace("users")), codec)
        view["eve"] = view["ann"]
        assert view.get_many(["eve"]) == [value]
    assert users["eve"] == value
    with pytest.raises(TypeError):
        users["a":"b"]


def test_text_and_what_a_codec_refuses(db: holm.Database) -> None:
    names = holm.Coded(db, holm.Text)
    names["a"] = "n\u00f6rd"
    assert names["a"] == "n\u00f6rd" and db["a"] == b"n\xc3\xb6rd"
    with pytest.raises(TypeError):
        holm.Coded(db, holm.Json)["b"] = datetime.date(2024, 1, 1)
    assert "b" not in db


def test_a_codec_of_the_callers(db: holm.Database) -> None:
    class Number:
        def encode(self, value: int, /) -> bytes:
            return value.to_bytes(8, "big", signed=True)

        def decode(self, data: bytes, /) -> int:
            return int.from_bytes(data, "big", signed=True)

    numbers: holm.Coded[int] = holm.Coded(db, Number())
    numbers["a"] = -7
    assert numbers["a"] == -7
