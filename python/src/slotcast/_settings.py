"""Settings as people write them in Python, in the forms that the lab reads."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from ._errors import SettingsError

CONFIG = "config"
"""What errors call settings that come from no file."""


def source(config: Any) -> tuple[str, str | None]:
    """The place of ``config``, and its text if it is no file."""
    if isinstance(config, Mapping):
        return CONFIG, toml(config)
    if isinstance(config, os.PathLike):
        return os.fspath(config), None
    if isinstance(config, str):
        is_text = "\n" in config or "=" in config or not config.strip()
        return (CONFIG, config) if is_text else (config, None)
    raise TypeError(f"expected a dict, TOML text or a path, not {type(config).__name__}")


def toml(config: Mapping[str, Any]) -> str:
    """``config`` as TOML: tables may be nested, or their keys joined with dots."""
    lines: list[str] = []
    tables: dict[str, list[str]] = {}
    blocks: list[tuple[str, Mapping[str, Any]]] = []
    for key, value in config.items():
        if isinstance(value, (list, tuple)) and value and all(isinstance(v, Mapping) for v in value):
            blocks.extend((key, block) for block in value)
        elif isinstance(value, Mapping):
            tables.setdefault(key, []).extend(_lines(value))
        elif "." in key:
            section, name = key.split(".", 1)
            tables.setdefault(section, []).append(f"{_key(name)} = {_value(value)}")
        else:
            lines.append(f"{_key(key)} = {_value(value)}")
    for section, of_section in tables.items():
        lines += [f"[{_key(section)}]", *of_section]
    for section, block in blocks:
        lines += [f"[[{_key(section)}]]", *_lines(block)]
    return "".join(line + "\n" for line in lines)


def _lines(table: Mapping[str, Any], prefix: str = "") -> list[str]:
    lines = []
    for key, value in table.items():
        name = prefix + _key(key)
        if isinstance(value, Mapping):
            lines += _lines(value, name + ".")
        else:
            lines.append(f"{name} = {_value(value)}")
    return lines


def _key(key: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"expected keys that are text, not {key!r}")
    parts = key.split(".")
    if all(part and all(c.isascii() and (c.isalnum() or c in "_-") for c in part) for part in parts):
        return key
    return json.dumps(key, ensure_ascii=False)


def _value(value: Any) -> str:
    value = plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (str, os.PathLike)):
        # What JSON escapes TOML escapes, too.
        return json.dumps(os.fspath(value), ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, Iterable):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    raise TypeError(f"expected text, a number, a list or a table, not {type(value).__name__}")


def plain(value: Any) -> Any:
    """A number of numpy as one of Python."""
    is_scalar = hasattr(value, "item") and getattr(value, "ndim", 0) == 0
    return value.item() if is_scalar else value


def _text(value: Any) -> str:
    value = plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def overrides(given: Mapping[str, Any] | None, seeds: int | Iterable[int] | None) -> list[str]:
    """``key=value`` for each setting that goes before what the experiment says."""
    texts = [f"{key}={_text(value)}" for key, value in _flat(given or {})]
    return texts + _seeds(seeds)


def _flat(table: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for key, value in table.items():
        is_table = isinstance(value, Mapping)
        flat += _flat(value, f"{prefix}{key}.") if is_table else [(prefix + key, value)]
    return flat


def _seeds(seeds: int | Iterable[int] | None) -> list[str]:
    seeds = plain(seeds)
    if seeds is None:
        return []
    if isinstance(seeds, int):
        return [f"seeds.count={seeds}"]
    every = [int(seed) for seed in seeds]
    if not every or every != list(range(every[0], every[0] + len(every))):
        text = "seeds: expected a number of seeds, or seeds one after another such as `range(1, 21)`"
        raise SettingsError(text, key="seeds", value=repr(seeds))
    return [f"seeds.first={every[0]}", f"seeds.count={len(every)}"]


def axes(given: Mapping[str, Any] | None) -> list[str]:
    """``key=values`` for each key that is swept: a list of values, or text such as ``1..64*2``."""
    texts = []
    for key, values in _flat(given or {}):
        listed = values if isinstance(values, str) else ",".join(_text(value) for value in values)
        texts.append(f"{key}={listed}")
    return texts
