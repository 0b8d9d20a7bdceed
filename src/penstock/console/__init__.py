"""The console at `/`: hands out the files that `web/` is built into. It knows nothing of what they do."""
