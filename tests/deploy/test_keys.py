"""`penstock doctor` after a restore: do the secrets open with the keys that are here?"""

import pytest

from penstock.cli.doctor_secrets import sealed
from penstock.cli.findings import Finding
from penstock.settings import load
from tests.conftest import Serve
from tests.platform.scene import set_up

pytestmark = pytest.mark.anyio


async def found(database_url: str, **settings: str) -> list[Finding]:
    return [each async for each in sealed(load(environ={}, overrides={"database": database_url, **settings}))]


async def test_secrets_without_their_key_are_told_before_anybody_misses_them(serve: Serve, database_url: str) -> None:
    async with serve() as client:
        scene = await set_up(client)
        assert await found(database_url) == []
        answer = await scene.owner.put(f"/projects/{scene.project['id']}/secrets/word", {"value": "open sesame"})
        assert answer.status_code in {200, 201}
    (well,) = await found(database_url)
    assert (well.level, well.says) == ("ok", "the keys at hand open all 1 of them")
    (lost,) = await found(database_url, jwt_secret="another one, of a server set up anew")
    assert lost.level == "fail"
    assert "1 of 1 secrets of projects were sealed with a key that is not here" in lost.says
