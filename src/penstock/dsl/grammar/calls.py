"""What a `call` is called with, by what is called."""

from penstock.dsl.grammar.data import EXPORT, outputs
from penstock.dsl.grammar.nodes import (
    Binding,
    Either,
    Flag,
    Items,
    Member,
    Named,
    Node,
    Record,
    Ref,
    Scalar,
    Text,
    Whole,
)
from penstock.dsl.grammar.resources import AUTHENTICATION, ENDPOINT, RESOURCE
from penstock.dsl.grammar.values import (
    ANY,
    CONDITION,
    DURATION,
    HOST,
    LITERAL,
    MADE,
    METHOD,
    NAME_OF_VARIABLE,
    PORT,
    SCALARS,
    VALUE,
    VALUES,
)

_OUTPUT = Member(
    Text(choices=("raw", "content", "response")),
    "What the call answers: the content read (the default), its bytes in base 64, or the whole response.",
)
_REDIRECT = Member(Flag(), "Whether a status of 300 to 399 is fine; it is an error by default.")

HTTP = Record(
    "httpArguments",
    "An HTTP request.",
    {
        "method": Member(METHOD, "The method.", required=True),
        "endpoint": Member(ENDPOINT, "Where it is sent.", required=True),
        "headers": Member(SCALARS, "Its headers."),
        "body": Member(ANY, "Its body."),
        "query": Member(VALUES, "Its query parameters."),
        "output": _OUTPUT,
        "redirect": _REDIRECT,
    },
)
OPENAPI = Record(
    "openapiArguments",
    "An operation of an OpenAPI document.",
    {
        "document": Member(RESOURCE, "The document.", required=True),
        "operationId": Member(LITERAL, "The operation.", required=True),
        "parameters": Member(VALUES, "Its parameters, the body's among them."),
        "authentication": Member(AUTHENTICATION, "How one is let in."),
        "output": _OUTPUT,
        "redirect": _REDIRECT,
    },
)
GRPC = Record(
    "grpcArguments",
    "A gRPC method.",
    {
        "proto": Member(RESOURCE, "The proto file that describes the service.", required=True),
        "service": Member(
            Record(
                "grpcService",
                "The service.",
                {
                    "name": Member(LITERAL, "Its name.", required=True),
                    "host": Member(HOST, "The host that serves it.", required=True),
                    "port": Member(PORT, "The port."),
                    "authentication": Member(AUTHENTICATION, "How one is let in."),
                },
            ),
            "The service.",
            required=True,
        ),
        "method": Member(LITERAL, "The method.", required=True),
        "arguments": Member(VALUES, "What it is called with."),
    },
)

# fmt: off
_PROTOCOLS = (
    "amqp", "amqp1", "anypointmq", "googlepubsub", "http", "ibmmq", "jms", "kafka", "mercure", "mqtt", "mqtt5", "nats",
    "pulsar", "redis", "sns", "solace", "sqs", "stomp", "ws",
)
# fmt: on
ITERATOR = Record(
    "subscriptionIterator",
    "What is done with each event or message.",
    {
        "item": Member(NAME_OF_VARIABLE, "The variable that holds it; item by default."),
        "at": Member(NAME_OF_VARIABLE, "The variable that holds its number, from 0; index by default."),
        "do": Member(Ref("tasks"), "What is done with it."),
        "output": Member(outputs("itemOutput", None), "What becomes of it."),
        "export": Member(EXPORT, "What becomes of the workflow's context."),
    },
    bindings=(
        Binding(("item",), "item", ("do", "output", "export")),
        Binding(("at",), "index", ("do", "output", "export")),
    ),
)
_CONSUME = Record(
    "asyncapiConsumption",
    "How long messages are taken.",
    {
        "amount": Member(Whole(0), "Until so many have come."),
        "while": Member(CONDITION, "As long as this is true of the next message."),
        "until": Member(CONDITION, "Until this is true of a message, which is taken still."),
        "for": Member(DURATION, "At most so long."),
    },
    exactly_one=(("amount", "while", "until"),),
)
_SUBSCRIPTION = Record(
    "asyncapiSubscription",
    "A subscription to messages.",
    {
        "filter": Member(CONDITION, "Take only messages for which this is true."),
        "consume": Member(_CONSUME, "How long messages are taken.", required=True),
        "foreach": Member(ITERATOR, "What is done with each message."),
    },
)
ASYNCAPI = Record(
    "asyncapiArguments",
    "An operation of an AsyncAPI document.",
    {
        "document": Member(RESOURCE, "The document.", required=True),
        "channel": Member(LITERAL, "The channel, in a document of AsyncAPI 2."),
        "operation": Member(LITERAL, "The operation, in a document of AsyncAPI 3."),
        "server": Member(
            Record(
                "asyncapiServer",
                "The server that is used.",
                {
                    "name": Member(LITERAL, "Its name in the document.", required=True),
                    "variables": Member(VALUES, "Values for its variables."),
                },
            ),
            "The server that is used; the first that fits, by default.",
        ),
        "protocol": Member(Text(choices=_PROTOCOLS), "The protocol by which a server is chosen."),
        "message": Member(
            Record(
                "asyncapiMessage",
                "A message.",
                {"payload": Member(ANY, "What it says."), "headers": Member(VALUES, "Its headers.")},
            ),
            "The message to publish.",
        ),
        "subscription": Member(_SUBSCRIPTION, "The subscription to messages."),
        "authentication": Member(AUTHENTICATION, "How one is let in."),
    },
    exactly_one=(("operation", "channel"), ("message", "subscription")),
)

