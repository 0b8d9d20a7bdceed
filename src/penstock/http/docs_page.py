"""An OpenAPI document as one page of HTML: no script, nothing from elsewhere, every text escaped."""

import json
import shlex
from collections.abc import Iterable
from html import escape
from string import Template
from typing import Any
from urllib.parse import urlencode

Member = dict[str, Any]

_PAGE = Template("""\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$title $version</title>
<link rel="stylesheet" href="docs/style.css">
<header><h1>$title <small>$version</small></h1><p>$description</p>
<p>For programs: <a href="openapi.json">openapi.json</a> (OpenAPI 3.1). Answers with a status of 400 or above are
<a href="https://www.rfc-editor.org/rfc/rfc9457">problem details</a>; every answer bears an <code>X-Request-ID</code>,
under which the log knows it.</p></header>
<nav aria-label="Operations">$index</nav>
<main>
$operations
</main>
</html>
""")
_OPERATION = Template("""\
<article id="$anchor">
<h3><a href="#$anchor"><b class="$method">$method</b> <code>$path</code></a></h3>
<p>$summary$session</p>
$request
<pre>$curl</pre>
<h4>Answers</h4>
$responses
</article>
""")


def page(document: Member) -> str:
    operations = [
        (path, method, operation) for path, item in document["paths"].items() for method, operation in item.items()
    ]
    index = body = ""
    for tag in document["tags"]:
        own = [entry for entry in operations if tag["name"] in entry[2]["tags"]]
        index += f"<h2>{escape(tag['name'])}</h2><ul>{''.join(_link(*entry) for entry in own)}</ul>"
        body += f"<section><h2>{escape(tag['name'])}</h2><p>{_text(tag['description'])}</p>"
        body += "".join(_operation(document, *entry) for entry in own) + "</section>"
    info = {name: escape(text) for name, text in document["info"].items()}
    return _PAGE.substitute(info, index=index, operations=body)


def _link(path: str, method: str, operation: Member) -> str:
    return (
        f'<li><a href="#{_anchor(path, method)}" title="{escape(operation["summary"])}">'
        f'<b class="{method}">{method}</b> {escape(path)}</a></li>'
    )


def _anchor(path: str, method: str) -> str:
    return escape(method + path.replace("/", "-").replace("{", "").replace("}", ""))


def _text(text: str) -> str:
    """Escaped; what stands between `backquotes` is code."""
    parts = escape(text).split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return "".join(f"<code>{part}</code>" if odd % 2 else part for odd, part in enumerate(parts))


_NEEDS = {"session": "Needs the session cookie.", "bearer": "Needs an access token."}


def _operation(document: Member, path: str, method: str, operation: Member) -> str:
    security = operation.get("security", [])
    needed = {name for choice in security for name in choice} if {} not in security else set()
    session = "".join(f" <em>{text}</em>" for name, text in _NEEDS.items() if name in needed)
    return _OPERATION.substitute(
        anchor=_anchor(path, method),
        method=method,
        path=escape(path),
        summary=_text(operation["summary"]),
        session=session,
        request=_parameters(operation) + _body(document, operation),
        curl=escape(curl(path, method, operation, needed)),
        responses="".join(_response(document, status, response) for status, response in operation["responses"].items()),
    )


def _parameters(operation: Member) -> str:
    return _table(
        "Parameters",
        (
            (parameter["name"], parameter["required"], parameter.get("description", ""), parameter["schema"])
            for parameter in operation.get("parameters", [])
        ),
    )


def _body(document: Member, operation: Member) -> str:
    if "requestBody" not in operation:
        return ""
    content = operation["requestBody"]["content"]
    schema = _resolved(document, next(iter(content.values()))["schema"])
    needed, members = schema.get("required", []), schema.get("properties", {})
    fields = ((name, name in needed, of.get("description", ""), of) for name, of in members.items())
    kinds = ", ".join(f"<code>{escape(kind)}</code>" for kind in content)
    return _table("Body", fields) + f'<p class="kinds">as {kinds}</p>'


