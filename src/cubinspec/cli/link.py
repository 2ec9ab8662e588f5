"""``cubinspec link``: a linker that stands in nvlink's place; options are spelled as nvlink's."""

from __future__ import annotations

SUMMARY = "link relocatable cubins, host objects, fatbins and libraries as nvlink does"
USAGE = "[OPTION ...] OBJECT ..."
OPTIONS = ()
#: The words go to the linker as they are: the order of inputs and libraries matters.
TAKES_WORDS = True


#: nvlink has no such option; off by default, as the rules take longer to load than a small link.
CHECK = "--check-output"


def run_words(words: list[str]) -> int:
    """Link; the exit status is nvlink's."""
    from cubinspec.files import write_file
    from cubinspec_writer.linker.command import run

    if CHECK not in words:
        return run(words, write_file)

    def checked(path: str, data: bytes | list[bytes | bytearray]) -> None:
        whole = b"".join(data) if isinstance(data, list) else data
        if whole.startswith(b"\x7fELF"):
            from cubinspec_writer.checker import require_good

            require_good(whole, path)
        write_file(path, whole)

    return run([word for word in words if word != CHECK], checked)
