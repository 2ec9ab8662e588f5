"""The package: what an installation brings, and what is said where something is missing."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import cramjam
import pytest

from cubinspec.cli import main
from cubinspec.containers import images
from cubinspec.format import demangle
from cubinspec.report.spec_files import SAMPLES
from cubinspec_generated.codes import FATBIN_FLAG_COMPRESSED_ZSTD
from tools.corpus.containers import PTX, container, raw_entry, simple_fatbin, zstd

ROOT = Path(__file__).parents[2]


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_an_installation_without_extras_reads_everything() -> None:
    needed = " ".join(project()["project"]["dependencies"])
    for package in (
        *("cramjam", "zstandard", "backports.zstd"),
        *("pycxxfilt", "kaitaistruct", "PyYAML"),
    ):
        assert package in needed


def test_only_what_users_choose_is_an_extra() -> None:
    assert set(project()["project"]["optional-dependencies"]) == {"scan", "dask"}
    assert {"oracle", "test", "lint", "bench"} <= set(project()["dependency-groups"])


def test_the_samples_of_the_wheel_are_those_that_the_code_knows() -> None:
    included = project()["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included.pop("ksy") == "cubinspec/spec"
    assert included.pop("docs/glossary.md") == "cubinspec/spec/glossary.md"
    assert included == {
        f"tests/data/cubins/{name}": f"cubinspec/spec/samples/{name}" for name in SAMPLES
    }


def test_no_package_lacks_its_mark_of_types() -> None:
    wheel = project()["tool"]["hatch"]["build"]["targets"]["wheel"]
    for package in wheel["packages"]:
        assert (ROOT / package / "py.typed").is_file()


def test_an_index_page_has_no_link_into_the_repository() -> None:
    pytest.importorskip("hatchling")
    from tools.package.readme import for_index

    text = for_index((ROOT / "README.md").read_text("utf-8"))
    assert not re.findall(r"\]\((?!https?:)", text)
    assert for_index("![a](docs/a.svg)\n\nsee [b](docs/b.md#c), [docs/d.md](docs/d.md)") == (
        "see b (`docs/b.md`), `docs/d.md`"
    )


def test_one_setting_gives_the_index_all_addresses() -> None:
    pytest.importorskip("hatchling")
    from tools.package.readme import addresses, for_index

    home = "https://example.org/cubinspec"
    text = for_index((ROOT / "README.md").read_text("utf-8"), home)
    targets = re.findall(r"\]\(([^)]*)\)", text)
    assert len(targets) > 5
    assert all(target.startswith(home) for target in targets)
    for target in targets:
        path = target.removeprefix(home).split("/main/")[1].partition("#")[0]
        assert (ROOT / path).exists(), target
    assert for_index("![a](docs/a.svg)\n\nsee [b](docs/b.md#c)", home) == (
        f"![a]({home}/raw/main/docs/a.svg)\n\nsee [b]({home}/blob/main/docs/b.md#c)"
    )
    for name, address in addresses(home).items():
        assert address.startswith(home), name
        _, branch, path = address.partition("/blob/main/")
        assert not branch or (ROOT / path).exists(), address


def test_no_address_is_made_up() -> None:
    pytest.importorskip("hatchling")
    from tools.package.readme import addresses

    hook = project()["tool"]["hatch"]["metadata"]["hooks"]["custom"]
    assert addresses(hook["home"]) == {} or hook["home"].startswith("https://")
    assert "urls" not in project()["project"]


def test_a_missing_package_is_named_once_per_file_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    paths = []
    for name in ("one.fatbin", "two.fatbin"):
        path = tmp_path / name
        path.write_bytes(PACKED)
        paths.append(str(path))
    assert main(["kernels", *paths]) == 1
    lines = [line for line in capsys.readouterr().err.splitlines() if "zstandard" in line]
    assert len(lines) == 2
    for path, line in zip(paths, lines, strict=True):
        assert line.startswith(f"cubinspec: {path}:0x")
        assert "fatbin.entries[0].payload: the Python package zstandard is needed" in line
        assert line.endswith("(expected pip install zstandard)")


PACKED = simple_fatbin()


def test_mangled_names_do_not_stay_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycxxfilt", None)
    monkeypatch.setattr(demangle, "_has_warned", False)
    with pytest.warns(UserWarning, match="pip install pycxxfilt"):
        assert demangle.demangle("_Z1fv") is None


@pytest.mark.parametrize("behind", [b"\0" * 7, b"junk", zstd(b"more")])
def test_what_stands_behind_a_zstd_frame_is_padding(behind: bytes) -> None:
    payload = bytes(cramjam.zstd.compress(PTX + b"\0")) + behind
    entry = raw_entry(1, payload, flags=0x11 | FATBIN_FLAG_COMPRESSED_ZSTD, plain_size=len(PTX) + 1)
    (image,) = images(container([entry]))
    assert image.data == PTX
