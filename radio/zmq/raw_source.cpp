// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/zmq/raw_source.hpp"

#include <algorithm>
#include <cerrno>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace iqd::radio::zmq {
namespace {

constexpr std::int64_t kTimeoutNs = 100'000'000;

}  // namespace

RawSource::RawSource(const SourceSettings& settings) : settings_(settings) {
  open();
}

void RawSource::open() {
  lines_.clear();
  for (std::size_t i = 0; i < settings_.endpoints.size(); ++i) lines_.emplace_back(settings_, settings_.endpoints[i]);
}

Received RawSource::receive(std::span<std::byte* const> into, std::int64_t most) {
  Received got;
  if (!fill()) {
    if (failed_) got.event = Received::Event::failed;
    return got;
  }
  if (std::exchange(broken_, false)) {
    got.event = Received::Event::overflow;
    return got;
  }
  got.event = Received::Event::samples;
  got.samples = most;
  for (const RawLine& line : lines_) got.samples = std::min(got.samples, line.left());
  got.lost = std::exchange(lost_, 0);
  if (const std::int64_t* time_ns = lines_.front().time_ns()) {
    got.has_time = true;
    got.time_ns = *time_ns;
  }
  for (std::size_t c = 0; c < into.size(); ++c) lines_[c].take(into[c], got.samples);
  return got;
}

/// Waits until each channel has a sample.
bool RawSource::fill() {
  const std::int64_t until = steady_ns() + kTimeoutNs;
  do {
    if (fetch_missing()) return true;
  } while (!failed_ && wait(until));
  return false;
}

bool RawSource::fetch_missing() {
  if (lines_.empty() && !open_again()) return false;
  bool all = true;
  for (RawLine& line : lines_) {
    if (line.left() > 0) continue;
    const RawLine::Came came = line.fetch();
    if (came == RawLine::Came::gone) {
      take_leave(line);
      return false;
    }
    all = took(line, came) && all;
  }
  return all;
}

bool RawSource::took(RawLine& line, RawLine::Came came) {
  switch (came) {
    case RawLine::Came::samples: {
      const std::int64_t skipped = line.skipped();
      const bool known = skipped >= 0 && static_cast<double>(skipped) <= kMostMissingS * settings_.rate_hz;
      lost_ += known ? skipped : 0;
      broken_ = broken_ || !known;
      return true;
    }
    case RawLine::Came::refused: {
      ++refused_;
      // With GNU Radio's count, the exact number of missing samples is known.
      broken_ = broken_ || settings_.framing != Framing::gnuradio_tags;
      std::uint64_t suppressed = 0;
      if (limit_.allow(suppressed))
        log::error("zmq source {}: ignored a message: {} ({} so far)", line.address(), line.why(), refused_);
      return false;
    }
    case RawLine::Came::failed:
      log::error("zmq source {}: {}", line.address(), line.why());
      failed_ = true;
      return false;
    default: return false;
  }
}

/// Handles a peer that hung up. It will not answer open requests. Channels that were interrupted within a message are
/// no longer in step.
void RawSource::take_leave(const RawLine& line) {
  broken_ = true;
  std::uint64_t suppressed = 0;
  if (limit_.allow(suppressed)) log::warn("zmq source {}: the peer hung up", line.address());
  if (settings_.kind == SourceKind::req || lines_.size() > 1) open_again();
}

/// May fail while descriptors or memory are short.
bool RawSource::open_again() {
  try {
    open();
    return true;
  } catch (const SetupError& e) {
    lines_.clear();
    std::uint64_t suppressed = 0;
    if (limit_.allow(suppressed)) log::warn("zmq source: cannot reopen yet: {}", e.what());
    return false;
  }
}

/// Waits for an event on a channel that has no sample. Returns false when the time is over.
bool RawSource::wait(std::int64_t until_ns) {
  const std::int64_t left_ms = (until_ns - steady_ns()) / 1'000'000;
  if (left_ms <= 0) return false;
  polled_.clear();
  bool rests = false;
  for (const RawLine& line : lines_) {
    if (line.left() > 0) continue;
    rests = rests || line.rests();
    if (!line.rests()) polled_.push_back(line.poll_item());
  }
  ::zmq_poll(polled_.data(), static_cast<int>(polled_.size()), rests ? 1 : left_ms);
  return true;
}

}  // namespace iqd::radio::zmq
