"""What is run: one workflow for each way in which an execution can be under way when the power goes, and what must have
become of it, whatever happened."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

Steps = Counter[tuple[str, str]]


class Kind(msgspec.Struct, frozen=True):
    """`output` of an execution with the input `{"n": n}`, and its steps by name and status."""

    definition: str
    output: Callable[[int], Any]
    steps: dict[tuple[str, str], int]
    status: str = "completed"
    triggered: bool = True
    maybe: frozenset[str] = frozenset()
    """Steps to which it need not have come."""
    at_once: int | None = None
    """How many of them may be under way."""


_CHAIN = """
do:
  - first: {call: http, with: {method: get, endpoint: 'SERVICE/ok/{n}'}, output: {as: '${ $input + {a: .doubled} }'}}
  - second:
      call: http
      with: {method: get, endpoint: 'SERVICE/slow/{n}'}
      output: {as: '${ $input + {b: (.doubled + $input.a)} }'}
  - last: {set: {n: '${ .n }', total: '${ .a + .b }'}}
"""

_FORK = """
do:
  - work:
      fork:
        branches:
          - quick: {call: http, with: {method: get, endpoint: 'SERVICE/ok/{n}'}, output: {as: '${ .doubled }'}}
          - slow: {call: http, with: {method: get, endpoint: 'SERVICE/slow/{n}'}, output: {as: '${ .doubled }'}}
          - branch:
              do:
                - nap: {wait: {milliseconds: 200}}
                - more: {call: http, with: {method: get, endpoint: 'SERVICE/ok/{n}'}, output: {as: '${ .doubled }'}}
      output: {as: '${ {sum: add} }'}
"""

_RACE = """
do:
  - race:
      fork:
        compete: true
        branches:
          - quick: {call: http, with: {method: get, endpoint: 'SERVICE/ok/{n}'}, output: {as: '${ .doubled }'}}
          - long: {wait: {minutes: 10}}
      output: {as: '${ {won: .} }'}
"""

_RETRY = """
do:
  - trying:
      try:
        - flaky:
            call: http
            with: {method: get, endpoint: '${ "SERVICE/flaky/" + $workflow.id + "/" + (.n | tostring) }'}
            output: {as: '${ {got: .doubled} }'}
      catch:
        errors: {with: {status: 503}}
        retry: {delay: {milliseconds: 100}, backoff: {constant: {}}, limit: {attempt: {count: 5}}}
"""

_NAP = """
do:
  - before: {set: '${ . + {a: (.n + 1)} }'}
  - nap: {wait: {milliseconds: 400}}
  - after:
      call: http
      with: {method: get, endpoint: 'SERVICE/ok/{n}'}
      output: {as: '${ {sum: (.doubled + $input.a)} }'}
"""

_LOOP = """
do:
  - zero: {set: '${ {n: .n, sum: 0} }'}
  - rounds:
      for: {each: item, in: '${ [range(4)] }'}
      do:
        - one:
            call: http
            with: {method: get, endpoint: 'SERVICE/ok/{n}'}
            output: {as: '${ $input + {sum: ($input.sum + .doubled + $item)} }'}
"""

_CHILD = """
do:
  - work: {call: http, with: {method: get, endpoint: 'SERVICE/slow/{n}'}, output: {as: '${ {twice: .doubled} }'}}
"""

_STRAY = """
do:
  - work: {call: http, with: {method: get, endpoint: 'SERVICE/ok/{n}'}, output: {as: '${ {twice: .doubled} }'}}
"""

_PARENT = """
do:
  - zero: {set: '${ {n: .n, sum: 0} }'}
  - rounds:
      for: {each: item, in: '${ [range(2)] }'}
      do:
        - awaited:
            run: {workflow: {namespace: chaos, name: child, version: latest, input: {n: '${ .n + $item }'}}}
            output: {as: '${ $input + {sum: ($input.sum + .twice)} }'}
  - stray: {run: {workflow: {namespace: chaos, name: stray, version: latest, input: {n: '${ .n }'}}, await: false}}
"""

_EMITTER = """
do:
  - say: {emit: {event: {with: {source: 'https://chaos.example', type: chaos.said, data: {n: '${ .n }'}}}}}
  - wake:
      emit: {event: {with: {source: 'https://chaos.example', type: chaos.woke, data: {n: '${ .data.n }'}}}}
  - after: {set: {said: '${ .data.n }'}}
"""

_LISTENER = """
do:
  - hear:
      listen:
        to:
          one:
            with: {type: chaos.said}
            correlate: {n: {from: '${ .data.n }', expect: '${ .n }'}}
      output: {as: '${ {heard: .[0].n} }'}
  - after: {call: http, with: {method: get, endpoint: 'SERVICE/ok/{heard}'}, output: {as: '${ $input }'}}
