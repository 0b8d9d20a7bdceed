"""The engine with no server and no database: what runs, runs in this process, and is forgotten when it ends."""

from penstock.engine.local.bus import Bus
from penstock.engine.local.engine import LocalEngine
from penstock.engine.local.host import LocalHost, Watch
from penstock.engine.local.library import Library
from penstock.engine.local.mocks import NoSuchTask, mocked
from penstock.engine.local.tools import local_performer

__all__ = ["Bus", "Library", "LocalEngine", "LocalHost", "NoSuchTask", "Watch", "local_performer", "mocked"]
