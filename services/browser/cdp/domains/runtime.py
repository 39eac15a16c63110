"""CDP domain Runtime: the commands and events this product uses."""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec import Raw, field

from services.browser.cdp.message import CdpObject, Command, Empty, Event, JsonValue


class ContextData(CdpObject):
    is_default: bool = False
    type: str = ""
    frame_id: str = ""


class CallFrame(CdpObject):
    function_name: str
    script_id: str
    url: str
    line_number: int
    column_number: int


class StackTraceId(CdpObject):
    id: str
    debugger_id: str | None = None


class StackTrace(CdpObject):
    call_frames: list[CallFrame]
    description: str | None = None
    parent: StackTrace | None = None
    parent_id: StackTraceId | None = None


class RemoteObject(CdpObject):
    type: str
    subtype: str | None = None
    class_name: str | None = None
    value: Raw = Raw()
    unserializable_value: str | None = None
    description: str | None = None
    object_id: str | None = None


class ExceptionDetails(CdpObject):
    exception_id: int
    text: str
    line_number: int
    column_number: int
    url: str | None = None
    exception: RemoteObject | None = None
    execution_context_id: int | None = None


class SerializationOptions(CdpObject):
    serialization: Literal["deep", "json", "idOnly"]
    max_depth: int | None = None
    additional_parameters: dict[str, JsonValue] | None = None


class CallArgument(CdpObject):
    value: JsonValue | None = None
    unserializable_value: str | None = None
    object_id: str | None = None


class PropertyDescriptor(CdpObject):
    name: str
    value: RemoteObject | None = None


class ExecutionContextDescription(CdpObject):
    id: int
    origin: str
    name: str
    unique_id: str
    aux_data: ContextData | None = None


class Enable(Command[Empty]):
    METHOD: ClassVar[str] = "Runtime.enable"


class EvaluateResult(CdpObject):
    result: RemoteObject
    exception_details: ExceptionDetails | None = None


class Evaluate(Command[EvaluateResult]):
    METHOD: ClassVar[str] = "Runtime.evaluate"
    expression: str
    object_group: str | None = None
    include_command_line_api: bool | None = field(default=None, name="includeCommandLineAPI")
    silent: bool | None = None
    context_id: int | None = None
    return_by_value: bool | None = None
    generate_preview: bool | None = None
    user_gesture: bool | None = None
    await_promise: bool | None = None
    throw_on_side_effect: bool | None = None
    timeout: float | None = None
    disable_breaks: bool | None = None
    repl_mode: bool | None = None
    allow_unsafe_eval_blocked_by_csp: bool | None = field(default=None, name="allowUnsafeEvalBlockedByCSP")
    unique_context_id: str | None = None
    serialization_options: SerializationOptions | None = None


class CallFunctionOnResult(CdpObject):
    result: RemoteObject
    exception_details: ExceptionDetails | None = None


class CallFunctionOn(Command[CallFunctionOnResult]):
    METHOD: ClassVar[str] = "Runtime.callFunctionOn"
    function_declaration: str
    object_id: str | None = None
    arguments: list[CallArgument] | None = None
    silent: bool | None = None
    return_by_value: bool | None = None
    generate_preview: bool | None = None
    user_gesture: bool | None = None
    await_promise: bool | None = None
    execution_context_id: int | None = None
    object_group: str | None = None
    throw_on_side_effect: bool | None = None
    unique_context_id: str | None = None
    serialization_options: SerializationOptions | None = None


class ReleaseObject(Command[Empty]):
    METHOD: ClassVar[str] = "Runtime.releaseObject"
    object_id: str


class ReleaseObjectGroup(Command[Empty]):
    METHOD: ClassVar[str] = "Runtime.releaseObjectGroup"
    object_group: str


class GetPropertiesResult(CdpObject):
    result: list[PropertyDescriptor]
    exception_details: ExceptionDetails | None = None


class GetProperties(Command[GetPropertiesResult]):
    METHOD: ClassVar[str] = "Runtime.getProperties"
    object_id: str
    own_properties: bool | None = None
    accessor_properties_only: bool | None = None
    generate_preview: bool | None = None
    non_indexed_properties_only: bool | None = None


class RunIfWaitingForDebugger(Command[Empty]):
    METHOD: ClassVar[str] = "Runtime.runIfWaitingForDebugger"


class AddBinding(Command[Empty]):
    METHOD: ClassVar[str] = "Runtime.addBinding"
    name: str
    execution_context_id: int | None = None
    execution_context_name: str | None = None


class TerminateExecution(Command[Empty]):
    METHOD: ClassVar[str] = "Runtime.terminateExecution"


class ExecutionContextCreated(Event):
    METHOD: ClassVar[str] = "Runtime.executionContextCreated"
    context: ExecutionContextDescription


class ExecutionContextDestroyed(Event):
    METHOD: ClassVar[str] = "Runtime.executionContextDestroyed"
    execution_context_id: int
    execution_context_unique_id: str


class ExecutionContextsCleared(Event):
    METHOD: ClassVar[str] = "Runtime.executionContextsCleared"


class ConsoleAPICalled(Event):
    METHOD: ClassVar[str] = "Runtime.consoleAPICalled"
    type: str
    args: list[RemoteObject]
    execution_context_id: int
    timestamp: float
    stack_trace: StackTrace | None = None


class ExceptionThrown(Event):
    METHOD: ClassVar[str] = "Runtime.exceptionThrown"
    timestamp: float
    exception_details: ExceptionDetails


class BindingCalled(Event):
    METHOD: ClassVar[str] = "Runtime.bindingCalled"
    name: str
    payload: str
    execution_context_id: int