"""

_FAILING = """
do:
  - fine: {call: http, with: {method: get, endpoint: 'SERVICE/ok/{n}'}, output: {as: '${ $input }'}}
  - broken: {call: http, with: {method: get, endpoint: SERVICE/broken}}
"""

_FOLLOWER = """
do:
  - work: {call: http, with: {method: get, endpoint: 'SERVICE/ok/{n}'}, output: {as: '${ {followed: .doubled} }'}}
"""

_CLEANUP = """
do:
  - note: {set: {status: '${ .status }'}}
"""

_TICK = """
schedule: {every: {seconds: 1}}
do:
  - work: {call: http, with: {method: get, endpoint: SERVICE/ok/1}, output: {as: '${ {ticked: .doubled} }'}}
"""

_DOOMED = """
do:
  - before: {set: '${ . + {a: (.n + 1)} }'}
  - both:
      fork:
        branches:
          - one: {wait: {hours: 1}}
          - two: {listen: {to: {one: {with: {type: chaos.never}}}}}
"""

# It is paused somewhere on its way, and goes on when it is told to.
_HELD = """
do:
  - before: {set: '${ . + {a: (.n + 1)} }'}
  - nap: {wait: {milliseconds: 200}}
  - work: {call: http, with: {method: get, endpoint: 'SERVICE/slow/{n}'}, output: {as: '${ $input + {b: .doubled} }'}}
  - after: {set: {sum: '${ .a + .b }'}}
"""

_LIMITED = """
do:
  - work: {call: http, with: {method: get, endpoint: 'SERVICE/ok/{n}'}, output: {as: '${ {twice: .doubled} }'}}
"""

_SLEEPER = """
do:
  - sleep: {wait: {hours: 1}}
"""

_FAMILY = """
do:
  - asleep: {run: {workflow: {namespace: chaos, name: sleeper, version: latest}}}
"""

# Its time may be over while no server runs.
_DEADLINE = """
do:
  - trying:
      try:
        - inTime:
            timeout: {after: {milliseconds: 700}}
            do:
              - asleep: {run: {workflow: {namespace: chaos, name: sleeper, version: latest}}}
      catch:
        errors: {with: {status: 408}}
        do:
          - late: {call: http, with: {method: get, endpoint: 'SERVICE/ok/{n}'}, output: {as: '${ {late: .doubled} }'}}
"""

_WOKEN = """
schedule: {on: {one: {with: {type: chaos.woke}}}}
input: {from: '${ {n: .[0].data.n} }'}
do:
  - work: {call: http, with: {method: get, endpoint: 'SERVICE/ok/{n}'}, output: {as: '${ {twice: .doubled} }'}}
"""

_TOLD = _WOKEN.replace("chaos.woke", "chaos.told")

_SPEAKER = """
do:
  - parts:
      for: {each: part, in: '${ [1, 2, 3] }'}
      do:
        - say:
            emit:
              event:
                with:
                  source: 'https://chaos.example'
                  type: chaos.part
                  data: {n: '${ $workflow.input.n }', part: '${ $part }'}
  - after: {set: {said: 3}}
"""

_COLLECTOR = """
do:
  - gather:
      listen:
        to:
          any:
            - with: {type: chaos.part}
              correlate: {n: {from: '${ .data.n }', expect: '${ .n }'}}
          until: '${ length == 3 }'
      foreach:
        item: each
        do:
          - look:
              call: http
              with: {method: get, endpoint: '${ "SERVICE/ok/" + ($each.part | tostring) }'}
              output: {as: '${ .doubled }'}
      output: {as: '${ {parts: .} }'}
"""

_TOCK = """
schedule: {after: {seconds: 1}}
do:
  - work: {call: http, with: {method: get, endpoint: SERVICE/ok/1}, output: {as: '${ {tocked: .doubled} }'}}
