#!/bin/sh
# The browser tests drive a real Chromium. Installed where we may; otherwise said clearly, and those tests are skipped.
set -eu
for found in "${CHROMIUM:-}" /usr/bin/chromium /usr/bin/chromium-browser /usr/bin/google-chrome; do
  if [ -n "$found" ] && [ -x "$found" ]; then exit 0; fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "Installing Chromium for the browser tests …"
  if apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; then exit 0; fi
fi
echo "The browser tests need Chromium, and it could not be installed here: apt install chromium, or CHROMIUM=/path/to/it." \
  "They are skipped." >&2
