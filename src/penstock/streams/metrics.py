"""What `/metrics` shows of the streams of this process."""

from collections.abc import Callable

from prometheus_client import Counter, Gauge

from penstock.http.metrics import registry

_listeners = Gauge("penstock_stream_listeners", "Open streams of events and logs.", registry=registry)
let_go = Counter(
    "penstock_streams_let_go", "Streams that were ended because their reader did not keep up.", registry=registry
)


def watch(listening: Callable[[], int]) -> None:
    """Whose number is shown: that of the hub that was started last."""
    _listeners.set_function(listening)
