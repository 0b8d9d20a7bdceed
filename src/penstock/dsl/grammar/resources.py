"""Where things are and how one is let in: endpoints, external resources, authentication policies."""

from penstock.dsl.grammar.nodes import ByMember, Either, Items, Member, Node, Record, Ref, Text
from penstock.dsl.grammar.values import LITERAL, PATH, URI, VALUE

_GRANTS = (
    "authorization_code",
    "client_credentials",
    "password",
    "refresh_token",
    "urn:ietf:params:oauth:grant-type:token-exchange",
)
_CLIENT_AUTHENTICATIONS = (
    "client_secret_basic",
    "client_secret_post",
    "client_secret_jwt",
    "private_key_jwt",
    "none",
)
_ENCODINGS = ("application/x-www-form-urlencoded", "application/json")

AUTHENTICATION = Either((Ref("authentication"), Text(shortest=1, names="authentication")))
ENDPOINT = Either(
    (
        URI,
        Record(
            "endpoint",
            "An address, and how one is let in there.",
            {
                "uri": Member(URI, "The address: a URI template, or an expression.", required=True),
                "authentication": Member(AUTHENTICATION, "How one is let in."),
            },
        ),
    )
)
RESOURCE = Record(
    "externalResource",
    "Something that is read from elsewhere.",
    {
        "name": Member(LITERAL, "A name for it."),
        "endpoint": Member(ENDPOINT, "Where it is read from.", required=True),
    },
)

_TOKEN = Record(
    "oauth2Token",
    "A security token to be exchanged.",
    {
        "token": Member(VALUE, "The token.", required=True),
        "type": Member(VALUE, "What kind of token it is.", required=True),
    },
)
_CLIENT = Record(
    "oauth2Client",
    "Who asks for the token.",
    {
        "id": Member(VALUE, "The client's id."),
        "secret": Member(VALUE, "The client's secret."),
        "assertion": Member(VALUE, "A signed JWT that proves who the client is."),
        "authentication": Member(
            Text(choices=_CLIENT_AUTHENTICATIONS), "How the client proves itself; client_secret_post by default."
        ),
    },
    needs_when=(("authentication", "private_key_jwt", "assertion"),),
)
_ENDPOINTS = Record(
    "oauth2Endpoints",
    "Paths below the authority.",
    {
        "token": Member(PATH, "Where tokens are requested; /oauth2/token by default."),
        "revocation": Member(PATH, "Where tokens are revoked; /oauth2/revoke by default."),
        "introspection": Member(PATH, "Where tokens are looked up; /oauth2/introspect by default."),
    },
)
_REQUEST = Record(
    "oauth2Request",
    "How the token is requested.",
    {"encoding": Member(Text(choices=_ENCODINGS), "How the request is written; a form by default.")},
)
_OIDC: dict[str, Member] = {
    "authority": Member(URI, "The address of who issues the tokens.", required=True),
    "grant": Member(Text(choices=_GRANTS), "The kind of grant.", required=True),
    "client": Member(_CLIENT, "Who asks for the token."),
    "request": Member(_REQUEST, "How the token is requested."),
    "issuers": Member(Items(PATH), "Whose tokens are accepted."),
    "scopes": Member(Items(VALUE), "What the token shall allow."),
    "audiences": Member(Items(VALUE), "For whom the token shall be."),
    "username": Member(VALUE, "The user, for the grant password."),
    "password": Member(VALUE, "The user's password, for the grant password."),
    "subject": Member(_TOKEN, "On whose behalf the token is asked for."),
    "actor": Member(_TOKEN, "Who acts on that behalf."),
}


def _scheme(name: str, about: str, members: dict[str, Member]) -> ByMember:
    """Its members, or the name of a secret that holds them."""
    secret = Record(
        f"{name}Secret",
        f"{about} What it needs is in a secret.",
        {"use": Member(Text(shortest=1, names="secret"), "The name of the secret.", required=True)},
    )
    return ByMember(name, about, {"use": secret}, Record(f"{name}Inline", about, members))


def _password(name: str, about: str) -> ByMember:
    members = {
        "username": Member(VALUE, "Who signs in.", required=True),
        "password": Member(VALUE, "The password.", required=True),
    }
    return _scheme(name, about, members)


_SCHEMES: dict[str, Member] = {
    "basic": Member(_password("basicAuthentication", "User name and password, as HTTP Basic."), "HTTP Basic."),
    "bearer": Member(
        _scheme("bearerAuthentication", "A bearer token.", {"token": Member(VALUE, "The token.", required=True)}),
        "A bearer token.",
    ),
    "certificate": Member(
        _scheme(
            "certificateAuthentication",
            "A client certificate (mutual TLS).",
            {
                "certificate": Member(VALUE, "The certificate, with its chain, as PEM.", required=True),
                "key": Member(VALUE, "Its private key, as PEM.", required=True),
                "passphrase": Member(VALUE, "What opens the key, when it is encrypted."),
                "authority": Member(VALUE, "Who signed the service's own certificate, as PEM, when that is private."),
            },
        ),
        "A client certificate (mutual TLS).",
    ),
    "digest": Member(_password("digestAuthentication", "User name and password, as HTTP Digest."), "HTTP Digest."),
    "oauth2": Member(
        _scheme(
            "oauth2Authentication",
            "A token of an OAuth 2 server.",
            _OIDC | {"endpoints": Member(_ENDPOINTS, "Paths of the server.")},
        ),
        "OAuth 2.",
    ),
    "oidc": Member(_scheme("oidcAuthentication", "A token of an OpenID Connect provider.", _OIDC), "OpenID Connect."),
}

POLICY = Record("authenticationPolicy", "How one is let in somewhere.", _SCHEMES, exactly_one=(tuple(_SCHEMES),))
NAMED: dict[str, Node] = {
    "authentication": Record(
        "authentication",
        "How one is let in somewhere, or the name of a policy in use.authentications.",
        {"use": Member(Text(shortest=1, names="authentication"), "The name of a policy in use.authentications.")}
        | _SCHEMES,
        exactly_one=(("use", *_SCHEMES),),
    )
}
