"""Running one operation: checked, in order, recorded, within its deadline (SPEC §4, §9). Handlers do the rest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from google.protobuf.message import Message
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser import gate
from services.browser.authority import Fences, check_caller, check_owner, not_found
from services.browser.cdp.errors import CdpClosed, CdpError, CdpFault
from services.browser.operations.changes import Mark
from services.browser.operations.registry import Handler, handler_of
from services.browser.page.reading import MovedOn
from services.browser.policy import private_destination, scope_of
from services.browser.session import Session
from services.browser.sessions import Sessions
from services.browser.tab import Tab
from services.kit import deadlines, record
from services.kit.capabilities import OperationFacts, arm_of, facts_of
from services.kit.errors import Refusal, reason
from services.kit.host_rules import Rule
from services.kit.identity import current_identity
from services.kit.ids import new_id
from services.kit.masking import masked, without_credentials
from services.kit.operations import current_operation
from services.kit.validation import check_message

MOST_LOOKS = 4
REVIVING = frozenset({"navigate", "reload"})
CONTROL = frozenset({"handle_dialog", "close_tab"})

_FAILED = {
    "browser.navigation.started": "browser.navigation.failed",
    "browser.action.started": "browser.action.failed",
}


@dataclass(frozen=True, slots=True)
class Subject:
    """What an operation is about: the registry, a session, or a tab of one."""

    sessions: Sessions
    session: Session | None = None
    tab: Tab | None = None


class Dispatcher:
    """Runs operations on what the registry holds."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._fences = Fences()

    async def run(self, operation: pb.BrowserOperation) -> pb.BrowserResult:
        """Run one operation for the current caller. Raises Refusal."""
        check_message(operation)
        facts = facts_of(operation)
        if facts is None:
            raise Refusal(ErrorCode.ERROR_CODE_INVALID_ARGUMENTS, "no operation is set")
        arm = arm_of(operation)
        current_operation().kind = facts.name
        check_caller(current_identity(), facts, arm, self._fences)
        handler = handler_of(facts.name)
        if handler is None:
            raise Refusal(ErrorCode.ERROR_CODE_UNIMPLEMENTED, f"{facts.name} is not served yet")
        subject = await self._subject(facts, arm)
        _check_destination(subject, str(getattr(arm, "url", "")))
        with deadlines.within(_timeout_seconds(facts, arm)):
            session_id = subject.session.session_id if subject.session is not None else ""
            with self._sessions.activity.of(session_id):
                return await self._guarded(facts, handler, subject, arm)

    async def _subject(self, facts: OperationFacts, arm: Message) -> Subject:
        """What the operation's ids name. Raises Refusal not_found, not_authorized."""
        context, identity = current_operation(), current_identity()
        session_id, tab_id = str(getattr(arm, "session_id", "")), str(getattr(arm, "tab_id", ""))
        context.subject = tab_id or session_id
        if not (facts.on_session or facts.on_tab):
            context.session_id = context.subject = new_id("sess")  # of the session that is made
            return Subject(self._sessions)
        session, tab = await self._sessions.find(session_id, tab_id)
        if session is None:
            raise not_found(session_id or tab_id)
        check_owner(identity, session.tenant, session.owner_agent_id, session.session_id)
        context.session_id, context.agent_id = session.session_id, session.owner_agent_id
        if facts.name != "close_session":
            session.check_usable()
        if facts.on_tab and tab is None:
            raise not_found(tab_id)
        if facts.name == "open_tab":
            context.subject = new_id("tab")  # of the tab that is made
        return Subject(self._sessions, session, tab)

    async def _guarded(
        self, facts: OperationFacts, handler: Handler, subject: Subject, arm: Message
    ) -> pb.BrowserResult:
        """The operation, with the browser's own ways of failing brought into the contract's."""
        try:
            if facts.write:
                result = await self._write(facts, handler, subject, arm)
            else:
                result = await self._read(facts, handler, subject, arm)
        except CdpClosed as error:
            raise await self._gone(subject) from error
        except TimeoutError as error:
            raise deadlines.current_budget().exceeded() from error
        except CdpError as error:
            raise Refusal(
                ErrorCode.ERROR_CODE_WRONG_STATE, f"{facts.name}: the browser refused: {error.message}"
            ) from error
        except CdpFault as error:
            raise Refusal(ErrorCode.ERROR_CODE_RESOURCE_EXHAUSTED, f"{facts.name}: {error}") from error
        # What the page did meanwhile is on the log before its caller hears of it.
        await self._sessions.reports.settle()
        return result

    async def _gone(self, subject: Subject) -> Refusal:
        """Why the connection that an operation used is gone."""
        session, tab = subject.session, subject.tab
        if session is None or session.closing or session.exit is not None or session.client.browser.closed_reason:
            session_id = session.session_id if session else ""
            return Refusal(
                ErrorCode.ERROR_CODE_SESSION_CRASHED,
                "the session ended during the operation",
                details={"session_id": session_id},
            )
        tab_id = tab.tab_id if tab else ""
        return Refusal(
            ErrorCode.ERROR_CODE_NOT_FOUND, f"{tab_id} was closed during the operation", details={"id": tab_id}
        )

    async def _read(self, facts: OperationFacts, handler: Handler, subject: Subject, arm: Message) -> pb.BrowserResult:
        if subject.tab is not None and not facts.control_lane:
            subject.tab.check_usable()
        try:
            outcome = await _looked(handler, _first(facts, subject), arm)
        except Refusal as refusal:
            record.outcome("browser.action.failed", data=_failure(facts, arm, refusal))
            raise
        record.outcome(facts.event, data=_data(facts, arm, outcome))
        return _result(facts, outcome)

    async def _write(self, facts: OperationFacts, handler: Handler, subject: Subject, arm: Message) -> pb.BrowserResult:
        tab = subject.tab
        async with self._turn(facts, tab):
            if tab is not None and facts.name not in CONTROL:
                tab.check_usable(reviving=facts.name in REVIVING)
            intent = record.start_intent(
                facts.intent_event,
                data={"op": facts.name, "args": masked(arm)},
                failed="browser.tab.open_failed" if facts.name == "open_tab" else _FAILED[facts.intent_event],
            )
            mark = Mark.of(tab) if tab is not None else None
            try:
                with gate.closed_until(intent):
                    if not handler.gated:
                        await gate.opened()
                    outcome = await handler.call(_first(facts, subject), arm)
            finally:
                # Whatever came of it goes on the log after its intent.
                await asyncio.wait({intent})
            intent.result()
            result = _result(facts, outcome)
            if facts.name == "open_tab" and subject.session is not None:
                mark = Mark.opened(subject.session.tabs[result.open_tab.tab_id])
            session = subject.session
            asked = self._sessions.ask_cookies(session) if session is not None else None
            if mark is not None and facts.name != "close_tab":
                result.changed.CopyFrom(await mark.changed())
            if session is not None:
                await self._sessions.remember(session, asked)
        record.outcome(facts.event, data=_data(facts, arm, outcome))
        return result

    @asynccontextmanager
    async def _turn(self, facts: OperationFacts, tab: Tab | None) -> AsyncGenerator[None]:
        """A write's turn on its tab, in arrival order; the control lane has none."""
        if tab is None or facts.control_lane:
            yield
            return
        budget = deadlines.current_budget()
        async with budget.limit():
            await tab.writes.acquire()
        try:
            yield
        finally:
            tab.writes.release()


