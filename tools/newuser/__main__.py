"""``make newuser``: what somebody sees who installs the package and tries it.

The package is built as for an index and installed into a fresh environment outside of the checkout.
There the recipes of README and docs are tried, and every command that reads is tried on public
wheels: two small ones with ``--ci``, all of ``wheels.tsv`` without.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.newuser import public
from tools.newuser.recipes import Shell, pages, recipes

ROOT = Path(__file__).resolve().parents[2]


class Failed(Exception):
    """A step did not work."""


@dataclass
class Report:
    """What was tried, as it is printed."""

    failed: int = 0
    passed: int = 0

    def tell(self, what: str, fault: str | None, started: float) -> None:
        """Print one line, and what is wrong below it."""
        seconds = time.perf_counter() - started
        print(f"{'FAILED' if fault else 'ok':<7}{seconds:6.1f} s  {what}", flush=True)
        if fault:
            print("        " + fault.strip().replace("\n", "\n        "), flush=True)
            self.failed += 1
        else:
            self.passed += 1


def call(words: list[str], folder: Path) -> str:
    """Run a program; its output.

    Raises:
        Failed: its status is not 0.
    """
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(folder: Path) -> Path:
    """Build source archive and, from it, the wheel; hold both against the rules of an index.

    Raises:
        Failed: one of the tools has a complaint.
    """
    call([sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)], folder)
    files = sorted(map(str, folder.iterdir()))
    call([sys.executable, "-m", "twine", "check", "--strict", *files], folder)
    (wheel,) = folder.glob("*.whl")
    call([sys.executable, "-m", "check_wheel_contents", str(wheel)], ROOT)
    return wheel


def install(what: Path, folder: Path, base: str = sys.executable) -> str:
    """Install a wheel or source archive into a fresh environment; its interpreter.

    Args:
        base: the Python that the environment is made of.

    Raises:
        Failed: pip has a complaint.
    """
    call([base, "-m", "venv", str(folder)], ROOT)
    python = str(folder / "bin" / "python")
    call([python, "-m", "pip", "install", "--quiet", str(what)], folder)
    return python


def from_archive(archive: Path, folder: Path) -> str | None:
    """Install the source archive and read a sample; what went wrong, or ``None``."""
    try:
        python = install(archive, folder)
        command = [python, "-m", "cubinspec"]
        call([*command, "spec", "--copy", "spec"], folder)
        call([*command, "kernels", "spec/samples/kernels.sm_75.exe.cubin"], folder)
    except Failed as error:
        return str(error)
    return None


def claimed_versions() -> list[str]:
    """The versions of Python that the package says it runs on."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    words = [classifier.rpartition(" :: ")[2] for classifier in project["classifiers"]]
    return [word for word in words if word.startswith("3.")]


def version_of(python: str) -> str | None:
    """``3.12`` for an interpreter; ``None`` for what is none, such as a stub that finds nothing."""
    words = [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return None if done.returncode else done.stdout.strip()


def interpreters(named: list[str]) -> dict[str, str]:
    """Version of Python -> an interpreter of this machine, for those that the package claims.

    Args:
        named: interpreters to look at first.
    """
    found: dict[str, str] = {}
    claimed = claimed_versions()
    here = filter(None, (shutil.which(f"python{version}") for version in claimed))
    for python in (*named, *here):
        version = version_of(python)
        if version in claimed:
            found.setdefault(version, python)
    return found


def try_readme(python: str, folder: Path) -> str | None:
    """The recipes of the README with another Python; what went wrong, or ``None``."""
    folder.mkdir()
    shell = Shell(folder, python)
    shell.copy_samples()
    faults = [shell.run(recipe) for recipe in recipes(ROOT / "README.md")]
    return "\n".join(filter(None, faults)) or None


def try_versions(report: Report, wheel: Path, scratch: Path, named: list[str]) -> None:
    """Install the wheel for every Python that the package claims and that is on this machine."""
    found = interpreters(named)
    for version in claimed_versions():
        started = time.perf_counter()
        if version not in found:
            print(f"absent            Python {version} is not on this machine", flush=True)
            continue
        try:
            python = install(wheel, scratch / f"env-{version}", found[version])
            fault = try_readme(python, scratch / f"readme-{version}")
        except Failed as error:
            fault = str(error)
        report.tell(f"the wheel and the README with Python {version}", fault, started)


def wanted(only_small: bool) -> Iterator[tuple[str, str]]:
    """Package and version of the public wheels to try."""
    with Path(__file__).with_name("wheels.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if row["ci"] == "yes" or not only_small:
                yield row["package"], row["version"]


def try_everything(scratch: Path, only_small: bool, named: list[str]) -> Report:
    """All steps in a folder outside of the checkout.

    Args:
        only_small: the wheels of CI, and the Python that runs this.
        named: further interpreters to try.

    Raises:
        Failed: the package cannot be built or installed, so nothing else can be tried.
    """
    report = Report()
    (scratch / "dist").mkdir()
    started = time.perf_counter()
    wheel = build(scratch / "dist")
    report.tell(f"{wheel.name} builds, twine and check-wheel-contents agree", None, started)
    started = time.perf_counter()
    python = install(wheel, scratch / "env")
    place = call([python, "-c", "import cubinspec; print(cubinspec.__file__)"], scratch)
    fault = None if str(scratch) in place else f"imported from {place}"
    report.tell("the wheel installs, without extras", fault, started)
    started = time.perf_counter()
    (archive,) = (scratch / "dist").glob("*.tar.gz")
    fault = from_archive(archive, scratch / "env-of-archive")
    report.tell("the source archive installs and works", fault, started)
    if not only_small:
        try_versions(report, wheel, scratch, named)
    for page in pages(ROOT):
        folder = scratch / page.stem
        folder.mkdir()
        shell = Shell(folder, python)
        shell.copy_samples()
        for recipe in recipes(page):
            started = time.perf_counter()
            report.tell(f"{recipe.page}:{recipe.line} {recipe.kind}", shell.run(recipe), started)
    for package, version in wanted(only_small):
        started = time.perf_counter()
        try:
            file = public.fetch(package, version, scratch / "wheels")
        except public.NotFetchedError as error:
            report.tell(f"{package} {version}: fetch", str(error), started)
            continue
        for what, check in public.CHECKS:
            started = time.perf_counter()
            report.tell(f"{package} {version}: {what}", check(python, file), started)
        file.unlink()
    return report


def main() -> int:
    """Try everything; 1 when anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.newuser", description=__doc__)
    parser.add_argument("--ci", action="store_true", help="only the small public wheels")
    parser.add_argument(
        "--python", action="append", default=[], metavar="PATH", help="another Python to try"
    )
    options = parser.parse_args()
    os.environ.pop("PYTHONPATH", None)  # it could bring the checkout back
    with tempfile.TemporaryDirectory() as name:
        try:
            report = try_everything(Path(name), options.ci, options.python)
        except Failed as error:
            print(error)
            return 1
    print(f"newuser: {report.passed} passed, {report.failed} failed")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
