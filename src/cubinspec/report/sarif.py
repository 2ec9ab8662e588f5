"""Logs of findings as SARIF 2.1.0, for code scanning services and editors."""

from __future__ import annotations

from urllib.parse import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Record = dict[str, Any]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
#: Where every rule is explained, below the home of the project.
RULE_PAGE = "docs/rules.md"


def sarif_log(version: str, rules: list[Record], results: list[Record], **run: Any) -> Record:
    """A log with one run of this program.

    Args:
        version: of this package.
        rules: what the program looks for.
        results: what it found.
        run: further properties of the run, such as ``invocations``.
    """
    driver: Record = {"name": "cubinspec", "version": version, "rules": rules}
    home = _home_page()
    if home:
        driver["informationUri"] = home
        page = f"{home}/blob/main/{RULE_PAGE}"
        driver["rules"] = [{**rule, "helpUri": f"{page}#{anchor(rule['id'])}"} for rule in rules]
    body = {"tool": {"driver": driver}, **run, "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [body]}


def anchor(rule: str) -> str:
    """The name of the place that explains a rule."""
    return rule.replace("/", "-").lower()


def file_uri(file: str) -> str:
    """A file name as a URI reference; names that are no text keep their bytes."""
    # what stands before a colon would be a scheme
    return quote(file.encode("utf-8", "surrogateescape"), safe="/")


def _home_page() -> str:
    """The address that the installed package gives for itself; empty when it gives none."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        urls = metadata("cubinspec").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    return next((url.partition(",")[2].strip().rstrip("/") for url in urls), "")
