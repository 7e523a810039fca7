"""Tables and words from the records of benchmark runs, for the pages that show them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from IPython.display import Markdown

Record = dict[str, Any]


def load(name: str) -> Record:
    """A record of this folder."""
    found: Record = json.loads((Path(os.environ["ZARO_DOCS"]) / "figures" / f"{name}.json").read_text())
    return found


def about(record: Record) -> Markdown:
    """Where and with what it was recorded."""
    packages = ", ".join(f"{name} {version}" for name, version in record["packages"].items() if version)
    return Markdown(
        f"Recorded {record['date']} at commit `{record['commit']}`: {record['machine']}, {record['system']}, "
        f"Python {record['python']}; {packages}. {record.get('note', '')}"
    )


def table(rows: Sequence[Record], columns: dict[str, Callable[[Record], str]]) -> Markdown:
    """A Markdown table: a column by its title, and the text of a row."""
    lines = [" | ".join(columns), " | ".join(["---", *["---:"] * (len(columns) - 1)])]
    lines += [" | ".join(text(row) for text in columns.values()) for row in rows]
    return Markdown("\n".join(f"| {line} |" for line in lines))
