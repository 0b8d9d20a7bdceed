"""What each kind of task does."""

from collections.abc import Mapping

from penstock.engine.interpreter.kinds import branching, calling, events, looping, plain, running, trying
from penstock.engine.interpreter.walk import Kind

KINDS: Mapping[str, Kind] = {
    "set": plain.set_,
    "switch": plain.switch,
    "raise": plain.raise_,
    "wait": plain.wait,
    "do": plain.do,
    "for": looping.for_,
    "fork": branching.fork,
    "try": trying.try_,
    "call": calling.call,
    "run": running.run,
    "emit": events.emit,
    "listen": events.listen,
}
