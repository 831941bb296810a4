"""What goes wrong."""

from __future__ import annotations


class SettingsError(ValueError):
    """Settings that cannot be used. Nothing has run.

    Its text is what the command line prints: the line at fault, what was expected there, and what to do about it.
    """

    def __init__(
        self,
        text: str,
        *,
        message: str | None = None,
        line: int | None = None,
        key: str | None = None,
        value: str | None = None,
        expected: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(text)
        self.message = text if message is None else message
        """The first line: what is wrong."""
        self.line = line
        """The number of the line at fault, from 1; None if it is about no place in a text."""
        self.key = key
        """The key that it is about, as ``disk.rate``; None if it is about none."""
        self.value = value
        """The words at fault, as the text has them."""
        self.expected = expected
        """What was expected there."""
        self.remedy = remedy
        """What to do about it, if that is known."""
