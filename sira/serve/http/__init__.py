"""The HTTP adapter of `sira.serve.service`; `app.create_app` makes it, `running.serve` runs it."""