def _table(title: str, rows: Iterable[tuple[str, bool, str, Member]]) -> str:
    lines = "".join(
        f"<dt><code>{escape(name)}</code>{' <em>needed</em>' if needed else ''}</dt>"
        f"<dd>{_text(text)}{_for_example(schema)}</dd>"
        for name, needed, text, schema in rows
    )
    return f"<h4>{title}</h4><dl>{lines}</dl>" if lines else ""


def _for_example(schema: Member) -> str:
    examples = [example for example in schema.get("examples", []) if example != ""]
    return f' <span class="example">e.g. <code>{escape(str(examples[0]))}</code></span>' if examples else ""


def _response(document: Member, status: str, response: Member) -> str:
    response = _resolved(document, response)
    headers = "".join(
        f"<dt><code>{escape(name)}</code></dt><dd>{_text(header['description'])}</dd>"
        for name, header in response.get("headers", {}).items()
    )
    shown = f"<dl>{headers}</dl>" if headers else ""
    for kind, media in response.get("content", {}).items():
        shown += f'<p class="kinds"><code>{escape(kind)}</code></p>'
        if (example := _example(media)) is not None:
            shown += f"<pre>{escape(example)}</pre>"
    kind = "good" if status[0] in "23" else "bad"
    code = "else" if status == "default" else escape(status)
    title = f'<b class="{kind}">{code}</b> {_text(response["description"])}'
    if not shown:
        return f'<p class="answer">{title}</p>'
    return f"<details{' open' if kind == 'good' else ''}><summary>{title}</summary>{shown}</details>"


def _example(media: Member) -> str | None:
    values = [media["example"]] if "example" in media else [one["value"] for one in media.get("examples", {}).values()]
    if not values:
        return None
    return values[0] if isinstance(values[0], str) else json.dumps(values[0], indent=2, ensure_ascii=False)


def curl(path: str, method: str, operation: Member, needed: set[str]) -> str:
    """A command that sends the operation's example to a server on this machine."""
    examples = {
        parameter["name"]: (parameter["in"], str(parameter["schema"].get("examples", [""])[0]), parameter["required"])
        for parameter in operation.get("parameters", [])
    }
    for name, (_, example, _) in examples.items():
        path = path.replace(f"{{{name}}}", example)
    query = {name: value for name, (place, value, _) in examples.items() if place == "query" and value}
    asked = {name: value for name, value in query.items() if examples[name][2]} or dict(list(query.items())[:2])
    cookies = "session" in needed or path.startswith("/user/")
    words = ["curl", *(["-b", "cookies.txt", "-c", "cookies.txt"] if cookies else [])]
    if "bearer" in needed:
        words += ["-H", "Authorization: Bearer $TOKEN"]
    if method not in {"get", "post"} or (method == "post" and "requestBody" not in operation):
        words += ["-X", method.upper()]
    lines = [[*words, f"http://127.0.0.1:8080{path}{'?' + urlencode(asked) if asked else ''}"]]
    if "requestBody" in operation:
        lines += _data(operation["requestBody"]["content"])
    # The shell fills in the token, so what holds it is quoted with double quotes.
    return " \\\n  ".join(map(shlex.join, lines)).replace(
        "'Authorization: Bearer $TOKEN'", '"Authorization: Bearer $TOKEN"'
    )


def _data(content: Member) -> list[list[str]]:
    kind, media = next(iter(content.items()))
    fields: Member = media.get("example") or {
        name: of["examples"][0] for name, of in list(media["schema"]["properties"].items())[:1]
    }
    if kind == "application/json":
        return [["--json", json.dumps(fields, ensure_ascii=False)]]
    if kind.endswith("json"):
        return [["-H", f"Content-Type: {kind}"], ["--data", json.dumps(fields, ensure_ascii=False)]]
    return [["--data-urlencode", f"{name}={value}"] for name, value in fields.items()]


