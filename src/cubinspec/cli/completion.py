"""``cubinspec completion``: what a shell needs to complete our command lines."""

from __future__ import annotations

from cubinspec.cli import COMMANDS, load
from cubinspec.cli.help import options_of
from cubinspec.cli.options import Arguments, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cubinspec.cli.options import Option

USAGE = "bash | zsh | fish"
OPTIONS = ()

_BASH = """\
# completion for cubinspec; load it with: source <(cubinspec completion bash)
_cubinspec() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} words=
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{commands} --help --version"
    else
        case ${{COMP_WORDS[1]}} in
{cases}
        esac
        case $word in -*) ;; *) return ;; esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _cubinspec cubinspec
"""
_ZSH = """\
#compdef cubinspec
# completion for cubinspec; put it as _cubinspec into a folder of $fpath
_cubinspec() {{
    local -a commands
    commands=(
{commands}
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    shift words
    (( CURRENT-- ))
    case $words[1] in
{cases}
    esac
}}
_cubinspec "$@"
"""


def run(arguments: Arguments) -> int:
    """Print the script."""
    shells = {"bash": bash, "zsh": zsh, "fish": fish}
    shell, *others = arguments.positional or [""]
    if shell not in shells or others:
        raise UsageError(f"one of {', '.join(shells)} is needed")
    print(shells[shell](), end="")
    return 0


def _options(command: str) -> list[Option]:
    from cubinspec.cli.options import Option

    return [*options_of(load(command)), Option("-h", "--help", help="print the help")]


def bash() -> str:
    """The script for bash."""
    cases = []
    for command in COMMANDS:
        words = " ".join(name for option in _options(command) for name in option.names)
        cases.append(f'            {command}) words="{words}" ;;')
    return _BASH.format(commands=" ".join(COMMANDS), cases="\n".join(cases))


def zsh() -> str:
    """The script for zsh."""
    commands = [
        f"        {_quoted(f'{command}:{summary}')}" for command, (_, summary) in COMMANDS.items()
    ]
    cases = []
    for command in COMMANDS:
        lines = ["'*:file:_files'"]
        for option in _options(command):
            text = "".join(f"\\{c}" if c in "[]:\\" else c for c in option.help)
            value = f":{option.value.replace(':', '')}:_files" if option.value else ""
            for name in option.names:
                lines.append(_quoted(f"*{name}[{text}]{value}"))
        body = " \\\n                ".join(lines)
        cases.append(f"        {command})\n            _arguments \\\n                {body} ;;")
    return _ZSH.format(commands="\n".join(commands), cases="\n".join(cases))


def fish() -> str:
    """The script for fish."""
    lines = ["# completion for cubinspec; put it into ~/.config/fish/completions/cubinspec.fish"]
    for command, (_, summary) in COMMANDS.items():
        lines.append(
            f"complete -c cubinspec -n __fish_use_subcommand -f -a {command} -d {_escaped(summary)}"
        )
    for command in COMMANDS:
        for option in _options(command):
            spelled = []
            for name in option.names:
                bare = name.lstrip("-")
                # the linker has long options with one hyphen, as nvlink has
                kind = "-l" if name.startswith("--") else "-s" if len(bare) == 1 else "-o"
                spelled.append(f"{kind} {bare}")
            value = " -r" if option.value else ""
            lines.append(
                f"complete -c cubinspec -n '__fish_seen_subcommand_from {command}' "
                f"{' '.join(spelled)}{value} -d {_escaped(option.help)}"
            )
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A word for a POSIX shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def _escaped(text: str) -> str:
    """A word for fish."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
