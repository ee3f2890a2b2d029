# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
# Sourced by tools/test and tools/check: runs parts of a whole, each timed, all of them even where one fails.

summary=()
failed=0
said=$(mktemp -d)
trap 'rm -rf "$said"' EXIT

# part TITLE COMMAND…: the command's steps must end in `|| return` where the next one makes no sense.
part() {
  local start=$SECONDS outcome=ok
  echo "== $1"
  { "${@:2}"; } 2>&1 | tee "$said/log" || { outcome=FAILED; failed=1; what_failed "$said/log" "$1" >>"$said/failures"; }
  summary+=("$(printf '%-40s %-7s %5d s' "$1" "$outcome" $((SECONDS - start)))")
}

# what_failed LOG TITLE: the end of what each failed test said, or of the log where no test is named.
what_failed() {
  echo "== what failed in: $2"
  awk '
    function tell(  i) { for (i = lines > 40 ? lines - 39 : 1; i <= lines; ++i) print line[i]; lines = 0 }
    /^ *(Start +[0-9]+:|[0-9]+\/[0-9]+ Test )/ || /tests passed,/ { tell(); inside = 0 }
    /^ *[0-9]+\/[0-9]+ Test .*\*\*\*/ && !/\*\*\*Skipped/ { inside = named = 1 }
    inside { gsub(/\.\.\.\.+/, "..."); line[++lines] = $0 }
    END { tell(); exit !named }' "$1" || tail -n 40 "$1"
}

# Prints what failed, what became of each part, and ends the program.
finish() {
  local outcome=ok
  if ((failed)); then outcome=FAILED; echo; cat "$said/failures"; fi
  echo
  printf '%s\n' "${summary[@]}"
  printf '%-40s %-7s %5d s\n' total "$outcome" $SECONDS
  exit "$failed"
}
