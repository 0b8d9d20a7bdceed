"""Whom an assertion is for, for how long, and in answer to what. It reads only what `signature` returned."""

import math
import re
from datetime import UTC, datetime

from .errors import SamlError
from .metadata import ServiceProvider
from .parsing import ASSERTION, Element, children, only, text_of

SKEW = 90
"""Seconds by which the provider's clock and ours may differ."""
_BEARER = "urn:oasis:names:tc:SAML:2.0:cm:bearer"
_UNDERSTOOD = {ASSERTION + name for name in ("AudienceRestriction", "OneTimeUse", "ProxyRestriction")}
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,12})?Z?", re.ASCII)


def moment(element: Element, name: str) -> float | None:
    """An attribute's time in unix seconds. SAML's times are UTC; one with an offset is refused, not guessed at."""
    text = element.get(name)
    if text is None:
        return None
    match = _TIME.fullmatch(text.strip(" \t\r\n"))
    if match is None:
        raise SamlError(f"{name} is not a time in UTC.")
    try:
        whole = datetime.fromisoformat(match[1]).replace(tzinfo=UTC).timestamp()
    except ValueError as error:
        raise SamlError(f"{name} is not a time in UTC.") from error
    return whole + float(match[2] or 0)


def check_window(element: Element, now: float) -> None:
    not_before, not_on_or_after = moment(element, "NotBefore"), moment(element, "NotOnOrAfter")
    if not_before is not None and now < not_before - SKEW:
        raise SamlError("The assertion is not valid yet; the clocks of the two servers may differ.")
    if not_on_or_after is not None and now >= not_on_or_after + SKEW:
        raise SamlError("The assertion has expired; sign in again.")


def check_conditions(assertion: Element, sp: ServiceProvider, now: float) -> None:
    conditions = only(assertion, ASSERTION + "Conditions")
    check_window(conditions, now)
    if any(condition.tag not in _UNDERSTOOD for condition in conditions):
        raise SamlError("The assertion has a condition that this service does not understand.")
    restrictions = children(conditions, ASSERTION + "AudienceRestriction")
    if not restrictions:
        raise SamlError("The assertion does not say for which service it is.")
    for restriction in restrictions:
        # Every restriction must hold; within one, any audience may be us.
        if sp.entity_id not in [text_of(audience) for audience in children(restriction, ASSERTION + "Audience")]:
            raise SamlError("The assertion is for another service.")


def check_confirmation(subject: Element, sp: ServiceProvider, request_id: str | None, now: float) -> int:
    """That the bearer may use the assertion here and now; returns until when (unix seconds) anybody may."""
    data = [
        only(confirmation, ASSERTION + "SubjectConfirmationData")
        for confirmation in children(subject, ASSERTION + "SubjectConfirmation")
        if confirmation.get("Method") == _BEARER
    ]
    if not data:
        raise SamlError("The assertion does not confirm its subject by bearer.")
    problems = [problem for entry in data if (problem := _problem(entry, sp, request_id, now))]
    if len(problems) == len(data):
        raise problems[0]
    ends = [end for entry in data if (end := moment(entry, "NotOnOrAfter")) is not None]
    return math.ceil(max(ends)) + SKEW


def _problem(data: Element, sp: ServiceProvider, request_id: str | None, now: float) -> SamlError | None:
    if data.get("Recipient") != sp.acs_url:
        return SamlError("The assertion was made for another recipient.")
    if data.get("NotOnOrAfter") is None:
        return SamlError("The assertion does not say until when it may be used.")
    if (problem := answers(data, request_id)) is not None:
        return problem
    try:
        check_window(data, now)
    except SamlError as error:
        return error
    return None


def answers(element: Element, request_id: str | None) -> SamlError | None:
    """Why the element is no answer to our request; without a request it must not claim to be one (stolen answers)."""
    in_response_to = element.get("InResponseTo")
    if in_response_to == request_id:
        return None
    if in_response_to is None:
        return SamlError("The response does not name the request that it answers.")
    return SamlError("The response answers another request than the one that began this sign-in.")


def check_session(assertion: Element, now: float) -> tuple[str | None, int | None]:
    """The session's index at the provider, and when it ends there (unix seconds), each if told."""
    statement = only(assertion, ASSERTION + "AuthnStatement")
    ends = moment(statement, "SessionNotOnOrAfter")
    if ends is not None and now >= ends + SKEW:
        raise SamlError("The session at the identity provider has ended; sign in again.")
    return statement.get("SessionIndex"), None if ends is None else math.floor(ends)
