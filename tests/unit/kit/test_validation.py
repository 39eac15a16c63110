from __future__ import annotations

from typing import cast

import pytest
from hyperkitty.agent.v1 import grants_pb2
from hyperkitty.operations.v1 import operation_service_pb2
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.categories import catalogue, check_category, default_failure
from services.kit.errors import Refusal
from services.kit.methods import NotInContract, methods_of, snake_case
from services.kit.validation import check_message


def test_every_broken_field_is_named() -> None:
    grant = grants_pb2.Grant(capability="Not Good", navigate=grants_pb2.NavigateScope(allowed_domains=["ok", ""]))
    with pytest.raises(Refusal) as caught:
        check_message(grant, within="capabilities[0]")
    assert caught.value.code == ErrorCode.ERROR_CODE_INVALID_ARGUMENTS
    fields = cast("list[dict[str, str]]", caught.value.details["fields"])
    assert {entry["field"] for entry in fields} == {
        "capabilities[0].capability",
        "capabilities[0].navigate.allowed_domains[1]",
    }


def test_what_is_within_bounds_passes() -> None:
    check_message(operation_service_pb2.GetOperationRequest(operation_id="op_01M8QFNCV10M1KP0AV1TX4QQ8W"))


def test_the_facts_of_methods() -> None:
    methods = {method.kind: method for method in methods_of("hyperkitty.operations.v1.OperationService")}
    assert methods["get_operation"].area == "operations"
    assert not methods["get_operation"].is_operation
    assert methods["read_artifact"].streams_responses
    assert methods["get_operation"].response_type is operation_service_pb2.GetOperationResponse
    with pytest.raises(NotInContract):
        methods_of("hyperkitty.nothing.v1.Nothing")
    assert snake_case("GetURLNow") == "get_u_r_l_now"


def test_the_catalogue() -> None:
    assert {"agent.created", "browser.action.click", "browser.navigation.started", "service.started"} <= catalogue()
    assert check_category("message.sent") == "message.sent"
    with pytest.raises(ValueError, match="catalogue"):
        check_category("message.lost")
    assert default_failure("browser.navigation.started") == "browser.action.failed"
    assert default_failure("message.sent") == ""
