"""Demangles C++ names as nvlink does in a call graph.

Qualifiers stand in front of a type (`const char *`), a blank follows the word `operator`
(`operator +`), a function of a template keeps the names of the parameters (`T1 f<int>(T1)`), a
constant has its type (`(int)3`), and an unnamed namespace is `<unnamed>`. A function that belongs
to another (`$_Z1kv$own`) is `[clone k()] own`. This was found by giving nvlink functions with such
names. A name with anything else in it is not demangled.
"""

from __future__ import annotations

import re

_BUILTIN = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char",
    "h": "unsigned char", "s": "short", "t": "unsigned short", "i": "int", "j": "unsigned int",
    "l": "long", "m": "unsigned long", "x": "long long", "y": "unsigned long long", "n": "__int128",
    "o": "unsigned __int128", "f": "float", "d": "double", "e": "long double", "z": "...",
}  # fmt: skip
_BUILTIN_D = {
    "Da": "auto",
    "Dc": "decltype(auto)",
    "Ds": "char16_t",
    "Di": "char32_t",
    "Dn": "decltype(nullptr)",
}
_OPERATORS = {
    "nw": "new ", "na": "new[] ", "dl": "delete ", "da": "delete[] ", "ps": "+", "ng": "-",
    "ad": "&", "de": "*", "co": "~", "pl": "+", "mi": "-", "ml": "*", "dv": "/", "rm": "%",
    "an": "&", "or": "|", "eo": "^", "aS": "=", "pL": "+=", "mI": "-=", "mL": "*=", "dV": "/=",
    "rM": "%=", "aN": "&=", "oR": "|=", "eO": "^=", "ls": "<<", "rs": ">>", "lS": "<<=",
    "rS": ">>=", "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "nt": "!",
    "aa": "&&", "oo": "||", "pp": "++", "mm": "--", "cm": ",", "pm": "->*", "pt": "->", "cl": "()",
    "ix": "[]",
}  # fmt: skip
#: The namespace that stands for one file, which nvlink leaves out.
_INTERNAL = re.compile(r"_INTERNAL_[0-9a-f]{8}_\d+_\w+")
#: Front of the name of a static function of a host object; so many characters follow, and a `_`.
_STATIC = re.compile(r"__nv_static_(\d{1,9})_")
_MAX_DEPTH = 64


def cxx_name(mangled: str) -> str | None:
    """The demangled name of a function; None when it cannot be demangled here (rule M10)."""
    name = _of_one_file(mangled)
    try:
        return _with_clones(name) if name.startswith("_Z") else None
    except (_UnknownError, IndexError, KeyError, ValueError):
        return None


def _of_one_file(name: str) -> str:
    """The name without what says to which file or kernel a static function belongs."""
    static = _STATIC.match(name)
    if static is None:
        return name[1:] if name.startswith("$_Z") else name
    start = static.end() + int(static[1])
    return name[start + 1 :] if name.startswith("__Z", start) else name


def _with_clones(name: str) -> str:
    """The text of a mangled name; behind `$` stands the name of a function that belongs to it."""
    mangled, dollar, rest = name.partition("$")
    first = _Demangler(mangled)
    text = first.whole()
    while dollar and rest.startswith("_Z"):
        mangled, dollar, rest = rest.partition("$")
        own = _Demangler(mangled)
        own.substitutions = first.substitutions  # nvlink goes on with those of the first name
        text = f"[clone {text}] {own.whole()}"
    if rest[:1].isdecimal():
        if not rest.isdecimal():
            raise _UnknownError
        return text
    return f"[clone {text}] {rest}" if dollar else text


class _UnknownError(Exception):
    """The name has a part that this module does not demangle."""


class _Type:
    """A type as the text left and right of the name that is declared with it.

    Attributes:
        left, right: the two parts of the text.
        is_group: whether it is an array or a function, so that a pointer to it needs parentheses.
        is_tight: whether it was taken from the name of the function itself; then no blank precedes
            a mark.
    """

    __slots__ = ("is_group", "is_tight", "left", "right")

    def __init__(
        self, left: str, right: str = "", is_group: bool = False, is_tight: bool = False
    ) -> None:
        self.left = left
        self.right = right
        self.is_group = is_group
        self.is_tight = is_tight

    @property
    def text(self) -> str:
        """The type without a declared name."""
        return self.left + self.right

    def with_mark(self, mark: str) -> _Type:
        """The pointer or reference to this type that a mark such as `*` makes."""
        if self.is_group:
            return _Type(f"{self.left} ({mark}", f"){self.right}")
        blank = "" if self.is_tight or self.left.endswith(("*", "&")) else " "
        return _Type(self.left + blank + mark, self.right)


