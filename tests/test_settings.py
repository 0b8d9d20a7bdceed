"""Settings: where each value comes from, and what a person reads who got one wrong."""

from pathlib import Path
from typing import Any

import pytest

from penstock.settings import Duration, Loaded, Secret, SettingsError, load


def from_environment(**variables: str) -> Loaded:
    return load(Path("/dev/null"), {f"PENSTOCK_{name}": value for name, value in variables.items()})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "penstock.toml"


def test_without_any_setting_every_default_holds() -> None:
    loaded = from_environment()
    assert loaded.settings.port == 8080
    assert loaded.settings.host == "127.0.0.1"
    assert set(loaded.sources.values()) == {"default"}


def test_the_command_line_beats_the_environment_beats_the_file_beats_the_default(file: Path) -> None:
    file.write_text("port = 1\nhost = 'file'\nmax_body = 2048\nlimit_create = 7")
    loaded = load(file, {"PENSTOCK_PORT": "2", "PENSTOCK_HOST": "environment"}, {"port": 3, "database": None})
    settings = loaded.settings
    assert (settings.port, settings.host, settings.limit_create, settings.jwt_issuer) == (
        3,
        "environment",
        7,
        "penstock",
    )
    assert {name: loaded.sources[name] for name in ("port", "host", "limit_create", "jwt_issuer", "database")} == {
        "port": "command line",
        "host": "environment",
        "limit_create": str(file),
        "jwt_issuer": "default",
        "database": "default",
    }


def test_the_environment_names_the_file(file: Path) -> None:
    file.write_text("port = 81")
    loaded = load(environ={"PENSTOCK_CONFIG": str(file)})
    assert (loaded.settings.port, loaded.sources["port"]) == (81, str(file))


