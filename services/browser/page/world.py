"""The isolated world of one frame, and calls of our scripts in it.

The page's own scripts see neither the world's globals nor its wrappers of the DOM. A world dies with its document;
the next call makes the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cache
from typing import TypeVar

from msgspec import DecodeError, Raw, Struct
from msgspec.json import Decoder

from services.browser.cdp.domains import dom, runtime
from services.browser.cdp.domains import page as cdp_page
from services.browser.cdp.errors import CdpError
from services.browser.cdp.message import JsonValue
from services.browser.cdp.session import CdpSession
from services.browser.page.results import Answer
from services.browser.page.scripts_bundle import CALL, ELEMENT, OWN_FRAME, WORLD, bundle
from services.browser.page.wire import Wire

T = TypeVar("T", bound=Struct)

# What Chromium says when a context id is of a document that is gone: nothing ran.
_NO_CONTEXT = "Cannot find context with specified id"
_ATTEMPTS = 4

_answer = Decoder(Answer)


class WorldGone(Exception):
    """The document went away before or while a script ran in it."""


class ScriptRefused(Exception):
    """The script refused its arguments (a selector that is none); the message is the browser's."""


class ScriptFailed(Exception):
    """A script threw, or answered what its result type does not allow: a fault of ours."""


class World:
    """Makes and remembers the isolated world of a frame."""

    def __init__(self, wire: Wire, session: CdpSession, frame_id: str) -> None:
        self._wire = wire
        self.session = session
        self._frame_id = frame_id
        self._context: asyncio.Future[cdp_page.CreateIsolatedWorldResult] | None = None

    def renew(self, seconds: float) -> None:
        """The document changed; asks for the new world at once, so that it is there when it is needed."""
        self._context = self._ask(seconds)

    def forget(self) -> None:
        """The document changed; the world is made when it is needed."""
        self._context = None

    def _ask(self, seconds: float) -> asyncio.Future[cdp_page.CreateIsolatedWorldResult]:
        return self.session.post(
            cdp_page.CreateIsolatedWorld(frame_id=self._frame_id, world_name=WORLD), timeout=seconds
        )

    async def context(self, seconds: float) -> int:
        """The id of its execution context. Raises WorldGone, CdpFault, DialogInterrupted."""
        if self._context is None or (self._context.done() and self._context.exception() is not None):
            self._context = self._ask(seconds)
        asked = self._context
        try:
            result = await self._wire.guard(asked, seconds)
        except CdpError as error:
            raise WorldGone(error.message) from error
        return result.execution_context_id

    async def call(self, name: str, args: Mapping[str, JsonValue], kind: type[T], *, seconds: float) -> T:
        """Run one of the scripts' functions. `seconds` bounds the whole.

        Raises WorldGone, ScriptRefused, ScriptFailed, DialogInterrupted, CdpFault (CdpTimeout: no answer).
        """
        arguments = [runtime.CallArgument(value=name), runtime.CallArgument(value=dict(args))]
        for _ in range(_ATTEMPTS):
            context = await self.context(seconds)
            command = runtime.CallFunctionOn(
                function_declaration=CALL,
                arguments=arguments,
                execution_context_id=context,
                return_by_value=True,
                await_promise=True,
            )
            result = await self._run(command, seconds)
            if result is None:
                continue
            answer = _answer.decode(result)
            if answer.missing:
                await self._install(context, seconds)
                continue
            if answer.bad is not None:
                raise ScriptRefused(answer.bad)
            return _decoded(answer.value, kind, name)
        raise WorldGone("the frame keeps changing its document")

    async def _run(self, command: runtime.CallFunctionOn, seconds: float) -> Raw | None:
        """The answer of one call, or None when its context was gone before anything ran."""
        try:
            result = await self._wire.send(self.session, command, seconds)
        except CdpError as error:
            self.forget()
            if error.message == _NO_CONTEXT:
                return None
            raise WorldGone(error.message) from error
        if result.exception_details is not None:
            thrown = result.exception_details.exception
            raise ScriptFailed((thrown and thrown.description) or result.exception_details.text)
        if not result.result.value or not bytes(result.result.value):
            raise ScriptFailed("the script answered nothing")
        return result.result.value

    async def _install(self, context: int, seconds: float) -> None:
        """Put the scripts there: a document without scripts of its own has not run what new documents run."""
        try:
            command = runtime.Evaluate(expression=bundle(), context_id=context, silent=True)
            result = await self._wire.send(self.session, command, seconds)
        except CdpError:
            self.forget()
            return
        if result.exception_details is not None:
            thrown = result.exception_details.exception
            raise ScriptFailed((thrown and thrown.description) or result.exception_details.text)

    async def object_of(self, handle: int, seconds: float) -> str:
        """The remote object of an element that a script gave a handle to. Raises as `call` does."""
        context = await self.context(seconds)
        command = runtime.CallFunctionOn(
            function_declaration=ELEMENT,
            arguments=[runtime.CallArgument(value=handle)],
            execution_context_id=context,
        )
        try:
            result = await self._wire.send(self.session, command, seconds)
        except CdpError as error:
            raise WorldGone(error.message) from error
        if result.exception_details is not None or result.result.object_id is None:
            raise WorldGone("the element is gone")
        return result.result.object_id

    async def own_frame(self, backend_node_id: int, frame_id: str, seconds: float) -> None:
        """Tell the scripts which frame an element of this document owns. Raises as `call` does."""
        for _ in range(_ATTEMPTS):
            context = await self.context(seconds)
            resolve = dom.ResolveNode(backend_node_id=backend_node_id, execution_context_id=context)
            try:
                node = await self._wire.send(self.session, resolve, seconds)
                tell = runtime.CallFunctionOn(
                    function_declaration=OWN_FRAME,
                    object_id=node.object.object_id,
                    arguments=[runtime.CallArgument(value=frame_id)],
                )
                told = await self._wire.send(self.session, tell, seconds)
            except CdpError as error:
                raise WorldGone(error.message) from error
            if told.exception_details is None:
                return
            await self._install(context, seconds)  # they are not there yet
        raise WorldGone("the frame keeps changing its document")


@cache
def _decoder(kind: type[T]) -> Decoder[T]:
    return Decoder(kind)


def _decoded(value: Raw, kind: type[T], name: str) -> T:
    try:
        return _decoder(kind).decode(value)
    except DecodeError as error:
        raise ScriptFailed(f"{name}: {error}") from error
