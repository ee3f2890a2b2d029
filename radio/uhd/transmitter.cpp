// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/uhd/transmitter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace iqd::radio::usrp {
namespace {

using namespace std::chrono_literals;

constexpr double kTimeoutSeconds = 0.1;
constexpr std::int64_t kPatienceNs = 1'000'000'000;
/// Without samples for so long it is switched off: whoever makes them does not any more.
constexpr std::int64_t kSilentNs = 500'000'000;
/// A device that takes nothing for so long is gone.
constexpr std::int64_t kGoneNs = 5'000'000'000;

}  // namespace

Transmitter::Transmitter(const Settings& settings, const Timing& timing, Element element)
    : front_end_(settings, kTransmit),
      name_(front_end_.name()),
      timing_(timing),
      sample_bytes_(size_of(element)),
      stream_(front_end_.device().step(
          "set up the stream", [&] { return front_end_.usrp().get_tx_stream(front_end_.stream_args(element)); })),
      buffers_(front_end_.channels()) {
  if (timing.timed && front_end_.device().time() != TimeSource::radio)
    throw SetupError(
        fmt::format("{}: `timed: true` needs a radio with a clock that can be set; leave it out to "
                    "transmit samples as they come",
                    name()));
  guard_ = std::thread([this] { guard(); });
}

Transmitter::~Transmitter() {
  ends_ = true;
  guard_.join();
  if (!gone_.empty()) return;
  try {
    front_end_.switch_off();
  } catch (...) {
    log::debug("{}: switching it off failed: {}", name(), text_of(std::current_exception()));
  }
}

bool Transmitter::send(const Message& message) {
  const std::unique_lock lock(mutex_, std::chrono::nanoseconds(kPatienceNs));
  if (!lock) return false;  // the guard waits for a device that does not answer
  if (gone_.empty() && front_end_.device().is_given_up()) give_up("it is gone");
  if (!gone_.empty()) throw SetupError(gone_);
  if (!on_) front_end_.switch_on();
  on_ = true;
  begin(message);
  const bool taken = write(message);
  uhd::async_metadata_t event;  // the guard may wait long for its turn
  while (stream_->recv_async_msg(event, 0.0)) take_event(event);
  sent_ns_ = steady_ns();
  if (taken)
    refused_ns_ = 0;
  else if (refused_ns_ == 0)
    refused_ns_ = sent_ns_;
  else if (sent_ns_ - refused_ns_ > kGoneNs)
    give_up("it takes no samples any more");
  if (!gone_.empty()) throw SetupError(gone_);
  return taken;
}

void Transmitter::give_up(const std::string& why) {
  if (!gone_.empty()) return;
  front_end_.device().give_up();
  gone_ = fmt::format("{}: {}", name(), why);
}

/// Several channels begin at one time even where the samples have none.
void Transmitter::begin(const Message& message) {
  const double sample_ns = 1e9 / front_end_.rate_hz();
  const bool jumps = static_cast<double>(std::abs(timing_.leaves_ns(message) - next_ns_)) > sample_ns / 2;
  const bool alone = front_end_.settings().bursts == Bursts::message;
  if (in_burst_ && (alone || (timing_.timed && jumps))) end_burst();
  if (in_burst_) return;
  metadata_.start_of_burst = true;
  metadata_.end_of_burst = alone;
  metadata_.has_time_spec = timing_.timed || buffers_.size() > 1;
  if (timing_.timed)
    metadata_.time_spec = time_of(timing_.leaves_ns(message));
  else if (metadata_.has_time_spec)
    metadata_.time_spec = front_end_.usrp().get_time_now() + uhd::time_spec_t(kTimeoutSeconds);
  in_burst_ = true;
}