def test_a_file_in_the_working_folder_is_found_by_itself(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load(environ={}).settings.port == 8080
    file.write_text("port = 82")
    assert load(environ={}).settings.port == 82


def test_a_member_of_a_table_from_the_environment_joins_the_tables_of_the_file(file: Path) -> None:
    file.write_text("[oauth_providers.github]\nclient_id = 'of the file'\nscopes = ['a']\n[hooks]\nuser_info = 'm:f'")
    settings = load(
        file,
        {
            "PENSTOCK_OAUTH_PROVIDERS__GITHUB__CLIENT_SECRET": "s3cret",
            "PENSTOCK_OAUTH_PROVIDERS__GITHUB__SCOPES": "read:user, user:email",
            "PENSTOCK_OAUTH_PROVIDERS__CORP__CLIENT_ID": "ours",
            "PENSTOCK_HOOKS__SEND_EMAIL": "shop:mail",
        },
    ).settings
    github = settings.oauth_providers["github"]
    assert (github.client_id, github.client_secret.reveal()) == ("of the file", "s3cret")
    assert github.scopes == ["read:user", "user:email"]
    assert settings.oauth_providers["corp"].client_id == "ours"
    assert settings.hooks == {"user_info": "m:f", "send_email": "shop:mail"}


def test_a_table_may_be_json_and_single_members_win_whatever_the_order() -> None:
    whole = {"OAUTH_PROVIDERS": '{"github": {"client_id": "json", "enabled": false}}'}
    member = {"OAUTH_PROVIDERS__GITHUB__CLIENT_ID": "member"}
    for variables in (whole | member, member | whole):
        github = from_environment(**variables).settings.oauth_providers["github"]
        assert (github.client_id, github.enabled) == ("member", False)


@pytest.mark.parametrize("text", ["https://a.example,https://b.example", '["https://a.example", "https://b.example"]'])
def test_a_list_is_separated_by_commas_or_json(text: str) -> None:
    assert from_environment(CORS_ORIGINS=text).settings.cors_origins == ["https://a.example", "https://b.example"]


def test_networks_are_read_from_either() -> None:
    for text in ("10.0.0.1/8, ::1", '["10.0.0.1/8", "::1"]'):
        assert repr(from_environment(TRUSTED_PROXIES=text).settings.trusted_proxies) == "10.0.0.0/8, ::1/128"
    assert from_environment(TRUSTED_PROXIES="").settings.trusted_proxies == ()


@pytest.mark.parametrize(
    ("text", "seconds", "shown"),
    [
        ("45s", 45, "45s"),
        ("15m", 900, "15m"),
        ("24h", 86400, "1d"),
        ("7d", 604800, "7d"),
        ("90", 90, "90s"),
        (" 5 m ", 300, "5m"),
    ],
)  # fmt: skip
def test_durations_are_read_as_people_write_them(text: str, seconds: int, shown: str, file: Path) -> None:
    duration = from_environment(SESSION_TTL=text).settings.session_ttl
    assert (duration, str(duration), repr(duration)) == (seconds, shown, shown)
    file.write_text(f"session_ttl = {text!r}\nreset_ttl = 60")
    assert load(file, {}).settings.session_ttl == seconds
    assert load(file, {}).settings.reset_ttl == Duration(60)


PROVIDER = {"OAUTH_PROVIDERS__GITHUB__CLIENT_ID": "x"}


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"PORT": "abc"}, "port: expected an integer between 0 and 65535, got 'abc' (environment PENSTOCK_PORT)"),
        ({"PORT": "65536"}, "port: expected an integer between 0 and 65535, got '65536' (environment PENSTOCK_PORT)"),
        ({"PORT": ""}, "port: expected an integer between 0 and 65535, got '' (environment PENSTOCK_PORT)"),
        ({"PORT__X": "1"}, "port: expected an integer between 0 and 65535, got a table (environment PENSTOCK_PORT)"),
        ({"MAX_BODY": "1k"}, "max_body: expected an integer of 1024 or more, got '1k' (environment PENSTOCK_MAX_BODY)"),
        (
            {"LOG_LEVEL": "loud"},
            "log_level: expected one of debug, info, warning, error, got 'loud' (environment PENSTOCK_LOG_LEVEL)",
        ),
        (
            {"UPDATE_REQUIRES_PASSWORD": "maybe"},
            (
                "update_requires_password: expected true or false, got 'maybe' "
                "(environment PENSTOCK_UPDATE_REQUIRES_PASSWORD)"
            ),
        ),
        (
            {"RESET_TTL": "1 fortnight"},
            (
                "reset_ttl: expected a duration such as 45s, 15m, 24h or 7d (100 years at most), got '1 fortnight' "
                "(environment PENSTOCK_RESET_TTL)"
            ),
        ),
        (
            {"RESET_TTL": "9999999999d"},
            (
                "reset_ttl: expected a duration such as 45s, 15m, 24h or 7d (100 years at most), got '9999999999d' "
                "(environment PENSTOCK_RESET_TTL)"
            ),
        ),
        ({"SESSION_TTL": "0"}, "session_ttl: expected a duration of at least 1s"),
        (
            {"TRUSTED_PROXIES": "10.0.0.0/99"},
            (
                "trusted_proxies: expected networks such as 10.0.0.0/8 or ::1, got ['10.0.0.0/99'] "
                "(environment PENSTOCK_TRUSTED_PROXIES)"
            ),
        ),
        (
            {"OAUTH_PROVIDERS": "github"},
            "oauth_providers: expected a table, got text (environment PENSTOCK_OAUTH_PROVIDERS)",
        ),
        ({"OAUTH_PROVIDERS": "{"}, "oauth_providers: expected JSON: Input data was truncated"),
        (
            {"OAUTH_PROVIDERS__GITHUB__ENABLED": "1"},
            "oauth_providers.github.client_id: missing, and it has no default (environment PENSTOCK_OAUTH_PROVIDERS)",
        ),
        (
            PROVIDER | {"OAUTH_PROVIDERS__GITHUB__KIND": "gitlab"},
            (
                "oauth_providers.github.kind: expected one of x, google, facebook, github, oidc, oauth2, got 'gitlab' "
                "(environment PENSTOCK_OAUTH_PROVIDERS)"
            ),
        ),
        (
            {"OAUTH_PROVIDERS__GIT.HUB__CLIENT_ID": "x"},
            "oauth_providers.git.hub: expected a name of lower-case letters, digits, _ and -, as it stands in URLs",
        ),
        (
            {"HOOKS__ON_SIGNUP": "a:b"},
            (
                "hooks.on_signup: no such member (environment PENSTOCK_HOOKS); expected one of user_info, "
                "on_auth_event, hash_password, compare_password, send_email, saml_provider_for"
            ),
        ),
        (
            {"SAML_PROVIDERS": '[{"metadata": "x.xml", "domains": [1]}]'},
            "saml_providers[0].domains[0]: expected text, got 1 (environment PENSTOCK_SAML_PROVIDERS)",
        ),
        (
            {"JWT_SECRET": "s3cret"},
            "jwt_secret: expected 32 bytes or more; make one with `openssl rand -base64 48`",
        ),
        (
            {"FORGOT_PASSWORD_BODY": "Reset it yourself"},
            "forgot_password_body: expected ${TOKEN} or ${URL} in the text, else nobody could reset a password",
        ),
        ({"SMTP_SERVER": "mail"}, "smtp_server: expected host:port, got 'mail'"),
        ({"SMTP_SERVER": "mail:99999"}, "smtp_server: expected host:port, got 'mail:99999'"),
        ({"WORKER_LISTEN": "9464"}, "worker_listen: expected host:port, got '9464'"),
        (
            {"PUBLIC_URL": "penstock.example"},
            "public_url: expected a full address such as https://penstock.example, got 'penstock.example'",
        ),
        (
            {"RESET_URL": "https://[::1"},
            "reset_url: expected a full address such as https://penstock.example, got 'https://[::1'",
        ),
        (
            {"POTR": "80"},
            "potr: no such setting (environment variable PENSTOCK_POTR); `penstock config` lists them all",
        ),
    ],
)
def test_a_wrong_value_is_said_with_the_name_and_what_was_expected(variables: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        from_environment(**variables)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    "origin",
    ["*", "https://*.example", "https://app.example/", "https://app.example/x", "app.example", "ftp://app.example",
     "null", "https://App.example", "https://[", "https://"],
)  # fmt: skip
def test_only_exact_origins_are_allowed_for_cors(origin: str) -> None:
    with pytest.raises(SettingsError, match=r"^cors_origins: expected exact origins such as https://app\.example"):
        from_environment(CORS_ORIGINS=origin)


