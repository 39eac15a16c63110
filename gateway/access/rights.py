"""What a token needs for each method: the auth table, made from the contract's method options."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor
from google.protobuf.message import Message
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity, TokenScopes
from hyperkitty.browser.v1 import operations_pb2
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.options.v1 import options_pb2

from gateway.contract import Rpc
from gateway.transcoding import forms
from gateway.transcoding.forms import FormError, OneofForm
from services.kit import capabilities
from services.kit.capabilities import OperationFacts
from services.kit.errors import Refusal

Facts: TypeAlias = "list[OperationFacts | None]"
"""The operations of a request; None for one that names none."""

_BROWSER_OPERATION = operations_pb2.BrowserOperation.DESCRIPTOR.full_name


class AuthTable:
    """Decides, for every rpc of the contract, whether a caller may call it."""

    def __init__(self, rpcs: Iterable[Rpc]) -> None:
        self._rules = {rpc.path: _rule(rpc) for rpc in rpcs}

    def __contains__(self, rpc: Rpc) -> bool:
        return rpc.path in self._rules

    def check(self, rpc: Rpc, caller: CallerIdentity, request: Message | None = None) -> CallerIdentity:
        """The identity to make the call with. Raises Refusal not_authorized. A client's stream has no one request."""
        return self._rules[rpc.path].check(caller, request)


class _Rule:
    def __init__(self, rpc: Rpc, scope: options_pb2.Scope.ValueType) -> None:
        self._rpc = rpc
        self._scope = scope
        self._operations = _operations_of(rpc.method.input_type) if scope == options_pb2.SCOPE_CAPABILITY else None
        self._is_action = rpc.options.operation and _is_action(rpc.method.input_type)
        # What an agent's own token may do: act, and read about itself.
        self._of_agent = "agent_id" in rpc.method.input_type.fields_by_name and (
            self._is_action or not rpc.options.operation
        )

    def check(self, caller: CallerIdentity, request: Message | None) -> CallerIdentity:
        if caller.agent_id:
            if self._of_agent and request is not None and _agent_of(request) == caller.agent_id:
                return self._bound(caller)
            self._refuse_other_acts(caller)
        scopes = caller.scopes
        if scopes.root or self._scope == options_pb2.SCOPE_ANY:
            return caller
        if self._scope == options_pb2.SCOPE_APPROVE:
            if not scopes.approve:
                raise self._refused("the scope approve")
        elif self._scope == options_pb2.SCOPE_ROOT:
            raise self._refused("a root token")
        elif self._rpc.area not in scopes.services:
            self._by_capability(caller, request)
        return caller

    def _bound(self, caller: CallerIdentity) -> CallerIdentity:
        """The identity of a token in what is its agent's own: this service, and nothing else that the token may do."""
        bound = CallerIdentity()
        bound.CopyFrom(caller)
        bound.scopes.CopyFrom(TokenScopes(services=[self._rpc.area]))
        return bound

    def _refuse_other_acts(self, caller: CallerIdentity) -> None:
        """A token bound to an agent acts only through that agent's actions, whatever else it may read (SPEC §11)."""
        if self._is_action:
            raise self._refused(f"a token that is not bound to {caller.agent_id}")
        if self._rpc.options.operation:
            raise self._refused("a token that is not bound to an agent; this one acts only through its agent's actions")

    def _by_capability(self, caller: CallerIdentity, request: Message | None) -> None:
        service = f"the service {self._rpc.area}"
        if self._operations is None or request is None:
            raise self._refused(service)
        granted = set(caller.scopes.capabilities)
        for facts in self._operations(request) or [None]:
            if facts is None or not granted & facts.covering:
                capability = "" if facts is None else f", or the capability {facts.capability}"
                raise self._refused(service + capability)

    def _refused(self, what: str) -> Refusal:
        return Refusal(
            ErrorCode.ERROR_CODE_NOT_AUTHORIZED,
            f"{self._rpc.name} needs {what}",
            hint="create_token with what is missing, or use a token that has it.",
        )


def _rule(rpc: Rpc) -> _Rule:
    if rpc.options.scope == options_pb2.SCOPE_UNSPECIFIED:
        raise FormError(f"{rpc.name} declares no scope")
    return _Rule(rpc, rpc.options.scope)


def _agent_of(request: Message) -> object:
    return getattr(request, "agent_id", None)


def _is_action(request: Descriptor) -> bool:
    """Whether the request is one action of an agent: {"tool", "op", "args"}."""
    return "agent_id" in request.fields_by_name and any(
        field.message_type is not None and _has_form(field.message_type, OneofForm.TOOL) for field in request.fields
    )


def _has_form(message: Descriptor, form: OneofForm) -> bool:
    oneofs: Iterable[OneofDescriptor] = message.oneofs
    return any(forms.oneof_form(oneof) is form for oneof in oneofs)


def _operations_of(request: Descriptor) -> Callable[[Message], Facts]:
    """Finds the browser operations in a request: one, several, or the message of one by itself."""
    fields: Iterable[FieldDescriptor] = request.fields
    for field in fields:
        if field.message_type is None:
            continue
        name = field.name
        if field.message_type.full_name == _BROWSER_OPERATION:
            if field.is_repeated:
                return lambda message: [_facts(each) for each in cast("Iterable[Message]", getattr(message, name))]
            return lambda message: [_facts(cast("Message", getattr(message, name)))]
        facts = capabilities.by_message().get(field.message_type.full_name)
        if facts is not None:
            return lambda _: [facts]
    raise FormError(f"{request.full_name} holds no browser operation, and its scope is one of a capability")


def _facts(operation: Message) -> OperationFacts | None:
    return capabilities.facts_of(cast("operations_pb2.BrowserOperation", operation))
