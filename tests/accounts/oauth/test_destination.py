"""After sign-in the browser goes to a path on this site, whatever `next` says."""

from itertools import product
from urllib.parse import quote, urljoin, urlsplit

import pytest

from penstock.accounts.oauth import safe_next

KEPT = [
    "/",
    "/projects",
    "/projects/7/workflows?page=2&q=a%20b#steps",
    "/search?q=a%0Ab",
    "/back?to=https://elsewhere.example//x",
    "/a%20b",
    "/~ada/(draft);v=1,2",
    "/x/../y",
    "/100%",
    "/@evil.example",
    "/:80",
]

ATTACKS = [
    None,
    "",
    " ",
    "projects",
    "?x",
    "#x",
    ".",
    "//evil.example",
    "///evil.example",
    "////evil.example/%2e%2e",
    "/\\evil.example",
    "\\\\evil.example",
    "\\/evil.example",
    "/x\\y",
    "/x?y=\\z",
    "https://evil.example",
    "HTTPS://evil.example",
    "http:evil.example",
    "https:/evil.example",
    "javascript:alert(1)",
    "data:text/html,x",
    " /x",
    "\t/x",
    "/\t/evil.example",
    "/\n/evil.example",
    "/\r\nSet-Cookie: a=b",
    "/x\r\nLocation: https://evil.example",
    "/x\x00",
    "/x\x7f",
    "/x\x85",
    "/%2f/evil.example",
    "/%2fevil.example",
    "/%2F%2Fevil.example",
    "/%5cevil.example",
    "/%5Cevil.example",
    "/%09/evil.example",
    "/%0a/evil.example",
    "/%0d%0aSet-Cookie:a=b",
    "/%00",
    "/%252fevil.example",
    "/%25252fevil.example",
    "/%255cevil.example",
    "/%25252525252525x",
    "/x//evil.example",
    "/x/%2fevil.example",
    "/.//evil.example",
    "/..//evil.example",
    "/.%2f/evil.example",
    "/\ud800",
    "/" + "x" * 1024,
    "/" + "é" * 400,
]


@pytest.mark.parametrize("value", KEPT)
def test_a_path_on_this_site_is_kept(value: str) -> None:
    assert safe_next(value) == value


@pytest.mark.parametrize("value", ATTACKS)
def test_anything_else_becomes_the_front_page(value: str | None) -> None:
    assert safe_next(value) == "/"


def test_characters_that_may_not_stand_in_a_header_are_encoded() -> None:
    assert safe_next('/café?q=a b"<') == "/caf%C3%A9?q=a%20b%22%3C"


def test_no_mixture_of_separators_leads_to_another_host() -> None:
    pieces = ["/", "\\", "\t", "\n", ".", "..", "%2f", "%5c", "%09", "%252f"]
    pieces += ["@", ":", "?", "#", " ", "\uff0f", "https:"]
    for parts in product(pieces, repeat=4):
        value = "".join(parts) + "evil.example"
        result = safe_next(value)
        assert result.startswith("/")
        assert result.isascii()
        assert safe_next(result) == result
        # as a browser reads it: tabs and newlines away, backslashes turned around
        read = "".join(c for c in result if c not in "\t\r\n").replace("\\", "/")
        for seen in (read, quote(read, safe="/%")):
            target = urlsplit(urljoin("https://penstock.example/user/oauth/callback/x", seen))
            assert (target.scheme, target.netloc) == ("https", "penstock.example"), value