def test_a_member_that_does_not_exist_is_named_with_its_full_path_and_those_that_do() -> None:
    with pytest.raises(SettingsError, match=r"^oauth_providers\.github\.client: no such member .*one of client_id, "):
        from_environment(**PROVIDER, OAUTH_PROVIDERS__GITHUB__CLIENT="x")


@pytest.mark.parametrize("body", ["${TOKEN}", "${URL}", "${TOKEN} ${URL}"])
def test_either_placeholder_is_enough_for_a_reset_mail(body: str) -> None:
    assert from_environment(FORGOT_PASSWORD_BODY=body).settings.forgot_password_body == body


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("port = \n", r"penstock\.toml: expected TOML: Invalid value \(at line 1"),
        ("portt = 80", r"portt: no such setting \(in .*penstock\.toml\)"),
        ("port = 'abc'", r"port: expected an integer between 0 and 65535, got 'abc' \(.*penstock\.toml\)"),
        ("port = true", r"port: expected an integer between 0 and 65535, got True \("),
        ("session_ttl = true", r"session_ttl: expected a duration such as .*, got True \("),
        ("session_ttl = -5", r"session_ttl: expected a duration such as .*, got -5 \("),
        ("cors_origins = 'https://a.example'", r"cors_origins: expected a list, got 'https://a\.example' \("),
        ("cors_origins = [1]", r"cors_origins\[0\]: expected text, got 1 \("),
        ("[jwt_secret]\na = 's3cret'", r"jwt_secret: expected text, got a table \("),
        ("jwt_secret = 5", r"jwt_secret: expected text, got int \("),
        ("[oauth_providers.b]\nclient_id = 'x'\nclient_secret = ['s3cret']", r"b\.client_secret: expected text, got"),
        ("oauth_providers = [{client_secret = 's3cret'}]", r"oauth_providers: expected a table, got a list \("),
    ],
)  # fmt: skip
def test_a_wrong_file_is_said_with_its_name_and_no_secret(file: Path, text: str, sentence: str) -> None:
    file.write_text(text)
    with pytest.raises(SettingsError, match=sentence) as caught:
        load(file, {})
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None or "s3cret" not in str(caught.value.__cause__)


def test_a_file_that_is_missing_unreadable_or_not_text_is_said(file: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"penstock\.toml does not exist"):
        load(file, {})
    with pytest.raises(SettingsError, match="nowhere does not exist"):
        load(environ={"PENSTOCK_CONFIG": "/nowhere"})
    with pytest.raises(SettingsError, match="cannot be read: Is a directory"):
        load(tmp_path, {})
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match=r"penstock\.toml: expected TOML"):
        load(file, {})


def test_variables_of_others_are_none_of_ours() -> None:
    assert load(Path("/dev/null"), {"PORT": "abc", "PENSTOCKPORT": "abc"}).settings.port == 8080


SECRETS = {
    "DATABASE": "postgresql://penstock:s3cret@db/penstock",
    "JWT_SECRET": "s3cret" * 8,
    "SMTP_PASSWORD": "s3cret",
    "REDIS_URL": "redis://:s3cret@redis",
    "OAUTH_PROVIDERS__GITHUB__CLIENT_ID": "x",
    "OAUTH_PROVIDERS__GITHUB__CLIENT_SECRET": "s3cret",
}


@pytest.mark.parametrize("show", [str, repr, "{}".format, "{!r}".format, lambda value: f"{value!s}"])
def test_a_secret_is_never_shown(show: Any) -> None:
    loaded = from_environment(**SECRETS)
    assert "s3cret" not in show(loaded)
    assert "s3cret" not in show(loaded.settings)
    assert show(Secret("s3cret")) == "********"
    assert show(Secret("")) == "(none)"


def test_secrets_are_compared_by_what_they_hide() -> None:
    assert Secret("a") == Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a")}) == 1