def _resolved(document: Member, node: Member) -> Member:
    while "$ref" in node:
        target: Any = document
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node


STYLE = """\
:root { color-scheme: light dark; --line: light-dark(#d8dee6, #30363d); --soft: light-dark(#f4f6f9, #161b22);
  --page: light-dark(#fff, #0d1117); --ink: light-dark(#1c2530, #e6edf3); --faint: light-dark(#5a6675, #9aa5b1);
  --blue: light-dark(#0a58b8, #6cb0ff); --green: light-dark(#17703a, #5fd38a); --red: light-dark(#b3261e, #ff8e86); }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
body { margin: 0 auto; max-width: 75rem; display: grid; grid-template: auto 1fr / 17rem minmax(0, 1fr); gap: 0 3rem;
  padding: 0 1.5rem; background: var(--page); color: var(--ink); font: 1rem/1.55 system-ui, sans-serif; }
header { grid-area: 1 / 2; padding-top: 1.5rem; }
nav { grid-area: 1 / 1 / 3 / 2; position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1.5rem 0;
  font-size: .85rem; }
nav h2 { margin: 1rem 0 .25rem; font-size: .75rem; letter-spacing: .06em; text-transform: uppercase;
  color: var(--faint); }
nav ul { list-style: none; margin: 0; padding: 0; }
nav a { display: flex; gap: .5rem; padding: .2rem 0; color: inherit; text-decoration: none; overflow-wrap: anywhere; }
nav a:hover { color: var(--blue); }
nav b { flex: none; width: 2.6rem; }
main { grid-area: 2 / 2; padding-bottom: 6rem; }
h1 { margin: 0; font-size: 2rem; } h1 small { font-size: 1rem; font-weight: normal; color: var(--faint); }
section > h2 { margin: 3rem 0 .5rem; font-size: 1.4rem; text-transform: capitalize; }
h3 { margin: 0; font-size: 1.05rem; } h3 a { color: inherit; text-decoration: none; }
h4 { margin: 1.2rem 0 .3rem; font-size: .85rem; color: var(--faint); }
article { margin: 1.5rem 0; padding: 1.25rem; border: 1px solid var(--line); border-radius: .6rem; }
article:target { border-color: var(--blue); box-shadow: 0 0 0 1px var(--blue); }
article > p { margin: .4rem 0; }
a { color: var(--blue); }
b.get, b.post { text-transform: uppercase; font-size: .85em; color: var(--green); } b.post { color: var(--blue); }
b.good { color: var(--green); } b.bad { color: var(--red); } .good, .bad { display: inline-block; min-width: 2.4rem; }
em { font-style: normal; font-size: .8em; padding: .05rem .4rem; border-radius: 1rem; background: var(--soft);
  border: 1px solid var(--line); color: var(--faint); white-space: nowrap; }
code, pre { font: .875em/1.5 ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", monospace; }
code { overflow-wrap: anywhere; }
pre { margin: .6rem 0; padding: .7rem .9rem; background: var(--soft); border: 1px solid var(--line);
  border-radius: .4rem; white-space: pre-wrap; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: minmax(8rem, max-content) minmax(0, 1fr); gap: .25rem 1.25rem; margin: 0;
  font-size: .925rem; }
dd { margin: 0; } .example, .kinds { color: var(--faint); } .kinds { margin: .4rem 0; font-size: .85rem; }
details { border-top: 1px solid var(--line); padding: .35rem 0; } summary { cursor: pointer; }
.answer { border-top: 1px solid var(--line); margin: 0; padding: .35rem 0 .35rem 1.05rem; }
article > .answer { margin: 0; }
@media (max-width: 52rem) {
  body { display: block; padding: 0 1rem; }
  nav { position: static; height: auto; border-bottom: 1px solid var(--line); }
  dl { display: block; } dd { margin: 0 0 .5rem; }
  article { padding: 1rem; margin: 1rem 0; }
}
"""
