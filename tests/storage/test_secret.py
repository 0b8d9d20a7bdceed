"""The server's own secret: made once, kept where only the server reads it, shared by whoever shares the database."""

import asyncio
import stat
from pathlib import Path

import pytest

from penstock.settings import SettingsError
from penstock.storage import Database, open_database
from penstock.storage.secret import derive, server_secret

pytestmark = pytest.mark.anyio


async def test_a_secret_is_made_once_and_kept(database: Database, database_url: str) -> None:
    first = await server_secret(database, "")
    assert len(first) >= 32
    assert await server_secret(database, "") == first
    reopened = await open_database(database_url)
    assert await server_secret(reopened, "") == first
    await reopened.close()


async def test_two_databases_have_two_secrets(database: Database, tmp_path: Path) -> None:
    elsewhere = await open_database(f"sqlite:///{tmp_path}/elsewhere/penstock.db")
    assert await server_secret(database, "") != await server_secret(elsewhere, "")
    await elsewhere.close()


async def test_servers_that_start_together_agree(database: Database, other: Database) -> None:
    made = await asyncio.gather(*(server_secret(one, "") for one in (database, other) * 5))
    assert len(set(made)) == 1


async def test_a_configured_secret_wins_and_is_not_written_anywhere(database: Database, tmp_path: Path) -> None:
    assert await server_secret(database, "configured" * 4) == b"configured" * 4
    assert not list(tmp_path.glob("*.secret*"))


async def test_a_key_for_one_purpose_is_none_for_another(database: Database) -> None:
    secret = await server_secret(database, "")
    assert derive(secret, "cookies") == derive(secret, "cookies") != derive(secret, "tokens")


@pytest.fixture
async def file_and_database(tmp_path: Path) -> tuple[Path, Database]:
    return tmp_path / "penstock.db.secret", await open_database(f"sqlite:///{tmp_path}/penstock.db")


async def test_beside_an_sqlite_file_only_its_owner_may_read_it(file_and_database: tuple[Path, Database]) -> None:
    file, database = file_and_database
    secret = await server_secret(database, "")
    assert file.read_bytes() == secret
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.glob("*.secret*")] == [file.name], "nothing half-made is left"
    await database.close()


async def test_of_many_threads_and_processes_one_makes_it(file_and_database: tuple[Path, Database]) -> None:
    import subprocess
    import sys

    file, database = file_and_database
    program = "import sys; from pathlib import Path; from penstock.storage.secret import _from_file as f; "
    program += "print(f(Path(sys.argv[1])).decode())"
    rivals = [
        subprocess.Popen([sys.executable, "-c", program, str(file)], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert {rival.communicate()[0].strip() for rival in rivals} == {file.read_text()}
    await database.close()


async def test_one_that_is_too_short_is_refused_with_what_to_do(file_and_database: tuple[Path, Database]) -> None:
    file, database = file_and_database
    file.write_text("short")
    with pytest.raises(SettingsError, match=r"penstock\.db\.secret holds fewer than 32 bytes; delete it"):
        await server_secret(database, "")
    await database.close()


async def test_where_none_can_be_kept_it_must_be_configured(file_and_database: tuple[Path, Database]) -> None:
    file, database = file_and_database
    file.mkdir()
    with pytest.raises(SettingsError, match=r"^jwt_secret: cannot keep one in .*; configure it"):
        await server_secret(database, "")
    await database.close()
