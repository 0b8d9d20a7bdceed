"""The API with a great deal in it: how long lists and dashboards take, and what a request costs beside a plain peer."""  # noqa: A005
