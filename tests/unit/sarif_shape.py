"""The part of SARIF 2.1.0 that is written, as a schema that allows nothing else."""

from __future__ import annotations

from typing import Any


def _closed(required: list[str], **properties: Any) -> dict[str, Any]:
    """The schema of an object without other properties."""
    return {
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": False,
    }


_TEXT = _closed(["text"], text={"type": "string", "minLength": 1})
_RULE = "^(CUB[0-9]{3}|(budget|lint)/[a-z-]+)$"
_ADDRESS = {"type": "string", "pattern": "^https?://[!-~]+$"}
_LEVEL = {"enum": ["none", "note", "warning", "error"]}
#: What SARIF 2.1.0 asks of the objects that are written: required properties, names, types.
SARIF_SHAPE = _closed(
    ["version", "runs"],
    **{
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": _closed(
                ["tool"],
                tool=_closed(
                    ["driver"],
                    driver=_closed(
                        ["name"],
                        name={"type": "string"},
                        version={"type": "string"},
                        informationUri=_ADDRESS,
                        rules={
                            "type": "array",
                            "uniqueItems": True,
                            "items": _closed(
                                ["id"],
                                id={
                                    "type": "string",
                                    "pattern": "^(CUB[0-9]{3}|(budget|lint)/[a-z-]+)$",
                                },
                                helpUri=_ADDRESS,
                                shortDescription=_TEXT,
                                fullDescription=_TEXT,
                                help=_TEXT,
                                defaultConfiguration=_closed([], level=_LEVEL),
                            ),
                        },
                    ),
                ),
                invocations={
                    "type": "array",
                    "items": _closed(
                        ["executionSuccessful"],
                        executionSuccessful={"type": "boolean"},
                        toolExecutionNotifications={
                            "type": "array",
                            "items": _closed(["message"], message=_TEXT, level=_LEVEL),
                        },
                    ),
                },
                results={
                    "type": "array",
                    "items": _closed(
                        ["message"],
                        ruleId={"type": "string"},
                        ruleIndex={"type": "integer", "minimum": 0},
                        level=_LEVEL,
                        message=_TEXT,
                        partialFingerprints={
                            "type": "object",
                            "additionalProperties": {"type": "string"},
                        },
                        locations={
                            "type": "array",
                            "items": _closed(
                                [],
                                physicalLocation=_closed(
                                    ["artifactLocation"],
                                    artifactLocation=_closed(
                                        ["uri"], uri={"type": "string", "pattern": "^[!-~]+$"}
                                    ),
                                    region=_closed(
                                        [],
                                        byteOffset={"type": "integer", "minimum": 0},
                                        startLine={"type": "integer", "minimum": 1},
                                    ),
                                ),
                                logicalLocations={
                                    "type": "array",
                                    "items": _closed([], fullyQualifiedName={"type": "string"}),
                                },
                            ),
                        },
                    ),
                },
            ),
        },
    },
)
