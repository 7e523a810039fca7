"""A small evaluator for the texts of templates and standard generators. Nothing is ever executed.

A text is literal but for `{{ expression }}`. An expression is made of integers, quoted text, names,
`+ - * // % **`, parentheses, `'%03d' % i` and `name(parameter=value)`. Anything else (attributes,
filters, statements, other calls) is an error that quotes the text. Integers stay within 64 bits,
texts within LONGEST characters, and no evaluation takes more than STEPS steps.

Source: kerchunk's specification of references, version 1; its texts are Jinja's, of which this is
the part that reference sets use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Call",
    "Interval",
    "Name",
    "Node",
    "Number",
    "Outside",
    "Text",
    "columns",
    "names_of",
    "parse",
    "reach",
]

LONGEST = 1 << 16  # characters of a text, and of what it becomes
DEEPEST = 40  # nested parentheses
MOST_STEPS = 200  # operations of one expression
LEAST, MOST = -(2**63), 2**63 - 1

Column = NDArray[np.int64]
Interval = tuple[int, int]
"""Least and largest value, both included."""


class Outside(ValueError):
    """A text lies outside the grammar, or a value outside its bounds; the message says why."""


@dataclass(frozen=True, slots=True)
class Number:
    """An integer."""

    value: int


@dataclass(frozen=True, slots=True)
class Text:
    """Quoted text."""

    value: str


@dataclass(frozen=True, slots=True)
class Name:
    """A dimension, a parameter or a template."""

    name: str


@dataclass(frozen=True, slots=True)
class Negative:
    """The negative of an integer."""

    value: Node


@dataclass(frozen=True, slots=True)
class Binary:
    """Two values and what stands between them."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Items:
    """Several values for one format."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A template with its parameters."""

    name: str
    parameters: tuple[tuple[str, Node], ...]


Node = Number | Text | Name | Negative | Binary | Items | Call

# ---- from text ---------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>[0-9]+)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<op>\*\*|//|\}\}|[-+*%(),=]))""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "t": "\t", "r": "\r"}


def parse(text: str) -> tuple[str | Node, ...]:
    """Cut a text into its literal parts and its expressions.

    Raises
    ------
    Outside
    """
    if len(text) > LONGEST:
        raise Outside(f"more than {LONGEST} characters")
    parts: list[str | Node] = []
    at = 0
    while (start := text.find("{{", at)) >= 0:
        parts.append(text[at:start])
        parser = _Parser(text, start + 2)
        parts.append(parser.whole())
        at = parser.at
    parts.append(text[at:])
    for part in parts:
        if isinstance(part, str) and ("{%" in part or "{#" in part):
            raise Outside("statements and comments are not evaluated")
    return tuple(part for part in parts if part != "")


class _Parser:
    """One expression, from behind its opening braces."""

    def __init__(self, text: str, at: int) -> None:
        self.text, self.at, self.depth, self.steps = text, at, 0, 0
        if text[at : at + 1] in ("-", "+"):  # Jinja's white space control, not a sign
            raise Outside(f"'{{{{{text[at]}' is not evaluated")
        self.kind, self.token = "", ""
        self.next()

    def next(self) -> None:
        if self.token == "}}":
            return
        found = _TOKEN.match(self.text, self.at)
        if found is None:
            rest = self.text[self.at :].lstrip()
            raise Outside(f"{rest[:20]!r} is not evaluated" if rest else "'{{' without '}}'")
        self.at, self.kind, self.token = found.end(), str(found.lastgroup), found[str(found.lastgroup)]

    def whole(self) -> Node:
        node = self.sum()
        if self.token != "}}":
            raise Outside(f"{self.token!r} is not expected here")
        return node

    def take(self, *tokens: str) -> str:
        token = self.token
        if self.kind != "op" or token not in tokens:
            return ""
        self.next()
        return token

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise Outside(f"expected {token!r}, found {self.token!r}")

    def sum(self) -> Node:
        node = self.product()
        while op := self.take("+", "-"):
            node = self.binary(op, node, self.product())
        return node

    def product(self) -> Node:
        node = self.signed()
        while op := self.take("*", "//", "%"):
            node = self.binary(op, node, self.signed())
        return node

    def binary(self, op: str, left: Node, right: Node) -> Node:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Outside(f"more than {MOST_STEPS} operations")
        return Binary(op, left, right)

    def signed(self) -> Node:
        negative = False
        while op := self.take("-", "+"):
            negative ^= op == "-"
        node = self.power()
        return Negative(node) if negative else node

    def power(self) -> Node:
        node = self.atom()
        return self.binary("**", node, self.signed()) if self.take("**") else node

    def atom(self) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            raise Outside("nested too deeply")
        kind, token = self.kind, self.token
        node: Node
        if kind == "op":
            self.expect("(")
            node = self.parenthesis()
        else:
            self.next()
            if kind == "number":
                if len(token) > 19:
                    raise Outside(f"{token[:20]}... leaves the range of 64 bits")
                node = Number(int(token))
            elif kind == "text":
                node = Text(_ESCAPE.sub(_unescape, token[1:-1]))
            else:
                node = Call(token, self.parameters()) if self.take("(") else Name(token)
        self.depth -= 1
        return node

    def parenthesis(self) -> Node:
        items = [self.sum()]
        several = False
        while self.take(","):
            several = True
            if self.token == ")":
                break
            items.append(self.sum())
        self.expect(")")
        return Items(tuple(items)) if several else items[0]

    def parameters(self) -> tuple[tuple[str, Node], ...]:
        found: list[tuple[str, Node]] = []
        while not self.take(")"):
            if found:
                self.expect(",")
                if self.take(")"):
                    break
            name = self.token
            if self.kind != "name":
                raise Outside(f"expected the name of a parameter, found {name!r}")
            self.next()
            self.expect("=")
            found.append((name, self.sum()))
        return tuple(found)


