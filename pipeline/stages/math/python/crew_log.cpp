// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/python/crew_log.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/log.hpp"
#include "base/printable.hpp"

namespace iqd::python {
namespace {

constexpr std::size_t kMostLine = 1024;
constexpr std::int64_t kMostLines = 20;  // a second
constexpr std::size_t kMostKinds = 64;

/// Calls `each` with the lines of a text; returns what follows the last line end.
template <class Each> std::string_view split(std::string_view text, Each&& each) {
  for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
    each(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return text;
}

}  // namespace

void CrewLog::printed(std::string_view text, std::int64_t now_ns) {
  unfinished_ += text;
  const std::string all = std::move(unfinished_);
  unfinished_ = split(all, [&](std::string_view part) { line(part, now_ns); });
  if (unfinished_.size() < kMostLine) return;
  line(unfinished_, now_ns);
  unfinished_.clear();
}

void CrewLog::line(std::string_view text, std::int64_t now_ns) {
  if (now_ns - second_ns_ >= kSecondNs) {
    if (left_out_ > 0) log::info("{}: {} lines were left out", label_, left_out_);
    second_ns_ = now_ns;
    lines_ = left_out_ = 0;
  }
  if (++lines_ > kMostLines)
    ++left_out_;
  else
    log::info("{}: {}", label_, printable(text.substr(0, kMostLine)));
}

void CrewLog::raised(const std::string& kind, std::string_view traceback) {
  if (kinds_.size() >= kMostKinds || !kinds_.insert(kind).second) return;
  log::warn("{}: an exception; its block is missing, and more of this kind are only counted:", label_);
  const std::string_view last =
      split(traceback, [&](std::string_view part) { log::warn("{}: {}", label_, printable(part)); });
  log::warn("{}: {}", label_, printable(last));
}

void CrewLog::lost(std::string_view why, std::int64_t now_ns) {
  if (now_ns < next_loss_ns_) return static_cast<void>(++losses_);
  next_loss_ns_ = now_ns + kSecondNs;
  log::warn("{}: {}{}", label_, why, log::more_times(static_cast<std::uint64_t>(losses_)));
  losses_ = 0;
}

}  // namespace iqd::python
