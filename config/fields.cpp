// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "config/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <tuple>

#include "base/printable.hpp"

namespace iqd {
namespace {

constexpr std::size_t kMost = 1000;  // problems that are useful

/// Ignores case, and treats dash, underscore and blank as equal.
std::string folded(std::string_view word) {
  std::string s(word);
  for (char& c : s) c = c == '-' || c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

/// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`.
std::size_t edits(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + changed});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

bool is_beginning_of_other(const std::string& a, const std::string& b) {
  constexpr std::size_t kEnoughToTell = 3;
  const std::size_t n = std::min(a.size(), b.size());
  return n >= kEnoughToTell && a.compare(0, n, b, 0, n) == 0;
}

}  // namespace

std::string Problem::text() const {
  std::string s = place.file;
  if (place.line > 0) s += ":" + std::to_string(place.line);
  if (place.line > 0 && place.column > 0) s += ":" + std::to_string(place.column);
  if (severity == Severity::warning) s += s.empty() ? "warning" : ": warning";
  if (!s.empty() && !path.empty()) s += severity == Severity::warning ? ": " : " ";
  s += path;
  if (!s.empty()) s += ": ";
  s += what;
  std::replace_if(
      s.begin(), s.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return printable(s);
}

void Problems::warn(Place place, std::string path, std::string what) {
  std::vector<Problem>& list = lists_->warnings;
  const auto comes_before = [](const Place& a, const Problem& b) {
    return std::tie(a.line, a.column) < std::tie(b.place.line, b.place.column);
  };
  const auto is_same = [&](const Problem& p) { return p.path == path && p.what == what && p.place.line == place.line; };
  if (list.size() >= kMost || std::ranges::any_of(list, is_same)) return;
  const auto at = std::upper_bound(list.begin(), list.end(), place, comes_before);
  list.insert(at, {std::move(place), std::move(path), std::move(what), Severity::warning});
}

bool are_enough(Problems& problems) {
  if (problems.size() < kMost) return false;
  if (problems.size() == kMost)
    problems.push_back({problems.back().place, "", fmt::format("more than {} problems; iqd stops here", kMost)});
  return true;
}

Problem Section::about(std::string_view key, std::string what) const {
  const auto known = places_.find(key);
  if (const auto m = missing_.find(key); m != missing_.end() && what.find(m->second.first) != std::string::npos)
    what += m->second.second;
  std::string path = path_;
  if (!key.empty()) path += (path.empty() ? "" : ".") + std::string(key);
  return {known == places_.end() ? place_ : known->second, std::move(path), std::move(what)};
}

void Section::problem(std::string_view key, std::string what) const {
  problems_.push_back(about(key, std::move(what)));
}

void Section::warning(std::string_view key, std::string what) const {
  Problem about_key = about(key, std::move(what));
  problems_.warn(std::move(about_key.place), std::move(about_key.path), std::move(about_key.what));
}

std::vector<std::string> Section::wrong_keys() const {
  std::vector<std::string> keys;
  for (const Problem& p : problems_) {
    std::string_view rest = p.path;
    if (p.place.file != place_.file || !rest.starts_with(path_)) continue;
    rest.remove_prefix(path_.size());
    if (!path_.empty() && !rest.empty() && !rest.starts_with('.')) continue;
    if (rest.starts_with('.')) rest.remove_prefix(1);
    keys.emplace_back(rest.substr(0, rest.find('[')));
  }
  return keys;
}

bool Section::is_wrong(std::string_view key) const {
  const std::vector<std::string> keys = wrong_keys();
  return std::ranges::find(keys, key) != keys.end();
}

Section Section::with(const Problems& problems) const {
  Section other(path_, place_, problems);
  other.places_ = places_;
  return other;
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t kLongestWord = 64;  // a longer one is not a typo, and would take quadratic time
  if (word.size() > kLongestWord) return {};
  const std::string asked = folded(word);
  const std::size_t limit = std::clamp<std::size_t>((asked.size() + 1) / 3, 1, 3);
  std::string_view best;
  std::size_t least = limit + 1;
  std::string_view continued;
  for (const std::string_view candidate : candidates) {
    const std::string c = folded(candidate);
    const std::size_t distance = edits(asked, c);
    if (distance < least && distance < std::max(asked.size(), c.size())) {
      least = distance;
      best = candidate;
    }
    if (continued.empty() && is_beginning_of_other(asked, c)) continued = candidate;
  }
  // A whole beginning tells more than two edits: `hanning` is `hann`, not `hamming`.
  return best.empty() || (least > 1 && !continued.empty()) ? continued : best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view near = nearest(word, candidates);
  return near.empty() ? "" : " (did you mean '" + std::string(near) + "'?)";
}

}  // namespace iqd
