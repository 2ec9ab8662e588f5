"""What all tests share: the samples, the fetched corpus, NVIDIA's tools.

A test that needs a tool says so with `@pytest.mark.oracle("cuobjdump", …)` and is skipped, with the
reason in the summary, where that tool cannot run. The same holds for `@pytest.mark.corpus` and a
corpus that has not been fetched, for `@pytest.mark.slow` without `-m slow`, and for
`@pytest.mark.pure` and an installed wheel with compiled modules (`make test-compiled`).
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tools import oracle
from tools.corpus import fetch
from tools.corpus import samples as recipes
from tools.package import COMPILED_TESTS

# A shell has its background jobs ignore Ctrl-C, and so would the programs that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

NO_CORPUS = "the corpus is not fetched (make corpus)"


def sample_files() -> list[Path]:
    """The carried cubins in the order of samples.yaml."""
    return [recipes.CUBINS / row["name"] for row in recipes.load()]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`sample` and `corpus_file` run a test once per file."""
    if "sample" in metafunc.fixturenames:
        files = sample_files()
        metafunc.parametrize("sample", files, ids=[file.stem for file in files])
    if "corpus_file" in metafunc.fixturenames:
        files = fetch.files()
        skipped = pytest.param(None, marks=pytest.mark.skip(reason=NO_CORPUS), id="none")
        metafunc.parametrize(
            "corpus_file", [pytest.param(file, id=file.stem) for file in files] or [skipped]
        )


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip, visibly, what this machine has no tool or no corpus for."""
    for marker in item.iter_markers("oracle"):
        why = oracle.missing(*marker.args)
        if why is not None:
            pytest.skip(why)
    if item.get_closest_marker("corpus") and not fetch.files():
        pytest.skip(NO_CORPUS)
    if item.get_closest_marker("slow") and "slow" not in item.config.option.markexpr:
        pytest.skip("takes minutes (pytest -m slow)")
    if item.get_closest_marker("pure") and os.environ.get(COMPILED_TESTS):
        pytest.skip("takes apart what is compiled here")


@pytest.fixture(scope="session")
def samples() -> list[Path]:
    """All carried cubins."""
    return sample_files()


@pytest.fixture(scope="session")
def sample_rows() -> dict[str, dict[str, Any]]:
    """File name -> how the sample was made (a row of samples.yaml)."""
    return {row["name"]: row for row in recipes.load()}


@pytest.fixture(scope="session")
def corpus() -> list[Path]:
    """All fetched cubins; use it with `@pytest.mark.corpus`."""
    return fetch.files()


@pytest.fixture(scope="session")
def cuobjdump() -> oracle.Tool:
    """NVIDIA's cuobjdump; skips where it cannot run."""
    return _tool("cuobjdump")


@pytest.fixture(scope="session")
def nvdisasm() -> oracle.Tool:
    """NVIDIA's nvdisasm; skips where it cannot run."""
    return _tool("nvdisasm")


@pytest.fixture(scope="session")
def ptxas() -> oracle.Tool:
    """NVIDIA's ptxas; skips where it cannot run."""
    return _tool("ptxas")


@pytest.fixture(scope="session")
def nvlink() -> oracle.Tool:
    """NVIDIA's nvlink; skips where it cannot run."""
    return _tool("nvlink")


def _tool(name: str) -> oracle.Tool:
    why = oracle.missing(name)
    if why is not None:
        pytest.skip(why)
    return oracle.find(name)
