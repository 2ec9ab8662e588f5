"""From the data of a page to one file of HTML that needs nothing else.

The data stands in it as JSON, compressed by gzip and written in base64, so that no name can be
taken for markup. Style and script are the files in ``assets``; a policy in the head lets the
browser run nothing else and load nothing.
"""

from __future__ import annotations

from base64 import b64encode
from gzip import compress
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template

from cubinspec.format.escapes import escaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The parts of the script, in the order in which they run.
SCRIPTS = ("dom.js", "data.js", "table.js", "treemap.js", "pictures.js", "views.js", "main.js")


def html(document: dict[str, Any], command: str = "report") -> bytes:
    """The page.

    Args:
        document: what :meth:`cubinspec.page.document.Document.data` gives.
        command: prints the same data with ``--json``.
    """
    from json import JSONEncoder

    encode = JSONEncoder(separators=(",", ":"), check_circular=False).encode
    packed = compress(encode(document).encode("ascii"), mtime=0)
    style = _asset("page.css")
    script = '"use strict";\n' + "".join(map(_asset, SCRIPTS))
    text = Template(_asset("page.html")).substitute(
        title=escape(document["title"]),
        command=command,
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        data=b64encode(packed).decode("ascii"),
    )
    return text.encode("utf-8")


def title_of(paths: list[str]) -> str:
    """The names of files, without their folders where there is one file."""
    import os

    name = os.path.basename(os.path.normpath(paths[0])) or paths[0]
    return escaped(name if len(paths) == 1 else f"{name} and {len(paths) - 1} more")


def _asset(name: str) -> str:
    return files("cubinspec.page").joinpath("assets", name).read_text("utf-8")


def _hash(text: str) -> str:
    """What the policy of the page names an allowed style or script by."""
    return f"sha256-{b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')}"
