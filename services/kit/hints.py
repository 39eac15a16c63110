"""What to do next, for each error code: the default hint, naming operations of this product (SPEC §10)."""

from __future__ import annotations

from hyperkitty.operations.v1.errors_pb2 import ErrorCode

HINTS: dict[ErrorCode.ValueType, str] = {
    ErrorCode.ERROR_CODE_INVALID_ARGUMENTS: "Correct the fields named in details and call the same operation again; "
    "list_browser_operations shows what each takes.",
    ErrorCode.ERROR_CODE_UNAUTHENTICATED: "Send a valid token; create_token makes one.",
    ErrorCode.ERROR_CODE_NOT_AUTHORIZED: "Use what get_agent lists under capabilities, or have create_agent or "
    "create_token grant what is missing.",
    ErrorCode.ERROR_CODE_NAVIGATION_BLOCKED: "navigate to a URL inside the session's allowed_domains; get_session "
    "shows them.",
    ErrorCode.ERROR_CODE_REQUEST_BLOCKED: "Only public hosts can be reached; create_session with egress_domains "
    "naming host:port opens a local one.",
    ErrorCode.ERROR_CODE_NOT_FOUND: "Check the id: list_sessions, list_tabs, list_agents and list_operations show "
    "what exists; read_page shows a page's elements.",
    ErrorCode.ERROR_CODE_WRONG_STATE: "Look at the present state with get_session, get_agent or list_tabs first.",
    ErrorCode.ERROR_CODE_STALE_REF: "read_page with format snapshot gives fresh refs; details.candidates may hold "
    "the element's successor.",
    ErrorCode.ERROR_CODE_AMBIGUOUS_TARGET: "Pick one of details.candidates by its ref, or set nth; query_element "
    "lists all matches.",
    ErrorCode.ERROR_CODE_DIALOG_OPEN: "Answer the dialog with handle_dialog first.",
    ErrorCode.ERROR_CODE_PROFILE_IN_USE: "close_session on the session that holds the profile, or create_session "
    "with another one.",
    ErrorCode.ERROR_CODE_ALREADY_EXISTS: "Read the first answer with get_operation, or use a new idempotency-key for "
    "another body.",
    ErrorCode.ERROR_CODE_PAYLOAD_TOO_LARGE: "Send less at once; upload_file takes artifacts for large content.",
    ErrorCode.ERROR_CODE_NOT_INTERACTABLE: "details say why; wait_for the element to become ready, scroll to it, or "
    "read_page to choose another.",
    ErrorCode.ERROR_CODE_OBSCURED: "details.by is in front: click what closes it, or scroll, then try again.",
    ErrorCode.ERROR_CODE_NAVIGATION_FAILED: "details.net_error says why; correct the URL and navigate again, or "
    "reload.",
    ErrorCode.ERROR_CODE_PAGE_UNRESPONSIVE: "navigate elsewhere, reload, or close_tab.",
    ErrorCode.ERROR_CODE_TAB_CRASHED: "navigate or reload revives the tab under its id.",
    ErrorCode.ERROR_CODE_HTTP_AUTH_REQUIRED: "create_session with settings.http_credentials for this origin.",
    ErrorCode.ERROR_CODE_LIMIT_EXCEEDED: "details name the limit; create_agent with a larger one, or complete_agent.",
    ErrorCode.ERROR_CODE_RESOURCE_EXHAUSTED: "Free something with close_session or close_tab, or try again later.",
    ErrorCode.ERROR_CODE_CANCELLED: "get_operation tells what was done before it was cancelled.",
    ErrorCode.ERROR_CODE_INTERNAL: "A fault of HyperKitty: details.error_id finds it in the service's log; get_health "
    "shows what is down.",
    ErrorCode.ERROR_CODE_UNIMPLEMENTED: "list_browser_operations shows what is served.",
    ErrorCode.ERROR_CODE_PROVIDER_FAILED: "details.reason says how; start_search with another provider, or later.",
    ErrorCode.ERROR_CODE_UNAVAILABLE: "Try again after details.retry_after_ms; get_health shows what is down.",
    ErrorCode.ERROR_CODE_SESSION_CRASHED: "The session is being restored: get_session until it is ready, then "
    "read_page and go on.",
    ErrorCode.ERROR_CODE_INTERRUPTED: "It may have happened: read_page or list_recent_events shows what did.",
    ErrorCode.ERROR_CODE_EVENT_LOG_UNAVAILABLE: "get_operation with details.operation_id tells what was done once the "
    "log is back; get_health shows when.",
    ErrorCode.ERROR_CODE_SANDBOX_UNAVAILABLE: "details name the setting to change on this machine; then "
    "create_session again.",
    ErrorCode.ERROR_CODE_DEADLINE_EXCEEDED: "get_operation tells what was done; call again with a larger timeout_ms.",
}