bool Transmitter::write(const Message& message) {
  const std::size_t row = message.payload.size() / buffers_.size();
  for (std::size_t c = 0; c < buffers_.size(); ++c) buffers_[c] = message.payload.data() + c * row;
  std::size_t left = row / sample_bytes_;
  next_ns_ = timing_.leaves_ns(message) + std::llround(static_cast<double>(left) / front_end_.rate_hz() * 1e9);
  std::int64_t deadline = steady_ns() + kPatienceNs;
  while (left > 0 && !interrupted_) {
    const std::size_t taken = stream_->send(buffers_, left, metadata_, kTimeoutSeconds);
    if (taken == 0 && steady_ns() > deadline) return false;
    if (taken == 0) continue;
    for (const void*& buffer : buffers_) buffer = static_cast<const std::byte*>(buffer) + taken * sample_bytes_;
    left -= taken;
    metadata_.start_of_burst = metadata_.has_time_spec = false;
    deadline = steady_ns() + kPatienceNs;
  }
  if (left == 0 && metadata_.end_of_burst) burst_ended();
  return left == 0;
}

void Transmitter::end_burst() {
  metadata_.start_of_burst = metadata_.has_time_spec = false;
  metadata_.end_of_burst = true;
  stream_->send(buffers_, 0, metadata_, kTimeoutSeconds);
  burst_ended();
}

void Transmitter::burst_ended() {
  in_burst_ = false;
  ++unacknowledged_;
  const std::int64_t ahead = timing_.timed ? std::max<std::int64_t>(0, next_ns_ - wall_ns()) : 0;
  on_air_until_ns_ = steady_ns() + ahead + kPatienceNs;
}

bool Transmitter::is_on_air() const noexcept {
  return in_burst_ || (unacknowledged_ > 0 && steady_ns() < on_air_until_ns_);
}

void Transmitter::guard() {
  bool gone = false;
  while (!ends_ && !gone) {
    std::exception_ptr thrown;
    uhd::async_metadata_t event;
    bool some = false;
    try {
      some = stream_->recv_async_msg(event, kTimeoutSeconds);
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    try {
      if (thrown) std::rethrow_exception(thrown);
      if (some) take_event(event);
      look_after();
    } catch (...) {
      give_up(text_of(std::current_exception()));
    }
    gone = !gone_.empty();
  }
  if (gone) let_go();
}

/// Who shares the device can only open it again when it is closed here, and nobody may send for long.
void Transmitter::let_go() {
  uhd::tx_streamer::sptr stream;
  std::shared_ptr<Device> device;
  {
    const std::lock_guard lock(mutex_);
    stream = std::move(stream_);
    device = front_end_.release();
  }
  stream.reset();
}

void Transmitter::look_after() {
  if (front_end_.device().is_given_up()) return give_up("it is gone");
  if (!on_ || steady_ns() - sent_ns_ < kSilentNs) return;
  if (in_burst_) end_burst();
  if (is_on_air()) return;
  front_end_.switch_off();
  on_ = false;
}

void Transmitter::take_event(const uhd::async_metadata_t& event) {
  using Code = uhd::async_metadata_t;
  switch (event.event_code) {
    case Code::EVENT_CODE_BURST_ACK: --unacknowledged_; break;
    case Code::EVENT_CODE_UNDERFLOW:
    case Code::EVENT_CODE_UNDERFLOW_IN_PACKET: note(underflows_, "ran out of samples"); break;
    case Code::EVENT_CODE_TIME_ERROR: note(late_, "got samples too late"); break;
    case Code::EVENT_CODE_SEQ_ERROR:
    case Code::EVENT_CODE_SEQ_ERROR_IN_BURST: note(sequence_errors_, "missed packets"); break;
    default: break;
  }
}

void Transmitter::note(std::atomic<std::uint64_t>& count, std::string_view what) {
  if (timing_.timed && in_burst_) end_burst();  // what follows is to leave at its own time again
  const std::uint64_t times = ++count;
  std::uint64_t suppressed = 0;
  if (limit_.allow(suppressed)) log::warn("{}: the transmitter {}, {} times so far", name(), what, times);
}

void Transmitter::finish() {
  const std::int64_t deadline = steady_ns() + 2 * kPatienceNs;
  try {
    std::unique_lock lock(mutex_, std::chrono::nanoseconds(kPatienceNs));
    if (!lock || !gone_.empty()) return;
    if (in_burst_) end_burst();
    while (is_on_air() && !interrupted_ && steady_ns() < deadline) {
      lock.unlock();
      std::this_thread::sleep_for(1ms);
      lock.lock();
    }
  } catch (...) {
    log::warn("{}: ending the transmission failed: {}", name(), text_of(std::current_exception()));
  }
}

}  // namespace iqd::radio::usrp
