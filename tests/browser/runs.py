"""Executions worth looking at: loops, branches, a retry, something skipped; and one that fails."""

import time

from tests.acceptance.server import PATIENCE
from tests.browser.conftest import Person

_FULFIL = """
document: {dsl: '1.0.3', namespace: shop, name: fulfil-order, version: '1.0.0', title: Fulfil an order}
do:
  - receive:
      set: {order: 4711, customer: {name: Grace, city: Berlin}, items: [{sku: A-1, n: 2}, {sku: B-7, n: 1}]}
  - check:
      do:
        - price: {set: '${ . + {total: 129.9} }'}
        - settle: {wait: {milliseconds: 120}}
  - eachItem:
      for: {each: item, in: .items}
      do:
        - reserve: {set: '${ . + {reserved: $item.sku} }'}
        - pack: {wait: {milliseconds: 80}}
  - tell:
      fork:
        branches:
          - customer: {wait: {milliseconds: 250}}
          - warehouse: {do: [{print: {wait: {milliseconds: 90}}}, {pick: {set: {picked: true}}}]}
      output: {as: '${ $input }'}
  - express:
      if: .order == 1
      set: {express: true}
  - carrier:
      try:
        - book: {call: http, with: {method: post, endpoint: 'http://127.0.0.1:9/parcels', body: '${ . }'}}
      catch:
        errors: {}
        retry: {delay: {milliseconds: 150}, limit: {attempt: {count: 2}}}
        do:
          - byHand: {set: {order: 4711, carrier: by hand}}
"""
_CHARGE = """
document: {dsl: '1.0.3', namespace: shop, name: charge-card, version: '1.0.0', title: Charge a card}
do:
  - prepare: {set: {order: 4711, amount: 129.9}}
  - authorize:
      do:
        - bank:
            raise:
              error: {type: 'https://serverlessworkflow.io/spec/1.0.0/errors/communication', status: 503,
                      title: The bank does not answer, detail: POST https://bank.example/charges gave 503 three times.}
  - receipt: {set: {sent: true}}
"""


def fulfilled(person: Person, project: str) -> str:
    return _ran(person, project, "Fulfil an order", _FULFIL)


def failed(person: Person, project: str) -> str:
    return _ran(person, project, "Charge a card", _CHARGE)


def greeted(person: Person, workflow: str) -> None:
    """The greeting of the templates, several times at once."""
    people = [("Ada", "en"), ("Grace", "de"), ("Émilie", "fr"), ("Hedy", "de"), ("Katherine", "en")]
    begun = [
        person.post(f"/workflows/{workflow}/trigger", {"trigger_data": {"name": name, "language": language}})["id"]
        for name, language in people
    ]
    for execution in begun:
        _ended(person, execution)


def _ran(person: Person, project: str, name: str, definition: str) -> str:
    workflow = person.post(f"/projects/{project}/workflows", {"name": name, "config_yaml": definition})["id"]
    execution = person.post(f"/workflows/{workflow}/trigger", {"trigger_data": {"order": 4711}})["id"]
    return _ended(person, execution)


def _ended(person: Person, execution: str) -> str:
    ends = time.monotonic() + PATIENCE
    while person.http.get(f"/api/v1/executions/{execution}").json()["completed_at"] is None:
        assert time.monotonic() < ends
        time.sleep(0.05)
    return execution
