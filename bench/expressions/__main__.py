"""`python -m bench.expressions`: microseconds per evaluation of five typical expressions, median of five rounds."""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

import jq as package
import msgspec

from penstock.dsl.expressions import Program, program
from penstock.dsl.expressions.allowed import wrapped
from penstock.engine.jq import Jq

TYPICAL = {
    "path": ".customer.address.city",
    "condition": '.status == "open" and .total > $context.limit',
    "text": '"Order \\(.id) of \\(.customer.name): \\(.items | length) items"',
    "object": "{id, name: .customer.name, total: (.items | map(.price * .count) | add)}",
    "filter": "[.items[] | select(.price >= 2) | .sku] | sort | join(\", \")",
}  # fmt: skip
ORDER: dict[str, Any] = {
    "id": 4711,
    "status": "open",
    "total": 120.5,
    "customer": {"name": "Ada", "address": {"city": "London"}},
    "items": [{"sku": f"sku-{number}", "price": number / 2, "count": number} for number in range(10)],
}
VARIABLES = {"context": {"limit": 100}, "input": ORDER}
ROUNDS = 5


def main() -> None:
    asyncio.run(_measure())


async def _measure() -> None:
    jq = Jq(processes=1, seconds=5, megabytes=128, most_output=1 << 20)
    await jq.start()
    print(f"{'':12}{'at once':>10}{'process':>10}{'jq in here':>12}   µs")
    for name, text in TYPICAL.items():
        here = program(text)
        elsewhere = Program(here.text)
        elsewhere.variables, elsewhere.fast, elsewhere.refused = here.variables, None, here.refused

        async def at_once(here: Any = here) -> None:
            jq.evaluate_now(here, ORDER, VARIABLES)

        async def process(elsewhere: Any = elsewhere) -> None:
            await jq.evaluate(elsewhere, ORDER, VARIABLES)

        costs = [await _cost(at_once, 5000), await _cost(process, 500), await _cost(_in_here(text), 2000)]
        print(f"{name:12}{costs[0]:>10.1f}{costs[1]:>10.1f}{costs[2]:>12.1f}")
    await jq.stop()


def _in_here(text: str) -> Callable[[], Awaitable[None]]:
    """jq in the server's process, as it would be with no fear of endless programs: encoded, run, decoded."""
    names = tuple(sorted(program(text).variables))
    compiled = package.compile(wrapped(text, names))

    async def run() -> None:
        document = msgspec.json.encode([ORDER, *(VARIABLES[name] for name in names)]).decode()
        for output in compiled.input_text(document):
            msgspec.json.decode(output)

    return run


async def _cost(run: Callable[[], Awaitable[None]], times: int) -> float:
    await run()
    rounds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for _ in range(times):
            await run()
        rounds.append((time.perf_counter() - started) / times * 1e6)
    return statistics.median(rounds)


if __name__ == "__main__":
    main()