class _Demangler:
    """Reads one mangled name of the Itanium C++ ABI.

    Attributes:
        text: the mangled name.
        at: the next character.
        substitutions: what `S_`, `S0_`, … stand for.
        depth: how deep types are nested.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 2
        self.substitutions: list[_Type] = []
        self.depth = 0

    def _next(self, part: str) -> bool:
        found = self.text.startswith(part, self.at)
        if found:
            self.at += len(part)
        return found

    def whole(self) -> str:
        """The name of a function, or of a thunk that adjusts `this` and goes on to a function."""
        if self._next("Th"):
            thunk = f"Thunk for (offset {self._signed()}) "
        elif self._next("Tv"):
            thunk = f"Thunk for (offset {self._signed()}, virtual offset {self._signed()}) "
        else:
            thunk = ""
        text = thunk + self._function()
        if self.at < len(self.text):
            raise _UnknownError
        return text

    def _signed(self) -> int:
        end = self.text.index("_", self.at)
        digits = self.text[self.at : end].replace("n", "-")
        self.at = end + 1
        return int(digits)

    def _function(self) -> str:
        name, has_result, suffix = self._name()
        if self.text[self.at : self.at + 1] in ("", "E"):
            raise _UnknownError  # a variable
        result = self._type() if has_result else None
        text = f"{name}({self._arguments()}){suffix}"
        if result is None:
            return text
        is_tight = result.left.endswith(("*", "&", "(")) and not result.left.endswith("&&")
        blank = "" if is_tight else " "
        return f"{result.left}{blank}{text}{result.right}"

    def _arguments(self) -> str:
        """The parameter types up to an `E` or the end."""
        arguments = []
        while self.text[self.at : self.at + 1] not in ("", "E"):
            arguments.append(self._type().text)
        return "" if arguments == ["void"] else ", ".join(arguments)

    def _name(self) -> tuple[str, bool, str]:
        """(name, whether a result type follows, text behind the parameters)."""
        if self._next("N"):
            return self._nested()
        if self._next("Z"):
            return self._of_local()
        name, suffix, is_function = self._component("")
        if self.text[self.at] == "I":
            self.substitutions.append(_Type(name))
            return name + self._template_arguments(), is_function, suffix
        return name, False, suffix

    def _of_local(self) -> tuple[str, bool, str]:
        """The same for a member of a lambda or of a class inside of a function."""
        scope = self._function()
        if not self._next("EN"):
            raise _UnknownError
        name, has_result, suffix = self._nested()
        return f"{scope}::{name}{self._instance()}", has_result, suffix

    def _instance(self) -> str:
        """Which of several local names of one function is meant."""
        if not self._next("_"):
            return ""
        if self._next("_"):
            return f" (instance {self._count() + 2})"
        self.at += 1
        return f" (instance {int(self.text[self.at - 1]) + 2})"

    def _nested(self) -> tuple[str, bool, str]:
        constant = volatile = False
        if self._next("V"):
            volatile = True
        if self._next("K"):
            constant = True
        prefix, last, is_template, suffix, is_function = "", "", False, "", True
        while not self._next("E"):
            if self.text[self.at] == "S" and not prefix:
                prefix = self._substitution().text
                last = prefix.rpartition("::")[2].partition("<")[0]
                continue
            if self.text[self.at] == "I":
                prefix += self._template_arguments()
                is_template = True
            elif self.text[self.at] == "T" and not prefix:
                self.at += 1
                prefix = last = f"T{self._count() + 2}"
            else:
                part, suffix, is_function = self._component(last)
                is_template = False
                last = part
                if not _INTERNAL.fullmatch(part):
                    prefix = f"{prefix}::{part}" if prefix else part
            if self.text[self.at] != "E":
                self.substitutions.append(_Type(prefix, is_tight=True))
        cv = (" const" if constant else "") + (" volatile" if volatile else "")
        return prefix, is_template and is_function, cv + suffix

    def _component(self, scope: str) -> tuple[str, str, bool]:
        """(text, text behind the parameters, whether a template of it has a result type)."""
        text = self.text
        if text[self.at].isdigit():
            return self._source_name(), "", True
        code = text[self.at : self.at + 2]
        self.at += 2
        if code in ("C1", "C2"):
            return scope, "" if code == "C1" else " [subobject]", False
        if code in ("D0", "D1", "D2"):
            suffix = {"D0": " [deleting]", "D1": "", "D2": " [subobject]"}[code]
            return "~" + scope, suffix, False
        if code == "Ul":
            return self._lambda(), "", False
        if code == "cv":
            return f"operator {self._type().text}", "", False
        if code == "St":
            return f"std::{self._source_name()}", "", True
        return f"operator {_OPERATORS[code]}", "", True

    def _source_name(self) -> str:
        end = self.at
        while self.text[end].isdigit():
            end += 1
        length = int(self.text[self.at : end])
        name = self.text[end : end + length]
        if len(name) < length:
            raise _UnknownError
        self.at = end + length
        return "<unnamed>" if name.startswith("_GLOBAL__N_") else name

    def _template_arguments(self) -> str:
        self._next("I")
        arguments: list[str] = []
        while not self._next("E"):
            self._argument(arguments)
        return f"<{', '.join(arguments)}>"

    def _argument(self, arguments: list[str]) -> None:
        if self._next("J"):
            while not self._next("E"):
                self._argument(arguments)
        elif self._next("X"):
            arguments.append(self._type().text)
            if not self._next("E"):
                raise _UnknownError
        elif self._next("L"):
            kind = self._type().text
            end = self.text.index("E", self.at)
            value = self.text[self.at : end].replace("n", "-")
            self.at = end + 1
            if not re.fullmatch(r"-?\d+", value):
                raise _UnknownError
            arguments.append(f"({kind}){value}")
        else:
            arguments.append(self._type().text)

    def _count(self) -> int:
        """A decimal number in front of `_`; -1 when there is no digit."""
        return self._number(10)

    def _number(self, base: int = 36) -> int:
        """A number of base 36 in front of `_`; -1 when there is no digit."""
        end = self.text.index("_", self.at)
        digits = self.text[self.at : end]
        self.at = end + 1
        return int(digits, base) if digits else -1

    def _substitution(self) -> _Type:
        self.at += 1
        if self._next("t"):
            return _Type("std")
        if self.text[self.at].islower():
            raise _UnknownError
        return self.substitutions[self._number() + 1]

    def _type(self) -> _Type:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise _UnknownError
        found = self._any_type()
        self.depth -= 1
        return found

    def _any_type(self) -> _Type:
        text = self.text
        code = text[self.at]
        if code in _BUILTIN:
            self.at += 1
            return _Type(_BUILTIN[code])
        if text[self.at : self.at + 2] in _BUILTIN_D:
            self.at += 2
            return _Type(_BUILTIN_D[text[self.at - 2 : self.at]])
        if code == "S" and text[self.at + 1] != "t":
            found = self._substitution()
            if text[self.at : self.at + 1] == "I":
                text = found.text + self._template_arguments()
                return self._remember(_Type(text, is_tight=found.is_tight))
            return found
        return self._remember(self._compound(code))

    def _remember(self, new: _Type) -> _Type:
        self.substitutions.append(new)
        return new

    def _compound(self, code: str) -> _Type:
        if code in "PRO":
            self.at += 1
            return self._type().with_mark({"P": "*", "R": "&", "O": "&&"}[code])
        if code in "rVK":
            return self._qualified()
        if code == "F":
            self.at += 1
            result = self._type()
            listed = self._arguments()
            self.at += 1
            return _Type(result.left, f"({listed}){result.right}", is_group=True)
        if code == "A":
            self.at += 1
            end = self.text.index("_", self.at)
            count = self.text[self.at : end]
            self.at = end + 1
            item = self._type()
            return _Type(item.left, f"[{count}]{item.right}", is_group=True)
        if code == "M":
            self.at += 1
            scope = self._type().text
            return self._type().with_mark(f" :: {scope}::*")
        if code == "T":
            self.at += 1
            name = f"T{self._count() + 2}"
            if self.text[self.at : self.at + 1] == "I":
                self.substitutions.append(_Type(name))
                return _Type(name + self._template_arguments())
            return _Type(name)
        if self._next("Dp"):
            pack = self._type()
            return _Type(pack.left + pack.right + "...")
        if code in "NZ" or code.isdigit() or self.text.startswith("St", self.at):
            return self._class()
        raise _UnknownError

    def _qualified(self) -> _Type:
        restrict, volatile, constant = self._next("r"), self._next("V"), self._next("K")
        words = ["const"] * constant + ["volatile"] * volatile + ["restrict"] * restrict
        inner = self._type()
        if inner.left.endswith(("*", "&")):
            return _Type(inner.left + " ".join(words), inner.right)
        left = " ".join((*words, inner.left))
        return _Type(left, inner.right, inner.is_group, inner.is_tight)

    def _class(self) -> _Type:
        if self._next("N"):
            return _Type(self._nested()[0])
        if self._next("Z"):
            return _Type(self._local())
        name, _, _ = self._component("")
        if self.text[self.at : self.at + 1] == "I":
            self.substitutions.append(_Type(name))
            name += self._template_arguments()
        return _Type(name)

    def _local(self) -> str:
        """A lambda or a class inside of a function."""
        function = self._function()
        self.at += 1
        if not self._next("Ul"):
            return f"{function}::{self._component('')[0]}{self._instance()}"
        return f"{function}::{self._lambda()}"

    def _lambda(self) -> str:
        """What stands behind `Ul`."""
        listed = self._arguments()
        self.at += 1
        return f"[lambda({listed}) (instance {self._count() + 2})]"
