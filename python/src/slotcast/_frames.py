"""Tables of columns, which other libraries take without copies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from itertools import islice
from typing import Any

SHOWN = 10
"""Rows of a table that a notebook shows."""


class Frame(Mapping[str, Any]):
    """Columns of equal length by name. Names carry the unit.

    A column of numbers has the buffer protocol: ``numpy.asarray(frame["latency_ns"])`` copies nothing. A column of
    text is a list.
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._columns = dict(columns)

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        """The number of columns."""
        return len(self._columns)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return max((len(column) for column in self._columns.values()), default=0)

    def to_numpy(self) -> dict[str, Any]:
        """An array for each column; those of numbers look at the memory of this table."""
        import numpy

        return {name: numpy.asarray(column) for name, column in self._columns.items()}

    def to_pandas(self) -> Any:
        """A data frame over the memory of this table."""
        import pandas

        series = {name: _series(column) for name, column in self._columns.items()}
        return pandas.DataFrame(series, copy=False)

    def to_arrow(self) -> Any:
        """An Arrow table over the memory of this table."""
        import pyarrow

        return pyarrow.table({name: _arrow(column) for name, column in self._columns.items()})

    def _repr_html_(self) -> str:
        return table_html(list(self), (tuple(row) for row in self._lines(SHOWN)), self.rows)

    def __repr__(self) -> str:
        return f"<slotcast.Frame of {self.rows} rows: {', '.join(self)}>"

    def _lines(self, most: int) -> Iterator[tuple[Any, ...]]:
        views = [_values(column) for column in self._columns.values()]
        return islice(zip(*views, strict=True), most)


def _values(column: Any) -> Iterator[Any]:
    categories = getattr(column, "categories", None)
    numbers = column if isinstance(column, list) else memoryview(column)
    return (categories[number] for number in numbers) if categories else iter(numbers)


def _series(column: Any) -> Any:
    import numpy
    import pandas

    if isinstance(column, list):
        return pandas.Series(column, dtype=object)
    array = numpy.asarray(column)
    categories = getattr(column, "categories", None)
    if categories is None:
        return pandas.Series(array, copy=False)
    return pandas.Series(pandas.Categorical.from_codes(array, categories=categories), copy=False)


def _arrow(column: Any) -> Any:
    import pyarrow

    if isinstance(column, list):
        return pyarrow.array(column, pyarrow.string())
    types = {
        "q": pyarrow.int64(),
        "Q": pyarrow.uint64(),
        "d": pyarrow.float64(),
        "b": pyarrow.int8(),
    }
    view = memoryview(column)
    # Arrow keeps a reference to the column for as long as it looks at its memory.
    buffer = pyarrow.py_buffer(column)
    array = pyarrow.Array.from_buffers(types[view.format], len(view), [None, buffer])
    categories = getattr(column, "categories", None)
    return array if categories is None else pyarrow.DictionaryArray.from_arrays(array, categories)


def table_html(header: list[str], rows: Any, count: int) -> str:
    """A table for a notebook: without colours of its own, so that it fits a light page and a dark one."""
    cell = "padding:0.1em 0.7em;text-align:right"
    heads = "".join(f'<th style="{cell}">{escape(str(name))}</th>' for name in header)
    body, shown = "", 0
    for row in rows:
        cells = "".join(f'<td style="{cell}">{escape(text(value))}</td>' for value in row)
        body, shown = body + f"<tr>{cells}</tr>", shown + 1
    more = f"<p>{count - shown} more rows</p>" if count > shown else ""
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{more}"


def text(value: Any) -> str:
    """A value for people."""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
    return "" if value is None else str(value)
