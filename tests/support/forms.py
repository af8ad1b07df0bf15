"""What the forms of pages ask for, found by following links from page to page."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser

from starlette.testclient import TestClient

_ALIKE_MAX = 3
"""Of pages that differ in numbers or in what is behind the question mark alone, so many."""
_TYPED = "because"
_TYPED_AS = {"lasts": "1h", "back_to": "", "seal": "", "slots": "", "priority": "7"}


@dataclass(slots=True)
class Form:
    """A form that posts, with the fields that it sends: what it says, else what one types."""

    action: str
    fields: dict[str, str] = field(default_factory=dict[str, str])


class Page(HTMLParser):
    """The forms that post and the links of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.links: list[str] = []
        self._open: Form | None = None
        self._area = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a form, a field or a link."""
        said = {name: value or "" for name, value in attrs}
        if tag == "form" and said.get("method") == "post":
            self._open = Form(said["action"])
            self.forms.append(self._open)
        elif tag == "form":
            self._open = None
        elif tag == "textarea" and self._open:
            self._area = said["name"]
            self._open.fields[self._area] = ""
        elif tag in ("input", "button", "select") and "name" in said and self._open:
            name = said["name"]
            self._open.fields[name] = said.get("value") or _TYPED_AS.get(name, _TYPED)
        elif tag == "a" and said.get("href", "").startswith("/"):
            self.links.append(said["href"])

    def handle_data(self, data: str) -> None:
        """Take what a text area says."""
        if self._area and self._open:
            self._open.fields[self._area] += data

    def handle_endtag(self, tag: str) -> None:
        """End a form, or a text area, without the end of a line that begins it."""
        if tag == "textarea" and self._open:
            fields = self._open.fields
            fields[self._area] = fields[self._area].removeprefix("\n")
            self._area = ""
        elif tag == "form":
            self._open = None


def crawled(
    client: TestClient, start: Iterable[str], headers: Mapping[str, str]
) -> dict[str, Form]:
    """Return every form that posts, by its address, from these pages and what they link to."""
    left, seen = list(start), set[str]()
    shapes: Counter[str] = Counter()
    found: dict[str, Form] = {}
    while left:
        path = left.pop(0)
        shape = re.sub("[0-9]+", "N", path.partition("?")[0])
        if path in seen or shapes[shape] == _ALIKE_MAX:
            continue
        seen.add(path)
        shapes[shape] += 1
        answer = client.get(path, headers=dict(headers))
        if answer.status_code != 200:
            continue
        page = Page(answer.text)
        found |= {form.action: form for form in page.forms}
        left += page.links
    return found
