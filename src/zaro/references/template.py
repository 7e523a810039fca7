"""The templates of a reference document: names that stand for text, plain or with parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping

from zaro.errors import TemplateError
from zaro.references import expression as ex

__all__ = ["Templates"]

STEPS = 20_000  # expressions that the evaluation of one text may take, templates of templates included
DEEPEST = 16  # templates inside templates
_SIMPLE = re.compile(r"\{\{ *([A-Za-z_][A-Za-z0-9_]*) *\}\}")
_PLAIN = re.compile(r"\{\{([^{}()'\"]+)\}\}")

Value = int | str


class Templates:
    """The templates of one document.

    Parameters
    ----------
    texts : mapping of str to str
        As the document has them. A text with `{{ }}` may be called like a function.
    document : str
        Its name, for messages.

    Raises
    ------
    TemplateError
        `texts` is no object of texts.
    """

    def __init__(self, texts: object = None, document: str = "") -> None:
        if texts is None:
            texts = {}
        if not isinstance(texts, Mapping):
            raise TemplateError(document, "templates", f"is {type(texts).__name__}, expected an object")
        for name, text in texts.items():
            if not isinstance(name, str) or not isinstance(text, str):
                raise TemplateError(document, f"template {name!r}", f"is {text!r:.60}, expected text")
        self.texts: Mapping[str, str] = texts
        self.document = document
        self._plain = {name: value for name, value in self.texts.items() if "{{" not in value}
        self._parsed: dict[str, tuple[str | ex.Node, ...]] = {}
        self._values: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self.texts)

    def expand(self, text: str) -> str:
        """Replace what stands in braces, as in a URL. Text without templates stays as it is.

        Raises
        ------
        TemplateError
            Quotes the text.
        """
        if "{{" not in text or not self.texts:
            return text
        simple = _SIMPLE.sub(lambda found: self._plain.get(found[1], found[0]), text)
        return simple if "{{" not in simple else self.evaluate(text, {})

    def parse(self, text: str) -> tuple[str | ex.Node, ...]:
        """Cut a text into literal parts and expressions; a template's bare name may be of any characters."""
        try:
            return self._parse(text)
        except ex.Outside as err:
            raise self.error(text, err) from None

    def evaluate(self, text: str, values: Mapping[str, Value]) -> str:
        """Evaluate a text with these dimensions."""
        try:
            return _Evaluation(self).text(self._parse(text), values)
        except ex.Outside as err:
            raise self.error(text, err) from None

    def error(self, text: str, reason: object) -> TemplateError:
        """Make the error that quotes a text."""
        quoted = repr(text) if len(text) <= 120 else f"{text[:120]!r}..."
        return TemplateError(self.document, quoted, str(reason))

    def _parse(self, text: str) -> tuple[str | ex.Node, ...]:
        found = self._parsed.get(text)
        if found is None:
            found = ex.parse(text) if not self._odd_names(text) else self._parse_plain(text)
            if len(self._parsed) < 4096:
                self._parsed[text] = found
        return found

    def _odd_names(self, text: str) -> bool:
        """Whether a template is named that no expression could name, as `my-url`."""
        return any(self._is_odd(found.strip()) for found in _PLAIN.findall(text))

    def _is_odd(self, name: str) -> bool:
        return name in self.texts and not name.isidentifier()

    def _parse_plain(self, text: str) -> tuple[str | ex.Node, ...]:
        parts: list[str | ex.Node] = []
        at = 0
        for found in _PLAIN.finditer(text):
            name = found[1].strip()
            if self._is_odd(name):
                parts += [*ex.parse(text[at : found.start()]), ex.Name(name)]
                at = found.end()
        return (*parts, *ex.parse(text[at:]))


class _Evaluation:
    """The evaluation of one text, which may take only so many steps."""

    def __init__(self, templates: Templates) -> None:
        self.templates, self.steps, self.depth = templates, STEPS, 0

    def text(self, parts: tuple[str | ex.Node, ...], values: Mapping[str, Value]) -> str:
        pieces, length = [], 0
        for part in parts:
            piece = part if isinstance(part, str) else str(self.value(part, values))
            length += len(piece)
            if length > ex.LONGEST:
                raise ex.Outside(f"becomes more than {ex.LONGEST} characters")
            pieces.append(piece)
        return "".join(pieces)

    def value(self, node: ex.Node, values: Mapping[str, Value]) -> Value:
        self.steps -= 1
        if self.steps < 0:
            raise ex.Outside(f"takes more than {STEPS} steps")
        match node:
            case ex.Number(number):
                return number
            case ex.Text(text):
                return text
            case ex.Name(name):
                return values[name] if name in values else self.template(name, None)
            case ex.Negative(inner):
                return ex.arithmetic("-", 0, self.value(inner, values))
            case ex.Binary(op, left, right):
                first = self.value(left, values)
                if op == "%" and isinstance(first, str):
                    items = right.items if isinstance(right, ex.Items) else (right,)
                    return ex.formatted(first, tuple(self.value(item, values) for item in items))
                return ex.arithmetic(op, first, self.value(right, values))
            case ex.Call(name, parameters):
                return self.template(name, {key: self.value(given, values) for key, given in parameters})
            case _:
                raise ex.Outside("a list of values is not evaluated here")

    def template(self, name: str, parameters: Mapping[str, Value] | None) -> str:
        text = self.templates.texts.get(name)
        if text is None:
            raise ex.Outside(f"there is no template {name!r}" + self.known())
        if "{{" not in text:
            if parameters is not None:
                raise ex.Outside(f"template {name!r} takes no parameters")
            return text
        self.depth += 1
        if self.depth > DEEPEST:
            raise ex.Outside(f"template {name!r} needs itself, or is nested too deeply")
        found = self.text(self.templates._parse(text), parameters or {})
        self.depth -= 1
        return found

    def known(self) -> str:
        names = list(self.templates.texts)[:6]
        return f"; there are {', '.join(map(repr, names))}" if names else ""
