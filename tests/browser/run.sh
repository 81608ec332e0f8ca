#!/bin/bash
# The page of berth report in a real browser: wide and narrow, light and dark. BIN holds the
# programs.
exec python3 "$(dirname "$0")/page.py" "$@"
