"""What `/metrics` shows. Routes are counted by their template, so that ids never become labels."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector, generate_latest

from penstock import __version__

registry = CollectorRegistry()
# Processor time, memory and open files of this process, where the system tells them.
ProcessCollector(registry=registry)
Info("penstock_build", "Which Penstock this is.", registry=registry).info({"version": __version__})

_SECONDS = Histogram(
    "penstock_http_request_seconds",
    "Time to answer a request.",
    ["method", "route", "status"],
    registry=registry,
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
in_flight = Gauge("penstock_http_requests_in_flight", "Requests being answered.", registry=registry)
sign_ins = Counter("penstock_sign_ins", "Sign-ins, by way in and outcome.", ["method", "outcome"], registry=registry)
mails = Counter("penstock_mails", "Mails, by outcome.", ["outcome"], registry=registry)
# What has not happened yet is shown as 0: from nothing to 1 is no increase to Prometheus.
for _outcome in ("accepted", "refused"):
    for _way in ("password", "oauth", "saml", "iam"):
        sign_ins.labels(_way, _outcome)
for _outcome in ("sent", "failed", "given_up"):
    mails.labels(_outcome)

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_observers: dict[tuple[str, str, int], Histogram] = {}


def observe(method: str, route: str, status: int, seconds: float) -> None:
    # Whoever calls may invent methods; each would stay in memory for good.
    key = (method if method in _METHODS else "other", route, status)
    observer = _observers.get(key)
    if observer is None:
        # Looking up labels costs more than observing, so each combination is looked up once.
        observer = _observers[key] = _SECONDS.labels(*map(str, key))
    observer.observe(seconds)


def text() -> bytes:
    return generate_latest(registry)
