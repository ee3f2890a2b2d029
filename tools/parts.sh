# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
# Sourced by tools/test and tools/check: runs parts of a whole, each timed, all of them even where one fails.

summary=()
failed=0

# part TITLE COMMAND…: the command's steps must end in `|| return` where the next one makes no sense.
part() {
  local start=$SECONDS outcome=ok
  echo "== $1"
  "${@:2}" || { outcome=FAILED; failed=1; }
  summary+=("$(printf '%-40s %-7s %5d s' "$1" "$outcome" $((SECONDS - start)))")
}

# Prints what became of each part, and ends the program.
finish() {
  local outcome=ok
  if ((failed)); then outcome=FAILED; fi
  echo
  printf '%s\n' "${summary[@]}"
  printf '%-40s %-7s %5d s\n' total "$outcome" $SECONDS
  exit "$failed"
}
