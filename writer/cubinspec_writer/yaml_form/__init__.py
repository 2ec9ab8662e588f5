"""Cubin YAML: a cubin as readable text, in the manner of LLVM's obj2yaml and yaml2obj.

Names stand for indices, attributes are decoded, what is absent is computed by the rules of the
profile, and every header field can be overridden, which is how broken files are described.
``from_yaml(to_yaml(data)) == data`` for every cubin that the reader accepts.
"""

from __future__ import annotations

from cubinspec_writer.yaml_form.dump import to_yaml
from cubinspec_writer.yaml_form.load import from_yaml
from cubinspec_writer.yaml_form.text import YamlError

__all__ = ["YamlError", "from_yaml", "to_yaml"]
