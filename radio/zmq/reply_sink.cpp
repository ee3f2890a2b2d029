// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <zmq.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "radio/zmq/frame.hpp"
#include "radio/zmq/raw_sink.hpp"
#include "radio/zmq/sending.hpp"

namespace iqd::radio::zmq {
namespace {

constexpr double kMostReplySeconds = 1e-3;  // of samples per answer: srsRAN's receiver has room for 10 ms at 61.44 MS/s
constexpr double kMostSilenceS = 10;

/// How many samples are requested; four bytes are a number, anything else means all available.
std::int64_t asked_for(const Frame& question) {
  std::uint32_t count = 0;
  if (question.size() == sizeof count) std::memcpy(&count, question.data(), sizeof count);
  return count > 0 ? count : INT64_MAX;
}

}  // namespace

ReplySink::ReplySink(const SinkSettings& settings, const PortFormat& format)
    : settings_(settings),
      size_(size_of(format.element)),
      rate_hz_(format.item_rate_hz),
      source_rate_hz_(format.rate_hz),
      most_(std::max<std::int64_t>(std::llround(rate_hz_ * kMostReplySeconds), 1)),
      zeros_(static_cast<std::size_t>(most_) * size_) {
  for (std::size_t i = 0; i < settings.endpoints.size(); ++i) {
    Line& line = lines_.emplace_back(settings.endpoints[i]);
    line.left = std::llround(settings.delay_s * rate_hz_);
    line.socket.notice_lost_hosts();
    line.socket.set(ZMQ_RCVHWM, 1);
    line.socket.open(kAnswerBytes);
  }
  if (settings.delay_s > 0) early_ = std::thread([this] { serve_delay(); });
}

void ReplySink::serve_delay() noexcept {
  try {
    serve(nullptr, 0, HUGE_VAL);
  } catch (const std::exception& e) {
    log::error("{}", e.what());  // the first message meets the same error
  }
}

/// Takes over the sockets from the thread that sends the delay, and what is left of it.
void ReplySink::take_over() {
  if (!early_.joinable()) return;
  first_is_here_ = true;
  early_.join();
  first_is_here_ = false;
  for (Line& line : lines_) line.ahead = -line.left;
}

bool ReplySink::send(const Message& m) {
  take_over();
  const double lost = began_ && source_rate_hz_ > 0 ? static_cast<double>(m.gap) * rate_hz_ / source_rate_hz_ : 0;
  began_ = true;
  for (Line& line : lines_) {
    const double zeros = std::clamp(lost - static_cast<double>(line.ahead), 0.0, kMostSilenceS * rate_hz_);
    line.zeros = std::llround(zeros);
    line.left = line.zeros + m.extent;
  }
  const bool all = serve(m.payload.data(), m.extent, settings_.wait_s.value_or(HUGE_VAL));
  // All of a message that was not served whole counts as the next gap; the peer already has some of it.
  for (Line& line : lines_) line.ahead = all ? 0 : line.ahead + line.zeros + m.extent - line.left;
  return all;
}

/// Sends what is left on each channel: zeros, then `count` samples, stored channel by channel. Returns false when
/// interrupted, or if no request came in time.
bool ReplySink::serve(const std::byte* samples, std::int64_t count, double patience_s) {
  while (wait_for_question(patience_s)) {
    if (polled_.empty()) return true;
    std::size_t i = 0;
    for (std::size_t c = 0; c < lines_.size(); ++c) {
      const std::byte* from = samples + c * static_cast<std::size_t>(count) * size_;
      if (lines_[c].left > 0 && polled_[i++].revents != 0) answer(lines_[c], from, count);
    }
  }
  return false;
}

/// On any channel that has something left; returns true if none has.
bool ReplySink::wait_for_question(double patience_s) {
  const std::int64_t begin = steady_ns();
  for (;;) {
    keep_in_step();
    polled_.clear();
    for (const Line& line : lines_)
      if (line.left > 0) polled_.push_back({line.socket.handle(), 0, ZMQ_POLLIN, 0});
    if (polled_.empty()) return true;
    if (::zmq_poll(polled_.data(), static_cast<int>(polled_.size()), patient_ ? kPollMs : 0) > 0) {
      patient_ = true;
      return true;
    }
    patient_ = patient_ && static_cast<double>(steady_ns() - begin) < patience_s * 1e9;
    if (!patient_ || interrupted_ || first_is_here_) return false;
  }
}

/// A request must be taken and answered in one go: until then the socket takes no other. `samples` belong to the
/// channel.
void ReplySink::answer(Line& line, const std::byte* samples, std::int64_t count) {
  Frame question;
  if (!question.receive(line.socket.handle(), ZMQ_DONTWAIT)) return;
  const std::int64_t at = count - line.left;  // negative: within the zeros
  const std::int64_t there = at < 0 ? -at : line.left;
  const std::int64_t n = std::min({question.more() ? INT64_MAX : asked_for(question), most_, there});
  while (question.more() && question.receive(line.socket.handle(), ZMQ_DONTWAIT)) {
  }
  const std::byte* from = at < 0 ? zeros_.data() : samples + static_cast<std::size_t>(at) * size_;
  if (::zmq_send(line.socket.handle(), from, static_cast<std::size_t>(n) * size_, ZMQ_DONTWAIT) < 0)
    throw std::runtime_error("zmq sink " + settings_.endpoints[0].address() + ": " + last_error());
  line.left -= n;
}

/// The next peer starts on all channels at the position of the channel that was furthest.
void ReplySink::keep_in_step() {
  bool hung_up = false;
  std::int64_t least = INT64_MAX;
  for (Line& line : lines_) {
    const net::Door* door = line.socket.door();
    const std::uint64_t departures = door ? door->departures() : 0;
    hung_up = hung_up || std::exchange(line.departures, departures) != departures;
    least = std::min(least, line.left);
  }
  for (Line& line : lines_)
    if (hung_up) line.left = least;
}

void ReplySink::finish() {
  take_over();
  for (Line& line : lines_) line.socket.set(ZMQ_LINGER, kLingerMs);
}

}  // namespace iqd::radio::zmq
