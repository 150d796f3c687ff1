"""Ranges as tables of Arrow: the extra `holm-db[arrow]` installs its library."""

from __future__ import annotations

from typing import Any

from holm._holm import Range


def to_arrow(pairs: Range) -> Any:
    """Returns the pairs of a range as a `pyarrow.Table` with the columns `key` and `value`, both large binaries.

    Bytes are copied out of the database once, and no object of Python is made of a pair.
    """
    import pyarrow

    kind = pyarrow.large_binary()

    def column(count: int, ends: bytes, data: bytes) -> Any:
        return pyarrow.Array.from_buffers(kind, count, [None, pyarrow.py_buffer(ends), pyarrow.py_buffer(data)])

    schema = pyarrow.schema([("key", kind), ("value", kind)])
    batches = [
        pyarrow.RecordBatch.from_arrays(
            [column(count, key_ends, keys), column(count, value_ends, values)], schema=schema
        )
        for count, key_ends, keys, value_ends, values in pairs.columns()
    ]
    return pyarrow.Table.from_batches(batches, schema=schema)