def _check_destination(subject: Subject, url: str) -> None:
    """A call that names a URL: inside the session's scope, and its private host opened where a person may (SPEC §5).

    Raises Refusal navigation_blocked.
    """
    session = subject.session
    if session is None or not url:
        return
    if not scope_of(session.policy).allows(url):
        shown = without_credentials(url)
        record.outcome("browser.navigation.blocked", data={"url": shown[:2_000], "by": "navigation scope"})
        raise Refusal(
            ErrorCode.ERROR_CODE_NAVIGATION_BLOCKED,
            f"the session's scope does not hold {shown[:200]!r}",
            details={"url": shown[:2_000], "allowed_domains": list(session.policy.allowed_domains)},
        )
    private = private_destination(url)
    if private is not None and not session.owner_agent_id and not current_identity().agent_id:
        host, port = private
        session.open_private(Rule(host=host, port=port))


async def _looked(handler: Handler, first: Tab | Session | Sessions, arm: Message) -> Message:
    """A read; one that a new document cut short begins again there, unless a cursor says where it was."""
    for _ in range(MOST_LOOKS - 1):
        try:
            return await handler.call(first, arm)
        except MovedOn:
            if str(getattr(arm, "cursor", "")) or deadlines.current_budget().left() <= 0:
                raise
    return await handler.call(first, arm)


def _first(facts: OperationFacts, subject: Subject) -> Tab | Session | Sessions:
    if facts.on_tab and subject.tab is not None:
        return subject.tab
    return subject.session or subject.sessions


def _timeout_seconds(facts: OperationFacts, arm: Message) -> float:
    return (int(getattr(arm, "timeout_ms", 0)) or facts.default_timeout_ms) / 1000


def _result(facts: OperationFacts, outcome: Message) -> pb.BrowserResult:
    result = pb.BrowserResult()
    getattr(result, facts.name).MergeFrom(outcome)
    getattr(result, facts.name).SetInParent()
    return result


def _data(facts: OperationFacts, arm: Message, outcome: Message) -> record.Data:
    return {"op": facts.name, "args": masked(arm), "result": masked(outcome, most_text=200)}


def _failure(facts: OperationFacts, arm: Message, refusal: Refusal) -> record.Data:
    return {
        "op": facts.name,
        "args": masked(arm),
        "code": reason(refusal.code),
        "message": refusal.message,
    }
