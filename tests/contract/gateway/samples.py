"""A valid path for each route."""

from __future__ import annotations

from gateway.routing.routes import Route

ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
_VALUES = {
    "agent_id": f"agent_{ULID}",
    "session_id": f"sess_{ULID}",
    "tab_id": f"tab_{ULID}",
    "job_id": f"job_{ULID}",
    "document_id": f"doc_{ULID}",
    "message_id": f"msg_{ULID}",
    "operation_id": f"op_{ULID}",
    "artifact_id": f"art_{ULID}",
    "token_id": f"tok_{ULID}",
    "widget_id": "w1",
    "shelf": "1",
    "name": "secret-name",
}


def path_of(route: Route) -> str:
    """The route's path with values that its rules accept."""
    path = route.template.text
    for variable in route.template.variables:
        path = path.replace(f"{{{variable}}}", _VALUES[variable.rpartition(".")[2]])
    return path
