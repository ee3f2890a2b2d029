// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/recall/recall_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>

#include "base/clock.hpp"
#include "base/integer.hpp"
#include "base/log.hpp"
#include "radio/plausible.hpp"

namespace iqd::radio::recall {
namespace {

constexpr std::int64_t kMostWaitNs = 10'000'000;
constexpr std::int64_t kLeastWaitNs = 500'000;

std::int64_t ns_of(double seconds) {
  return std::llround(seconds * 1e9);
}

void wait(std::int64_t ns) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(std::clamp(ns, kLeastWaitNs, kMostWaitNs)));
}

std::string kind(Element element, std::int64_t channels, double rate_hz) {
  return fmt::format("{} of {} channel(s) at {} samples a second", name_of(element), channels, rate_hz);
}

}  // namespace

StreamInfo SourceSettings::info() const {
  StreamInfo info;
  info.element = element();
  info.channels = static_cast<int>(
      channels.empty() ? std::ssize(names) : std::accumulate(channels.begin(), channels.end(), std::int64_t{}));
  info.rate_hz = rate_hz;
  info.can_wait = true;
  info.from_peer = true;
  return info;
}

RecallSource::RecallSource(const SourceSettings& settings)
    : settings_(settings),
      patience_ns_(ns_of(settings.patience_s)),
      length_ns_(ns_of(static_cast<double>(settings.samples) / settings.rate_hz)),
      opened_ns_(steady_ns()) {
  for (std::size_t i = 0; i < settings.names.size(); ++i)
    rows_.push_back({Memory::named(settings.names[i]), settings.channels.empty() ? 1 : settings.channels[i]});
  capture_.resize(row_bytes() * static_cast<std::size_t>(info().channels));
}

std::size_t RecallSource::row_bytes() const {
  return static_cast<std::size_t>(settings_.samples) * size_of(settings_.element());
}

Received RecallSource::receive(std::span<std::byte* const> into, std::int64_t most) {
  if (rest_ > 0) return give(into, most);
  const std::int64_t now = steady_ns();
  if (!due(now)) {
    wait(settings_.every_s ? taken_ns_ + ns_of(*settings_.every_s) - now : kMostWaitNs);
    return {.ends = true};
  }
  if (waits_since_ns_ == 0) waits_since_ns_ = now;
  if (take(now)) return give(into, most);
  wait(length_ns_ / 4);
  // Until its samples can be there, a capture is not due.
  return {.ends = now - waits_since_ns_ <= patience_ns_ + length_ns_};
}

bool RecallSource::due(std::int64_t now) const {
  if (asked_) return true;
  return settings_.every_s && (!some_ || now - taken_ns_ >= ns_of(*settings_.every_s));
}

bool RecallSource::take(std::int64_t now) {
  const bool chosen = choose(now);
  for (Row& row : rows_)
    if (chosen || row.trouble == Trouble::silent || row.trouble == Trouble::unfit) tell(row);
  if (!chosen) return false;
  copy();
  rest_ = settings_.samples;
  taken_ns_ = now;
  waits_since_ns_ = 0;
  some_ = true;
  asked_ = false;
  return true;
}

/// Finds the stretch of the next capture. Returns false if there is none.
bool RecallSource::choose(std::int64_t now) {
  std::optional<std::int64_t> end;
  bool unknown = false;
  for (Row& row : rows_) {
    look_at(row, now);
    if (row.trouble != Trouble::none) continue;
    unknown = unknown || !row.look.end_ns;
    if (row.look.end_ns) end = std::min(end.value_or(*row.look.end_ns), *row.look.end_ns);
  }
  if (unknown || !end) return false;
  const std::int64_t start = *end - length_ns_;
  // A start before the previous capture means that the clock was set back.
  if (some_ && start >= start_ns_ && start < start_ns_ + length_ns_) return false;
  bool whole = true;
  for (Row& row : rows_) {
    if (row.trouble != Trouble::none) continue;
    row.held = row.memory->held(*row.look.kept, start, settings_.samples);
    if (row.held < settings_.samples) row.trouble = Trouble::gaps;
    whole = whole && row.trouble == Trouble::none;
  }
  if (!whole && now - waits_since_ns_ < patience_ns_ + length_ns_) return false;
  start_ns_ = start;
  return true;
}

void RecallSource::look_at(Row& row, std::int64_t now) const {
  row.look = row.memory->look();
  row.trouble = Trouble::none;
  if (row.look.kept && !fits(row))
    row.trouble = Trouble::unfit;
  else if (now - std::max(row.look.touched_ns, opened_ns_) > patience_ns_)
    row.trouble = Trouble::silent;
}

bool RecallSource::fits(const Row& row) const {
  const Kept& kept = *row.look.kept;
  return kept.element == settings_.element() && kept.channels == row.channels &&
         same_rate(kept.rate_hz, settings_.rate_hz) && kept.samples >= settings_.samples;
}

