"""Hashes of what matters: equal for the same thing built elsewhere, at another time.

* ``code``: machine code of every function, and nothing else
* ``kernel``: code, resources, parameters, attributes, relocations and constants of every function
* ``image``: that, and data, variables, call graph, target and flags of the whole image
* ``file``: all images of a file, whatever their order and place; PTX without comments and space

No level sees notes, tool options, line tables and other debug data, the order of tables, where
things lie, and hashes of source files in names. The names of functions count from ``kernel`` on.
"""

from __future__ import annotations

import json

from cubinspec.compare.digest import digest
from cubinspec.compare.names import stable_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cubinspec.compare.facts import FunctionFacts, ImageFacts
    from cubinspec.compare.read import FileFacts

#: Grows when a fingerprint of the same input changes.
VERSION = 3
LEVELS = ("code", "kernel", "image", "file")


def of_function(function: FunctionFacts, level: str) -> str:
    """The fingerprint of a function at the level ``code`` or ``kernel``."""
    if level == "code":
        return _hash("code", [function["code_size"], function["code"]])
    return _hash("kernel", [stable_name(function.name), function.kind, function.values])


def of_image(image: ImageFacts, level: str) -> str:
    """The fingerprint of an image: of its functions at a level, or of all of it."""
    inner = "code" if level == "code" else "kernel"
    functions = sorted(of_function(function, inner) for function in image.functions)
    if level in LEVELS[:2]:
        return _hash(f"{level}s", functions)
    return _hash("image", [image.arch, functions, image.values])


def of_file(facts: FileFacts, level: str = "file") -> str:
    """The fingerprint of a file at any level; PTX and the like count at the level ``file``."""
    inner = "image" if level == "file" else level
    images = sorted(of_image(image, inner) for image in facts.images)
    others = sorted([other.kind, other.arch, other.body] for other in facts.others)
    return _hash(f"file of {level}", [images, others if level == "file" else []])


def _hash(kind: str, value: Any) -> str:
    text = json.dumps([VERSION, kind, value], sort_keys=True, default=_text)
    return digest(text.encode("utf-8", "surrogateescape"))


def _text(value: Any) -> str:
    return bytes(value).hex()
