# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
# Sourced by tools/setup and tools/build: shows the progress and the time left in one line.

# duration SECONDS: prints `50 s` or `2 min 10 s`.
duration() {
  if (($1 < 90)); then echo "$1 s"; else echo "$(($1 / 60)) min $(($1 % 60)) s"; fi
}

# progress: reads lines from its input until its end. The first is `expect SECONDS TITLE`: what is done, and how long it
# should take. Further lines are `PERMILLE WHAT`: how much is done. The estimate starts with SECONDS and relies on the
# measured speed from 33 % on. On a terminal one line is overwritten, elsewhere a line is printed every ten seconds.
progress() {
  local start=$SECONDS next=0 expected=0 title='' live=false first rest
  if [[ -t 1 ]]; then live=true; fi
  while read -r first rest; do
    if [[ $first == expect ]]; then
      read -r expected title <<<"$rest"
      echo "$title: about $(duration "$expected")"
      next=$((SECONDS + 10))
      continue
    fi
    if ! $live && ((SECONDS < next)); then continue; fi
    local spent=$((SECONDS - start)) trust=$((first < 333 ? 3 * first : 1000)) left=0
    if ((first > 0)); then left=$((trust * spent / first)); fi
    left=$((left + (1000 - trust) * expected / 1000 - spent))
    local line
    line="$title: $((first / 10)) %, $(duration "$spent"), about $(duration $((left > 0 ? left : 0))) left"
    if $live; then printf '\r\033[K%.*s' "$((${COLUMNS:-80} - 1))" "$line ($rest)"; else echo "$line"; fi
    next=$((SECONDS + 10))
  done
  if $live; then printf '\r\033[K'; fi
  if [[ -n $title ]]; then echo "$title: $(duration $((SECONDS - start)))"; fi
}
