#!/bin/bash
# The pages of berth report and berth fleet in a real browser: wide and narrow, light and dark. BIN holds the
# programs.
exec python3 "$(dirname "$0")/page.py" "$@"