def _unescape(found: re.Match[str]) -> str:
    if found[1] not in _ESCAPES:
        raise Outside(f"escape {found[0]!r} is not evaluated")
    return _ESCAPES[found[1]]


def names_of(node: str | Node) -> Iterator[str]:
    """Names that an expression asks for, the templates that it calls included."""
    match node:
        case Name(name):
            yield name
        case Negative(value):
            yield from names_of(value)
        case Binary(_, left, right):
            yield from names_of(left)
            yield from names_of(right)
        case Items(items):
            for item in items:
                yield from names_of(item)
        case Call(name, parameters):
            yield name
            for _, value in parameters:
                yield from names_of(value)
        case _:
            pass


# ---- one value ---------------------------------------------------------------------------------

_FORMAT = re.compile(r"%(?:(%)|([-+ 0#]*)([0-9]{0,3})(?:\.([0-9]{1,3}))?([dixXos]))", re.ASCII)


def bounded(value: int) -> int:
    """Give an integer back that lies within 64 bits."""
    if not LEAST <= value <= MOST:
        raise Outside("an integer leaves the range of 64 bits")
    return value


def arithmetic(op: str, left: int | str, right: int | str) -> int:
    """Compute one step; exact, within 64 bits."""
    if isinstance(left, str) or isinstance(right, str):
        raise Outside(f"{op!r} of text")
    if op in ("//", "%") and right == 0:
        raise Outside("division by zero")
    if op == "**" and not (0 <= right < 64):
        raise Outside(f"a power of {right}")
    steps: dict[str, Callable[[], int]] = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "//": lambda: left // right,
        "%": lambda: left % right,
        "**": lambda: left**right,
    }
    return bounded(steps[op]())


def formatted(text: str, values: tuple[int | str, ...]) -> str:
    """Format as `'%03d' % i` does: `d i x X o s`, flags, a width and a precision of at most 3 digits."""
    if "%" in _FORMAT.sub("", text):
        raise Outside(f"format {text!r} is not evaluated")
    try:
        return text % values
    except (TypeError, ValueError) as err:
        raise Outside(f"format {text!r}: {err}") from None


# ---- whole columns -----------------------------------------------------------------------------


def reach(node: Node, intervals: Mapping[str, Interval]) -> Interval | None:
    """Least and largest value that an integer expression may take; None where that is not known.

    Where it is known, no step of it leaves 64 bits and no division meets a zero.
    """
    found: Interval | None = None
    match node:
        case Number(value):
            found = value, value
        case Name(name):
            found = intervals.get(name)
        case Negative(value):
            inner = reach(value, intervals)
            found = None if inner is None else (-inner[1], -inner[0])
        case Binary(op, left, right):
            a, b = reach(left, intervals), reach(right, intervals)
            found = None if a is None or b is None else _combined(op, a, b)
        case _:
            pass
    return found if found is not None and found[0] >= LEAST and found[1] <= MOST else None


def _combined(op: str, a: Interval, b: Interval) -> Interval | None:
    if op == "+":
        return a[0] + b[0], a[1] + b[1]
    if op == "-":
        return a[0] - b[1], a[1] - b[0]
    if op == "*":
        ends = [x * y for x in a for y in b]
        return min(ends), max(ends)
    if op == "//" and b[0] > 0:
        ends = [x // y for x in a for y in b]
        return min(ends), max(ends)
    if op == "%" and b[0] > 0:
        return 0, b[1] - 1
    return None


def columns(node: Node, values: Mapping[str, Column]) -> Column | int:
    """Compute an integer expression over whole columns; trusts `reach` to have bounded it."""
    match node:
        case Number(value):
            return value
        case Name(name):
            return values[name]
        case Negative(value):
            return -columns(value, values)
        case Binary(op, left, right):
            a, b = columns(left, values), columns(right, values)
            if op == "+":
                return a + b
            if op == "-":
                return a - b
            if op == "*":
                return a * b
            return a // b if op == "//" else a % b
        case _:
            raise AssertionError(node)
