"""What the user got wrong, in one line."""

from __future__ import annotations

from collections.abc import Iterable


class InputError(Exception):
    """A file, flag or bundle that can't be used. The text says in one line where, what and how to go on;
    of a plan, in one line for each mistake.
    """


def did_you_mean(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """` Did you mean "x"?` if a known word is near, or nothing."""
    import difflib  # only a mistake needs it

    by_lower = {k.lower(): k for k in known}
    near = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=cutoff)
    return f' Did you mean "{by_lower[near[0]]}"?' if near else ""


def shown(text: str, longest: int = 60) -> str:
    """Foreign text made fit for one line of a terminal: quoted, escaped and cut."""
    clean = escaped(text[: longest + 1])
    return f'"{clean}"' if len(text) <= longest else f'"{clean[:longest]}…"'


def escaped(text: str) -> str:
    """Text with whatever a terminal would act on written out."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
