"""Words that cannot name a field, a type or an enum member because some target reserves them."""

from __future__ import annotations

_WORDS = {
    "C++": """
        alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl
        concept const const_cast consteval constexpr constinit continue co_await co_return co_yield
        decltype default delete do double dynamic_cast else enum errno explicit export extern false
        float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr
        operator or or_eq private protected public register reinterpret_cast requires return short
        signed sizeof static static_assert static_cast std struct switch template this thread_local
        throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t
        while xor xor_eq
    """,
    "C#": """
        abstract as base bool break byte case catch char checked class const continue decimal
        default delegate do double else enum event explicit extern false finally fixed float for
        foreach goto if implicit in int interface internal is lock long namespace new null object
        operator out override params private protected public readonly ref return sbyte sealed
        short sizeof stackalloc static string struct switch this throw true try typeof uint ulong
        unchecked unsafe ushort using virtual void volatile while
    """,
    "Go": """
        break case chan const continue default defer else fallthrough for func go goto if import
        interface map package range return select struct switch type var
    """,
    "Java": """
        abstract assert boolean break byte case catch char class clone const continue default do
        double else enum extends final finalize finally float for get_class goto hash_code if
        implements import instanceof int interface long native new notify notify_all null package
        private protected public return short static strictfp super switch synchronized this throw
        throws to_string transient try void volatile wait while
    """,
    "JavaScript": """
        arguments await break case catch class const constructor continue debugger default delete
        do else enum eval export extends false finally for function if implements import in
        instanceof interface let new null package private protected public return static
        super switch this throw true try typeof var void while with yield
    """,
    "Lua": """
        and break do else elseif end false for function goto if in local nil not or repeat return
        then true until while
    """,
    "Nim": """
        addr and as asm bind block break case cast concept const continue converter defer discard
        distinct div do elif else end enum except export finally for from func if import in include
        interface is isnot iterator let macro method mixin mod nil not notin object of or out proc
        ptr raise ref return shl shr static template try tuple type using var when while xor yield
    """,
    "Perl": "and cmp eq ge gt le lt ne new not or package q qq qr qw qx s sub tr xor",
    "PHP": """
        abstract and array as break callable case catch class clone const continue declare default
        die do echo else elseif empty enddeclare endfor endforeach endif endswitch endwhile eval
        exit extends final finally fn for foreach function global goto if implements include
        instanceof insteadof interface isset list match namespace new or print private protected
        public readonly require return static switch throw trait try unset use var while xor yield
    """,
    "Python": """
        and as assert async await break class continue def del elif else except finally for from
        global if import in is lambda match mro nonlocal not or pass raise return try while with
        yield
    """,
    "Ruby": """
        alias and begin break case class def defined do else elsif end ensure false for if in
        module next nil not or redo rescue retry return self super then true undef unless until
        when while yield
    """,
    "Rust": """
        abstract as async await become box break const continue crate do dyn else enum extern false
        final fn for if impl in let loop macro match mod move mut override priv pub ref return self
        static struct super trait true try type typeof unsafe unsized use virtual where while yield
    """,
}

#: Word -> targets that reserve it. Graphviz, HTML and Construct reserve none beyond Python's.
RESERVED: dict[str, list[str]] = {}
for _target, _words in _WORDS.items():
    for _word in _words.split():
        RESERVED.setdefault(_word, []).append(_target)
