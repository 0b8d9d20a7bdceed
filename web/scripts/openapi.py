"""Print our own OpenAPI document, from the code as it stands: what the console's types are generated from."""

import sys

import msgspec

from penstock.app import create_app
from penstock.http.openapi_document import complete
from penstock.settings import load

if __name__ == "__main__":
    app = create_app(load(environ={}, overrides={"database": "sqlite://"}).settings)
    document = complete(app.app.openapi_schema.to_schema())  # type: ignore[attr-defined]
    sys.stdout.buffer.write(msgspec.json.encode(document))
