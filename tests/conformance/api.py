"""Runs cases through the API of a whole server: every case in a project of its own, triggered, and read at its end."""

import httpx

from tests.conformance.case import Case, Outcome, slug, step_line
from tests.conformance.peers import Address
from tests.engine.embedded.running import ended
from tests.platform.people import Person, register


class ApiRunner:
    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self._person: Person | None = None
        self._company = ""

    async def run(self, case: Case, address: Address) -> Outcome:
        person = await self._somebody()
        name = f"{slug(case.name)[:40]}-{address.rpartition('/')[2]}"
        project = (await person.made(f"/organizations/{self._company}/projects", {"name": name}))["id"]
        for secret, value in case.secrets.items():
            answer = await person.put(f"/projects/{project}/secrets/{secret}", {"value": value})
            assert answer.is_success, answer.text
        for number, text in enumerate(case.other_texts(address)):
            await person.made(f"/projects/{project}/workflows", {"name": f"other {number}", "config_yaml": text})
        if case.events:
            events = [{"specversion": "1.0", **event} for event in case.events]
            headers = {"Content-Type": "application/cloudevents-batch+json"}
            answer = await person.post(f"/projects/{project}/events", events, headers=headers)
            assert answer.status_code == 202, answer.text
        body = {"name": case.name[:100], "config_yaml": case.text(address)}
        workflow = (await person.made(f"/projects/{project}/workflows", body))["id"]
        execution = await person.made(f"/workflows/{workflow}/trigger", {"trigger_data": case.input})
        return await self._outcome(person, execution["id"])

    async def _somebody(self) -> Person:
        if self._person is None:
            self._person = await register(self._client, "conformance")
            self._company = (await self._person.made("/companies", {"name": "Conformance"}))["id"]
        return self._person

    async def _outcome(self, person: Person, execution: str) -> Outcome:
        found = await ended(person, execution)
        answer = await person.get(f"/executions/{execution}/steps", params={"page_size": 100})
        steps = [step_line(step["step_name"], step["status"], step["attempt"]) for step in answer.json()["items"]]
        if found["status"] == "failed":
            return Outcome(None, found["error"], steps)
        assert found["status"] == "completed", found
        return Outcome(found["output_data"], None, steps)
