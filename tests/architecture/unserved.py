"""The one list of what the contract has and nothing serves yet: each with a request that is valid otherwise.

Whatever stands here answers `unimplemented`; later issues shorten it to empty.
"""

from __future__ import annotations

from google.protobuf.message import Message
from hyperkitty.agent.v1.agent_service_pb2 import ApproveActionRequest
from hyperkitty.auth.v1 import secret_service_pb2 as secrets
from hyperkitty.auth.v1 import token_service_pb2 as tokens
from hyperkitty.browser.v1 import browser_service_pb2 as browser

from services.kit.ids import new_id

SESSION, TAB = new_id("sess"), new_id("tab")

RPCS: dict[str, Message] = {
    "agent.v1.AgentService/ApproveAction": ApproveActionRequest(agent_id=new_id("agent"), action_id=new_id("act")),
    "browser.v1.BrowserService/SetSessionControl": browser.SetSessionControlRequest(session_id=SESSION),
    "browser.v1.BrowserService/WatchTab": browser.WatchTabRequest(session_id=SESSION, tab_id=TAB),
    "auth.v1.TokenService/CreateViewSession": tokens.CreateViewSessionRequest(),
    "auth.v1.SecretService/GetSecret": secrets.GetSecretRequest(name="a"),
    "auth.v1.SecretService/PutSecret": secrets.PutSecretRequest(name="a", value="b", hosts=["example.com"]),
    "auth.v1.SecretService/DeleteSecret": secrets.DeleteSecretRequest(name="a"),
}

OPERATIONS: dict[str, Message] = {}
