"""AWS: who our keys are, by STS; and whether they may take on the role, when there is one."""

import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import httpx

from penstock.egress import Egress
from penstock.platform.iam import config
from penstock.platform.iam.probe import Outcome, ProbeFailed
from penstock.platform.iam.probe.http import Answer, ask
from penstock.platform.iam.probe.sigv4 import Keys, signed_headers

_WRONG_KEYS = {"InvalidClientTokenId", "SignatureDoesNotMatch", "UnrecognizedClientException", "ExpiredToken"}


class AwsIam:
    async def test(self, settings: dict[str, Any], egress: Egress) -> Outcome:
        known = config.read(settings, config.AwsIam)
        keys = Keys(known.access_key_id, known.secret_access_key)
        async with egress.client() as client:
            if known.role_arn:
                keys = await _assume(client, known, keys)
            answer = await _call(client, known, keys, {"Action": "GetCallerIdentity"})
        arn = _element(answer, "Arn")
        return Outcome(True, f"signed in to AWS as {arn}")


async def _assume(client: httpx.AsyncClient, known: config.AwsIam, keys: Keys) -> Keys:
    form = {
        "Action": "AssumeRole",
        "RoleArn": known.role_arn,
        "RoleSessionName": "penstock-test",
        "DurationSeconds": "900",
    }
    answer = await _call(client, known, keys, form)
    return Keys(*(_element(answer, name) for name in ("AccessKeyId", "SecretAccessKey", "SessionToken")))


async def _call(client: httpx.AsyncClient, known: config.AwsIam, keys: Keys, form: dict[str, str]) -> Answer:
    ending = "amazonaws.com.cn" if known.region.startswith("cn-") else "amazonaws.com"
    url = known.endpoint_url or f"https://sts.{known.region}.{ending}/"
    body = urlencode(form | {"Version": "2011-06-15"}).encode()
    headers = signed_headers(url, body, keys=keys, region=known.region, service="sts", at=datetime.now(UTC))
    answer = await ask(client, "POST", url, headers=headers, content=body)
    if answer.status == 200:
        return answer
    code = re.search(rb"<Code>(\w{1,64})</Code>", answer.body)
    why = code[1].decode() if code else f"status {answer.status}"
    if why in _WRONG_KEYS:
        raise ProbeFailed(f"AWS does not accept the access key ({why})")
    if form["Action"] == "AssumeRole" and why == "AccessDenied":
        raise ProbeFailed("AWS does not let this access key take on the role (AccessDenied)")
    raise ProbeFailed(f"AWS refused {form['Action']} ({why})")


def _element(answer: Answer, name: str) -> str:
    found = re.search(rf"<{name}>([\x21-\x7e]{{1,4096}}?)</{name}>".encode(), answer.body)
    if found is None:
        raise ProbeFailed(f"what {answer.host} sent is no answer of STS")
    return found[1].decode()