_A2A_METHODS = (
    "message/send",
    "message/stream",
    "tasks/get",
    "tasks/list",
    "tasks/cancel",
    "tasks/resubscribe",
    "tasks/pushNotificationConfig/set",
    "tasks/pushNotificationConfig/get",
    "tasks/pushNotificationConfig/list",
    "tasks/pushNotificationConfig/delete",
    "agent/getAuthenticatedExtendedCard",
)
A2A = Record(
    "a2aArguments",
    "A message to an agent.",
    {
        "method": Member(Text(choices=_A2A_METHODS), "What is asked of the agent.", required=True),
        "agentCard": Member(RESOURCE, "The card that describes the agent."),
        "server": Member(ENDPOINT, "The agent's address, when there is no card."),
        "parameters": Member(Either((Named(ANY, fewest=1), MADE)), "The parameters of the method."),
    },
    at_least_one=(("agentCard", "server"),),
)

_MCP_METHODS = (
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/read",
    "resources/templates/list",
)
_TRANSPORT = Record(
    "mcpTransport",
    "How the server is reached.",
    {
        "http": Member(
            Record(
                "mcpHttp",
                "A server at an address.",
                {
                    "endpoint": Member(ENDPOINT, "Its address.", required=True),
                    "headers": Member(SCALARS, "Headers of each request."),
                },
            ),
            "A server at an address.",
        ),
        "stdio": Member(
            Record(
                "mcpStdio",
                "A server that is started as a process.",
                {
                    "command": Member(VALUE, "The command that starts it.", required=True),
                    "arguments": Member(Items(Scalar()), "The command's arguments."),
                    "environment": Member(SCALARS, "Its environment variables."),
                },
                process="mcp",
            ),
            "A server that is started as a process.",
        ),
        "options": Member(SCALARS, "More, by transport."),
    },
    exactly_one=(("http", "stdio"),),
)
MCP = Record(
    "mcpArguments",
    "A request to a Model Context Protocol server.",
    {
        "protocolVersion": Member(VALUE, "The protocol's version; 2025-06-18 by default."),
        "method": Member(Text(choices=_MCP_METHODS), "What is asked of the server.", required=True),
        "parameters": Member(VALUES, "The parameters of the method."),
        "timeout": Member(DURATION, "How long it may take."),
        "transport": Member(_TRANSPORT, "How the server is reached.", required=True),
        "client": Member(
            Record(
                "mcpClient",
                "Who asks.",
                {
                    "name": Member(VALUE, "Its name.", required=True),
                    "version": Member(VALUE, "Its version.", required=True),
                    "description": Member(VALUE, "What it is."),
                },
            ),
            "Who asks.",
        ),
    },
)

ARGUMENTS: dict[str, Record] = {
    "http": HTTP,
    "openapi": OPENAPI,
    "grpc": GRPC,
    "asyncapi": ASYNCAPI,
    "a2a": A2A,
    "mcp": MCP,
}
FUNCTION: Node = VALUES
