"""How `--help` looks: two columns, no boxes, the same on a terminal and in a pipe."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions

_NAMES_WIDTH = 26


class TwoColumns:
    """A formatter for cyclopts: names on the left, what they do on the right."""

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        """One group of flags or commands."""
        if not panel.entries:
            return
        _print(console, f"{_plain(panel.title)}:")
        for entry in panel.entries:
            self._entry(console, entry)
        console.print()

    def render_usage(self, console: Console, options: ConsoleOptions, usage: Any) -> None:
        """The first line."""
        if text := _plain(usage).strip():
            _print(console, f"{text}\n" if text.startswith("Usage") else f"Usage: {text}\n")

    def render_description(self, console: Console, options: ConsoleOptions, description: Any) -> None:
        """The sentence below it."""
        if text := _plain(description).strip():
            _print(console, f"{textwrap.fill(text, console.width)}\n")

    def _entry(self, console: Console, entry: HelpEntry) -> None:
        value = "|".join(entry.choices) if entry.choices else entry.metavar
        shorts = [name for name in entry.positive_shorts if name not in entry.positive_names]
        names = ", ".join([*shorts, *entry.positive_names]) or entry.positional_label or ""
        label = f"  {names} {value}" if value and names.startswith("-") else f"  {names}"
        text = _plain(entry.description)
        if entry.default is not None and entry.default not in ("False", "None"):
            text += f" [default: {entry.default}]"
        room = max(20, console.width - _NAMES_WIDTH)
        first, *rest = textwrap.wrap(text, room) or [""]
        if len(label) >= _NAMES_WIDTH:
            _print(console, label)
            label = ""
        _print(console, f"{label:<{_NAMES_WIDTH}}{first}".rstrip())
        for line in rest:
            _print(console, " " * _NAMES_WIDTH + line)


def _print(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, emoji=False, soft_wrap=True)


def _plain(value: Any) -> str:
    """The text of what may be text or one of rich's."""
    if value is None or isinstance(value, str):
        return value or ""
    plain = getattr(value, "plain", None)
    if isinstance(plain, str):
        return plain
    from rich.console import Console

    console = Console(width=10_000, force_terminal=False, no_color=True, highlight=False, emoji=False)
    with console.capture() as capture:
        console.print(value, end="")
    return capture.get().strip()
