# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
# Sourced by tools/test and tools/check: runs and times parts, all of them even if one fails.

summary=()
failed=0
said=$(mktemp -d)
trap 'rm -rf "$said"' EXIT

# part TITLE COMMAND…: runs one part. A step of the command must end in `|| return` if the next one depends on it.
part() {
  local start=$SECONDS outcome=ok
  echo "== $1"
  { "${@:2}"; } 2>&1 | tee "$said/log" || { outcome=FAILED; failed=1; what_failed "$said/log" "$1" >>"$said/failures"; }
  summary+=("$(printf '%-44s %-7s %5d s' "$1" "$outcome" $((SECONDS - start)))")
}

# what_failed LOG TITLE: the last lines of each failed test's output, or of the log if it names no failed test. Programs
# of unit tests are not CTest's: of them the failed tests, and what a sanitizer found, each with its place.
what_failed() {
  echo "== what failed in: $2"
  awk '
    function tell(  i) { for (i = lines > 40 ? lines - 39 : 1; i <= lines; ++i) print line[i]; lines = 0 }
    /^ *(Start +[0-9]+:|[0-9]+\/[0-9]+ Test )/ || /tests passed,/ { tell(); inside = 0 }
    /^ *[0-9]+\/[0-9]+ Test .*\*\*\*/ && !/\*\*\*Skipped/ { inside = named = 1 }
    !inside && (/^\[  FAILED  \] [^0-9]/ || /runtime error:/ || /^SUMMARY: .*Sanitizer/) { print; named = 1 }
    !inside && /: Failure$/ { values = 6 }
    !inside && values-- > 0 { print }
    !inside && /(ERROR|WARNING): .*Sanitizer:/ { print; calls = 12 }
    !inside && /^ *#[0-9]+ / && calls-- > 0 { print }
    inside { gsub(/\.\.\.\.+/, "..."); line[++lines] = $0 }
    END { tell(); exit !named }' "$1" || tail -n 40 "$1"
}

# Prints what failed and the outcome of each part, and exits.
finish() {
  local outcome=ok
  if ((failed)); then outcome=FAILED; echo; cat "$said/failures"; fi
  echo
  printf '%s\n' "${summary[@]}"
  printf '%-44s %-7s %5d s\n' total "$outcome" $SECONDS
  exit "$failed"
}