"""

DONE = "completed"
KINDS = {
    "chain": Kind(
        _CHAIN, lambda n: {"n": n, "total": 6 * n}, {("first", DONE): 1, ("second", DONE): 1, ("last", DONE): 1}
    ),
    "fork": Kind(
        _FORK,
        lambda n: {"sum": 6 * n},
        {(name, DONE): 1 for name in ("work", "quick", "slow", "branch", "nap", "more")},
    ),
    "race": Kind(_RACE, lambda n: {"won": 2 * n}, {("race", DONE): 1, ("quick", DONE): 1, ("long", "cancelled"): 1}),
    "retry": Kind(_RETRY, lambda n: {"got": 2 * n}, {("trying", DONE): 1, ("flaky", "failed"): 2, ("flaky", DONE): 1}),
    "nap": Kind(_NAP, lambda n: {"sum": 3 * n + 1}, {(name, DONE): 1 for name in ("before", "nap", "after")}),
    "loop": Kind(
        _LOOP,
        lambda n: {"n": n, "sum": 8 * n + 6},
        {("zero", DONE): 1, ("rounds", DONE): 1, ("one", DONE): 4},
    ),
    "parent": Kind(
        _PARENT,
        lambda n: {"n": n, "sum": 4 * n + 2},
        {("zero", DONE): 1, ("rounds", DONE): 1, ("awaited", DONE): 2, ("stray", DONE): 1},
    ),
    "listener": Kind(_LISTENER, lambda n: {"heard": n}, {("hear", DONE): 1, ("after", DONE): 1}),
    "emitter": Kind(_EMITTER, lambda n: {"said": n}, {(name, DONE): 1 for name in ("say", "wake", "after")}),
    "failing": Kind(_FAILING, lambda _: None, {("fine", DONE): 1, ("broken", "failed"): 1}, status="failed"),
    # Cancelled by who triggered it, before it has begun or later.
    "doomed": Kind(
        _DOOMED,
        lambda _: None,
        {("before", DONE): 1, ("both", "cancelled"): 1, ("one", "cancelled"): 1, ("two", "cancelled"): 1},
        status="cancelled",
    ),
    "family": Kind(_FAMILY, lambda _: None, {("asleep", "cancelled"): 1}, status="cancelled"),
    "sleeper": Kind(_SLEEPER, lambda _: None, {("sleep", "cancelled"): 1}, status="cancelled", triggered=False),
    "deadline": Kind(
        _DEADLINE,
        lambda n: {"late": 2 * n},
        {("trying", DONE): 1, ("inTime", "failed"): 1, ("asleep", "cancelled"): 1, ("late", DONE): 1},
        maybe=frozenset({"asleep"}),
    ),
    "held": Kind(_HELD, lambda n: {"sum": 3 * n + 1}, {(name, DONE): 1 for name in ("before", "nap", "work", "after")}),
    "limited": Kind(_LIMITED, lambda n: {"twice": 2 * n}, {("work", DONE): 1}, at_once=2),
    "speaker": Kind(_SPEAKER, lambda _: {"said": 3}, {("parts", DONE): 1, ("say", DONE): 3, ("after", DONE): 1}),
    "collector": Kind(_COLLECTOR, lambda _: {"parts": [2, 4, 6]}, {("gather", DONE): 1, ("look", DONE): 3}),
    "woken": Kind(_WOKEN, lambda n: {"twice": 2 * n}, {("work", DONE): 1}, triggered=False),
    "told": Kind(_TOLD, lambda n: {"twice": 2 * n}, {("work", DONE): 1}, triggered=False),
    "child": Kind(_CHILD, lambda n: {"twice": 2 * n}, {("work", DONE): 1}, triggered=False),
    "stray": Kind(_STRAY, lambda n: {"twice": 2 * n}, {("work", DONE): 1}, triggered=False),
    "follower": Kind(_FOLLOWER, lambda n: {"followed": 2 * n}, {("work", DONE): 1}, triggered=False),
    "cleanup": Kind(_CLEANUP, lambda _: {"status": 500}, {("note", DONE): 1}, triggered=False),
    "tick": Kind(_TICK, lambda _: {"ticked": 2}, {("work", DONE): 1}, triggered=False),
    "tock": Kind(_TOCK, lambda _: {"tocked": 2}, {("work", DONE): 1}, triggered=False, at_once=1),
}
SCHEDULED = ("tick", "tock")
MEETING = {"emitter": "listener", "speaker": "collector"}
"""Who is triggered together, in any order: the one hears what the other says."""
DEPLOYED_ANEW = ("told", "woken", "chain", "nap")
RUN_AGAIN = frozenset({"chain", "fork", "loop", "nap"})
LINKS = (("chain", "follower", "completed", "{n: .n}"), ("failing", "cleanup", "failed", None))


def definition(name: str, service: str) -> str:
    limit = KINDS[name].at_once
    metadata = "{}" if limit is None or not KINDS[name].triggered else f"{{concurrency: {limit}}}"
    head = f"document: {{dsl: '1.0.3', namespace: chaos, name: {name}, version: '1.0.0', metadata: {metadata}}}"
    return head + KINDS[name].definition.replace("SERVICE", service)
