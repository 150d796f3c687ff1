"""What the tests share: a folder of their own, in which relative paths lie, and an open database."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

import pytest

import holm


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def db(folder: Path) -> Iterator[holm.Database]:
    with holm.open(folder / "sea.holm") as db:
        yield db
