"""What the in-page scripts answer, decoded. Field names are the scripts'; texts are the page's, never to be trusted."""

from __future__ import annotations

from msgspec import Raw, Struct, field


class Answer(Struct, frozen=True):
    """The frame of every answer."""

    missing: bool = False
    bad: str | None = None
    value: Raw = Raw(b"null")


class Minting(Struct, frozen=True):
    """Base of answers that may have minted refs: (ref, role, name) each."""

    used: int = 0
    minted: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    gone: bool = False


class Box(Struct, frozen=True):
    """CSS pixels."""

    x: float
    y: float
    width: float
    height: float


class Element(Struct, frozen=True):
    """An element, described."""

    ref: str
    role: str
    name: str
    tag: str
    text: str
    value: str
    visible: bool
    enabled: bool
    box: Box
    attributes: dict[str, str]
    states: list[str]


class Problem(Struct, frozen=True):
    """Why an element cannot be acted on."""

    reason: str
    message: str
    by: str = ""
    final: bool = False
    """Waiting does not help."""


class Located(Minting, frozen=True):
    """A search for one element: `handle` when it can be acted on, else `total` and why not."""

    total: int = 0
    handle: int = 0
    quad: tuple[float, float, float, float] | None = None
    element: Element | None = None
    elements: list[Element] = field(default_factory=list[Element])
    problem: Problem | None = None


class Queried(Minting, frozen=True):
    """A search for elements."""

    total: int = 0
    elements: list[Element] = field(default_factory=list[Element])


class Replacement(Struct, frozen=True):
    """A present element like one that is gone."""

    ref: str
    role: str
    name: str


class Replacements(Minting, frozen=True):
    """At most three."""

    elements: list[Replacement] = field(default_factory=list[Replacement])


class Aimed(Struct, frozen=True):
    """A point of the element that events reach, in its frame's viewport."""

    x: float = 0
    y: float = 0
    gone: bool = False
    problem: Problem | None = None


class Through(Struct, frozen=True):
    """A child frame's point in its parent's viewport."""

    x: float = 0
    y: float = 0
    by: str = ""
    gone: bool = False


class Stopped(Struct, frozen=True):
    """The event that the guard stopped first, and what it would have reached."""

    event: str
    by: str


class PageState(Struct, frozen=True):
    """Where a document is."""

    url: str = ""
    title: str = ""


class Finished(PageState, frozen=True):
    """What the guard saw."""

    stopped: Stopped | None = None
    delivered: list[str] = field(default_factory=list[str])
    connected: bool = False


class Typed(PageState, frozen=True):
    """What the guard saw of the keys, and what the control holds."""

    stopped: Stopped | None = None
    delivered: list[str] = field(default_factory=list[str])
    connected: bool = False
    value: str = ""


class Focused(Minting, frozen=True):
    """What has focus: an element, a frame, or nothing."""

    handle: int = 0
    frame: str = ""
    element: Element | None = None
    problem: Problem | None = None


class KeysArmed(Struct, frozen=True):
    """Whether the keys will reach the element."""

    gone: bool = False
    stopped: Stopped | None = None
    delivered: list[str] = field(default_factory=list[str])
    elsewhere: str = ""
    kind: str = ""
    empty: bool = True
    multiline: bool = False


class SnapshotPart(Minting, frozen=True):
    """Lines of one frame's outline."""

    lines: list[str] = field(default_factory=list[str])
    frame: str = ""
    depth: int = 0
    walk: str = ""
    refs: int = 0


class TextPart(Minting, frozen=True):
    """Content of one frame."""

    text: str = ""
    frame: str = ""
    walk: str = ""
    hidden: int = 0


class LinkFound(Struct, frozen=True):
    """A link."""

    url: str
    text: str
    ref: str
    rel: str


class LinksFound(Minting, frozen=True):
    """The links of one frame."""

    links: list[LinkFound] = field(default_factory=list[LinkFound])
    total: int = 0


class Scroller(Struct, frozen=True):
    """How far a scroller is scrolled and can be, CSS pixels."""

    handle: int = 0
    x: float = 0
    y: float = 0
    max_x: float = field(default=0, name="maxX")
    max_y: float = field(default=0, name="maxY")
    gone: bool = False
    url: str = ""
    title: str = ""


class Toggle(Struct, frozen=True):
    """Whether an element has an on and an off (`kind` is its role, or ""), and which it is."""

    gone: bool = False
    kind: str = ""
    checked: bool = False
    mixed: bool = False


class Picked(Struct, frozen=True):
    """What choosing options of a native select came to."""

    gone: bool = False
    selected: list[str] = field(default_factory=list[str])
    changed: bool = False
    many: bool = False
    disabled: str | None = None
    missing: str | None = None
    labels: list[str] = field(default_factory=list[str])


class Choices(Minting, frozen=True):
    """What an ARIA list has: the ref of the choice that was asked for, and all labels."""

    kind: str = ""
    expanded: bool = False
    options: list[str] = field(default_factory=list[str])
    chosen: list[str] = field(default_factory=list[str])
    value: str = ""
    option: str = ""
    is_chosen: bool = field(default=False, name="isChosen")


class ValueSet(Struct, frozen=True):
    """What setting the value of a control with a picker came to."""

    gone: bool = False
    refused: bool = False
    value: str = ""
    type: str = ""


class Holds(Struct, frozen=True):
    """Whether a condition holds."""

    holds: bool = False


class TextPlace(Struct, frozen=True):
    """Where a text was found."""

    context: str
    element: Element


class TextFound(Minting, frozen=True):
    """The places of a text in one frame."""

    total: int = 0
    matches: list[TextPlace] = field(default_factory=list[TextPlace])


class FileInput(Struct, frozen=True):
    """The file input of an element, if it has one, and the names that it holds."""

    gone: bool = False
    input: bool = False
    handle: int = 0
    multiple: bool = False
    names: list[str] = field(default_factory=list[str])


class DragSeen(Struct, frozen=True):
    """Whether a page had a dragstart since it was watched, and prevented it."""

    begun: bool = False
    prevented: bool = False


class Kept(Struct, frozen=True):
    """Local and session storage of one origin, by key."""

    origin: str = ""
    local: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    session: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


class Restored(Struct, frozen=True):
    """Whether storage was put back."""

    done: bool = False