/// A silent memory may still have a part of the stretch.
void RecallSource::copy() {
  std::byte* at = capture_.data();
  std::vector<std::byte*> into;
  for (Row& row : rows_) {
    into.clear();
    for (std::int64_t c = 0; c < row.channels; ++c, at += row_bytes()) into.push_back(at);
    if (row.trouble != Trouble::none)
      std::memset(into.front(), 0, row_bytes() * static_cast<std::size_t>(row.channels));
    if (row.look.kept && row.trouble != Trouble::unfit)
      row.memory->copy(*row.look.kept, start_ns_, settings_.samples, into);
  }
}

/// Logs each change once.
void RecallSource::tell(Row& row) const {
  if (std::exchange(row.told, row.trouble) == row.trouble) return;
  const std::string& name = row.memory->name();
  switch (row.trouble) {
    case Trouble::none: log::info("recall: '{}' is complete again", name); break;
    case Trouble::silent:
      log::warn(
          "recall: nothing comes to '{}', so captures have zeros for it; is its pipeline running, with a sink "
          "`recall: {{name: {}, …}}`?",
          name, name);
      break;
    case Trouble::unfit:
      log::warn("recall: captures have zeros for '{}': it keeps {} samples, {}; a capture needs {} samples, {}", name,
                row.look.kept->samples, kind(row.look.kept->element, row.look.kept->channels, row.look.kept->rate_hz),
                settings_.samples, kind(settings_.element(), row.channels, settings_.rate_hz));
      break;
    case Trouble::gaps:
      log::warn(
          "recall: '{}' holds {} samples of a capture of {}, the others are zeros: it has gaps, another clock, or its "
          "sink must `keep` longer",
          name, row.held, settings_.samples);
      break;
  }
}

Received RecallSource::give(std::span<std::byte* const> into, std::int64_t most) {
  const std::size_t size = size_of(settings_.element());
  const std::int64_t done = settings_.samples - rest_;
  const std::int64_t n = std::min(most, rest_);
  for (std::size_t c = 0; c < into.size(); ++c)
    std::memcpy(into[c], capture_.data() + c * row_bytes() + static_cast<std::size_t>(done) * size,
                static_cast<std::size_t>(n) * size);
  rest_ -= n;
  Received got;
  got.event = Received::Event::samples;
  got.samples = n;
  got.has_time = done == 0;
  got.time_ns = start_ns_;
  got.ends = rest_ == 0;
  return got;
}

std::optional<std::int64_t> RecallSource::retune(const SourceOptions& options) {
  const SourceSettings& next = same_kind<RecallSourceOptions>(options).settings();
  asked_ = asked_ || next.again != settings_.again;
  settings_.again = next.again;
  settings_.every_s = next.every_s;
  return {};
}

void RecallSourceOptions::fields(FieldVisitor& v) {
  SourceSettings& s = settings_;
  v.field(
      "names", s.names,
      {.help = "names of the sinks `recall` to read, in the order of the channels", .required = true, .shapes = true});
  v.field("channels", s.channels,
          {.help = "number of channels of each; default: one", .low = 1, .high = 1024, .shapes = true});
  v.field("rate", s.rate_hz,
          {.help = "their common rate, in samples a second",
           .unit = Unit::rate,
           .low = 1,
           .required = true,
           .bare_low = kSlowestStream});
  v.field("format", s.format, {.help = "their common sample format", .shapes = true});
  v.field("samples", s.samples,
          {.help = "length of a capture; best the pipeline's `block`, or a divisor of it", .low = 1, .high = 1 << 24});
  v.field("every", s.every_s,
          {.help = "time between captures; 0: as they come, without overlap; none: only when `again` changes",
           .unit = Unit::seconds,
           .low = 0,
           .live = true});
  v.field("again", s.again, {.help = "any number: each change takes a capture", .live = true});
  v.field("patience", s.patience_s,
          {.help = "how long to wait for missing samples before they become zeros",
           .unit = Unit::seconds,
           .low = 0.01,
           .high = 3600});
}

StreamInfo RecallSourceOptions::describe(const Section& section) const {
  const SourceSettings& s = settings_;
  if (s.names.empty()) section.problem("names", "is empty; name at least one sink `recall`");
  if (std::ranges::any_of(s.names, [](const std::string& name) { return name.empty(); }))
    section.problem("names", "one of them is empty");
  if (!s.channels.empty() && s.channels.size() != s.names.size())
    section.problem("channels", fmt::format("has {} numbers for {} names; give one number per name, or none",
                                            s.channels.size(), s.names.size()));
  return s.info();
}

Needs RecallSourceOptions::needs(const StreamInfo& stream) const {
  const std::size_t row = bounded_bytes(settings_.samples, size_of(stream.element));
  return {{.what = "capture of recall", .bytes = bounded_bytes(stream.channels, row)}};
}

std::unique_ptr<Source> RecallSourceOptions::open() const {
  return std::make_unique<RecallSource>(settings_);
}

}  // namespace iqd::radio::recall
