"""The examples of the README and of every docstring are run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import types
from pathlib import Path

import pytest

import holm

README = Path(__file__).parent.parent / "README.md"
MODULES = ["holm", *(f"holm.{module.name}" for module in pkgutil.iter_modules(holm.__path__))]


def documented(module: types.ModuleType) -> list[object]:
    """The module, and the classes of the extension module, which no finder takes for its own."""
    if module.__name__ != "holm._holm":
        return [module]
    return [thing for _, thing in inspect.getmembers(module, inspect.isclass)]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner()
    for thing in documented(module):
        finder = doctest.DocTestFinder(recurse=thing is module)
        for test in finder.find(thing, name, globs={}):
            monkeypatch.chdir(tmp_path_factory.mktemp("doctest"))
            assert runner.run(test).failed == 0, test.name


def test_the_readme() -> None:
    failed, attempted = doctest.testfile(str(README), module_relative=False)
    assert failed == 0 and attempted > 40


def test_everything_public_has_a_docstring() -> None:
    for name in holm.__all__:
        thing = getattr(holm, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert thing.__doc__, name
            for member, value in inspect.getmembers(thing):
                if not member.startswith("_") and inspect.isroutine(value) and thing.__module__.startswith("holm"):
                    assert inspect.getdoc(value), f"{name}.{member}"
