"""A person with a browser, in front of oidc-provider's sign-in and consent pages."""

import re
from urllib.parse import parse_qsl, urlsplit

import httpx

MOST_STEPS = 12


def peer_http() -> httpx.AsyncClient:
    """To talk to a peer in plain HTTP: reading the certificates of the world for it takes longer than the talk.

    With patience: a peer that makes itself a key on a busy machine takes its time.
    """
    return httpx.AsyncClient(trust_env=False, verify=False, timeout=60)


async def sign_in(url: str, login: str) -> dict[str, str]:
    """Sign in as `login`, say yes to everything, and return what the callback was called with."""
    return dict(parse_qsl(urlsplit(await come_back(url, login)).query))


async def come_back(url: str, login: str) -> str:
    """Sign in as `login`, say yes to everything, and return the address that the provider sends the browser to."""
    provider = urlsplit(url).netloc
    async with peer_http() as browser:
        response = await browser.get(url)
        for _ in range(MOST_STEPS):
            if response.is_redirect:
                target = str(response.url.join(response.headers["location"]))
                if urlsplit(target).netloc != provider:
                    return target
                response = await browser.get(target)
                continue
            form = re.search(r'action="([^"]+)" method="post"', response.text)
            prompt = re.search(r'name="prompt" value="(\w+)"', response.text)
            assert form is not None, response.text
            assert prompt is not None, response.text
            fields = {"prompt": prompt[1], "login": login, "password": "any"}
            response = await browser.post(str(response.url.join(form[1])), data=fields)
    raise AssertionError("the provider never came back to the callback")
