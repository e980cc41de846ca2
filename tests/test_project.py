"""The shape of the project: who may import whom, what is public, and that every example runs."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import truerank
from truerank.errors import MissingExtraError

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "truerank"
MODULES = {path.relative_to(SOURCE): ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}
FRONT = Path("__init__.py")
every_module = pytest.mark.parametrize("path", MODULES, ids=str)

# DESIGN.md, from the top down: a part imports from lines below its own, and from its own line only as SIDEWAYS says.
LAYERS = (
    {"cli", "__main__"},
    {"experiment"},
    {"report", "rankers", "simulate", "torch"},
    {"pairs"},
    {"log", "propensity"},
    {"examination", "losses", "metrics", "datasets"},
    {"ragged", "atomic"},
    {"types", "errors", "compiled"},
)
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}
# `log.compact(...)` is where users look for it; how sessions become pairs is known above.
UPWARD = {("log/click_log.py", "truerank.pairs.compaction"), ("log/click_log.py", "truerank.pairs")}
SIDEWAYS = {("losses", "examination"), ("metrics", "examination"), ("metrics", "losses"), ("__main__", "cli")}

# Which files may import a third-party package, as a pattern over their path.
FENCES = {
    "numba": r".*_kernels\.py",
    "ibis": r"log/.*",
    "duckdb": r"log/.*",
    "pyspark": r"log/spark\.py",
    "lightgbm": r".*/lightgbm\w*\.py",
    "xgboost": r".*/xgboost\w*\.py",
    "catboost": r".*/catboost\w*\.py",
    "altair": r"report/.*",
    "typer": r"cli/.*",
    "rich": r"cli/.*",
    "torch": r"torch\.py|(losses|rankers)/torch\w*\.py",
}


def part_of(path):
    """The package, or the module at the top; ragged_kernels belongs to ragged, compiled_kernels is `compiled`."""
    return path.parts[0].removesuffix(".py").removesuffix("_kernels")


def imported(path):
    """Every module that a file imports, at its top or inside functions, by full name."""
    package = ("truerank", *path.parts[:-1])
    for node in ast.walk(MODULES[path]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from ([f"truerank.{alias.name}" for alias in node.names] if module == "truerank" else [module])


def outside_type_checking(tree):
    return [node for node in tree.body if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")]


# imports


@pytest.mark.parametrize("path", [path for path in MODULES if path != FRONT], ids=str)
def test_imports_point_one_way(path):
    part = part_of(path)
    assert part in LEVEL, f"{part} has no place in LAYERS"
    for name in imported(path):
        if name.split(".")[0] != "truerank":
            continue
        other = name.split(".")[1].removesuffix("_kernels") if "." in name else ""
        if (path.as_posix(), name) in UPWARD:
            continue
        assert other in LEVEL, f"{path} imports {name}: take it from the module that defines it"
        assert part == other or LEVEL[part] < LEVEL[other] or (part, other) in SIDEWAYS, f"{path} imports {name}"


def test_the_front_door_imports_nothing_of_truerank_at_run_time():
    for node in outside_type_checking(MODULES[FRONT]):
        for inner in ast.walk(node):
            if isinstance(inner, ast.Import | ast.ImportFrom):
                assert "truerank" not in ast.unparse(inner)


@every_module
def test_third_party_packages_stay_inside_their_fences(path):
    for package in {name.split(".")[0] for name in imported(path)} & FENCES.keys():
        assert re.fullmatch(FENCES[package], path.as_posix()), f"{path} imports {package}"


@every_module
def test_modules_are_named_for_what_they_hold_and_never_assert(path):
    assert not {"utils", "helpers", "common"} & {Path(part).stem for part in path.parts}
    asserts = [node.lineno for node in ast.walk(MODULES[path]) if isinstance(node, ast.Assert)]
    assert not asserts, f"{path} asserts at lines {asserts}; input is refused with an error"


def test_mypy_knows_every_module_of_kernels():
    overrides = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]
    named = {name for o in overrides if "disallow_untyped_decorators" in o for name in o["module"]}
    kernels = {
        ".".join(("truerank", *path.with_suffix("").parts)) for path in MODULES if path.stem.endswith("_kernels")
    }
    assert kernels <= named


# the front door

IMPORT = """
import sys, time
start = time.perf_counter()
import truerank
seconds = time.perf_counter() - start
print(seconds, *sorted(sys.modules.keys() & set({heavy!r})))
"""
HEAVY = (
    "numba",
    "ibis",
    "duckdb",
    "lightgbm",
    "xgboost",
    "catboost",
    "sklearn",
    "scipy",
    "pyarrow",
    "pandas",
    "polars",
    "torch",
    "pyspark",
)


def test_importing_truerank_is_instant():
    command = [sys.executable, "-c", IMPORT.format(heavy=HEAVY)]
    answers = [subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() for _ in range(3)]
    assert min(float(seconds) for seconds, *_ in answers) <= 0.3
    assert all(loaded == [] for _, *loaded in answers)


@pytest.mark.parametrize("name", truerank.__all__)
def test_every_public_name_is_there_and_documented(name):
    try:
        value = getattr(truerank, name)
    except MissingExtraError as error:
        pytest.skip(str(error))
    assert name in dir(truerank)
    own = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    assert own
    assert own.strip()


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="module 'truerank' has no attribute 'LambdaMat'"):
        truerank.LambdaMat  # noqa: B018


def test_star_import_gives_every_public_name():
    namespace = {}
    try:
        exec("from truerank import *", namespace)
    except MissingExtraError as error:
        pytest.skip(str(error))
    assert set(truerank.__all__) <= namespace.keys()


def test_type_checkers_and_users_see_the_same_names():
    (block,) = [n for n in MODULES[FRONT].body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    seen = [(node.module, alias.asname or alias.name) for node in block.body for alias in node.names]
    (table,) = [n for n in MODULES[FRONT].body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "_HOME"]
    home = [(module, name) for module, names in ast.literal_eval(table.value).items() for name in names]
    assert sorted(seen) == sorted(home)
    assert len({name for _, name in home}) == len(home)
    assert set(truerank.__all__) == {"__version__", *(name for _, name in home)}


def test_the_version_is_that_of_the_package():
    assert truerank.__version__ == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


# examples

NAMES = [
    "truerank",
    *(m.name for m in pkgutil.walk_packages(truerank.__path__, "truerank.") if "__main__" not in m.name),
]


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_in_docstrings_run(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    try:
        module = importlib.import_module(name)
    except MissingExtraError as error:
        pytest.skip(str(error))
    except ModuleNotFoundError as error:
        if (error.name or "truerank").split(".")[0] == "truerank":
            raise
        pytest.skip(f"{error.name} is not installed")
    assert doctest.testmod(module).failed == 0


FENCE = re.compile(
    r"(?P<skip><!-- not run: (?:(?!-->).)+-->\s*)?^```python[^\n]*\n(?P<code>.*?)^```", re.DOTALL | re.MULTILINE
)


def blocks_to_run(markdown):
    """The ```python blocks of a page, with the lines above them blank so that errors name the right line."""
    for match in FENCE.finditer(markdown):
        if not match["skip"]:
            yield "\n" * markdown[: match.start("code")].count("\n") + match["code"]


PAGE = """
```python
a = 1
```
<!-- not run: needs Spark -->
```python
b
```
```bash
c
```
<!-- an aside -->
```python
d
```
"""


def test_blocks_are_collected_and_skipped_as_marked():
    assert [block.strip() for block in blocks_to_run(PAGE)] == ["a = 1", "d"]


ANSWER = re.compile(r"^( *)print\((.*)\)  # ((?:True|False|[\d\[]).*)$", re.MULTILINE)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_runs_from_top_to_bottom(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "page", "_printed": printed}
    try:
        for block in blocks_to_run(page.read_text()):
            exec(compile(ANSWER.sub(r"\1_printed(\2, wanted=r'\3')", block), str(page), "exec"), namespace)
    except MissingExtraError as error:
        pytest.skip(str(error))


def printed(*values, wanted):
    """An answer behind `print(...)  # ` on a page begins with what is printed."""
    assert wanted.startswith(" ".join(map(str, values)))
