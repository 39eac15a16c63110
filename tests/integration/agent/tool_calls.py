"""Actions of the tools `search` and `message`."""

from hyperkitty.agent.v1.agents_pb2 import MessageToolOperation, SearchToolOperation, ToolCall
from hyperkitty.messaging.v1.messages_pb2 import OutgoingMessage
from hyperkitty.search.v1.search_pb2 import SearchQuery

SEARCH = ToolCall(search=SearchToolOperation(search=SearchQuery(query="kittens")))
_outgoing = OutgoingMessage(recipient="user:ann")
_outgoing.payload.update({"text": "hello"})
MESSAGE = ToolCall(message=MessageToolOperation(send=_outgoing))
