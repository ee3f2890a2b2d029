// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/uhd/uhd_sink.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "radio/uhd/uhd_options.hpp"

namespace iqd::radio::usrp {
namespace {

constexpr double kTimeoutSeconds = 0.1;
constexpr std::int64_t kPatienceNs = 1'000'000'000;

}  // namespace

UhdSink::UhdSink(const Settings& settings, const Timing& timing, Element element)
    : front_end_(settings, kTransmit),
      timing_(timing),
      sample_bytes_(size_of(element)),
      stream_(front_end_.device().step(
          "set up the stream",
          [&] { return front_end_.usrp().get_tx_stream(front_end_.stream_args(settings, element)); })),
      buffers_(front_end_.channels()) {
  if (timing.timed && front_end_.device().time() != TimeSource::radio)
    throw SetupError(
        fmt::format("{}: `timed: true` needs a radio with a clock that can be set; leave it out to "
                    "transmit samples as they come",
                    front_end_.name()));
}

UhdSink::~UhdSink() {
  const std::string name = front_end_.name();
  close_in_time(name, [stream = std::move(stream_), device = front_end_.release()]() mutable {
    stream.reset();
    device.reset();
  });
}

bool UhdSink::send(const Message& message) {
  const std::size_t row = message.payload.size() / buffers_.size();
  for (std::size_t c = 0; c < buffers_.size(); ++c) buffers_[c] = message.payload.data() + c * row;
  read_events();
  begin(message);
  const std::size_t samples = row / sample_bytes_;
  next_ns_ = timing_.leaves_ns(message) + std::llround(static_cast<double>(samples) / front_end_.rate_hz() * 1e9);
  return write(samples);
}

/// Several channels begin at one time even where the samples have none.
void UhdSink::begin(const Message& message) {
  const double sample_ns = 1e9 / front_end_.rate_hz();
  const bool jumps = static_cast<double>(std::abs(timing_.leaves_ns(message) - next_ns_)) > sample_ns / 2;
  if (in_burst_ && timing_.timed && jumps) end_burst();
  if (in_burst_) return;
  metadata_.start_of_burst = true;
  metadata_.end_of_burst = false;
  metadata_.has_time_spec = timing_.timed || buffers_.size() > 1;
  if (timing_.timed)
    metadata_.time_spec = time_of(timing_.leaves_ns(message));
  else if (metadata_.has_time_spec)
    metadata_.time_spec = front_end_.usrp().get_time_now() + uhd::time_spec_t(kTimeoutSeconds);
  in_burst_ = true;
}

bool UhdSink::write(std::size_t left) {
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
  return left == 0;
}

void UhdSink::end_burst() {
  metadata_.start_of_burst = metadata_.has_time_spec = false;
  metadata_.end_of_burst = true;
  acknowledged_ = false;
  stream_->send(buffers_, 0, metadata_, kTimeoutSeconds);
  in_burst_ = false;
}

/// Takes what the device has to tell just now.
void UhdSink::read_events() {
  constexpr int kAtOnce = 16;
  uhd::async_metadata_t event;
  for (int i = 0; i < kAtOnce && stream_->recv_async_msg(event, 0.0); ++i) take_event(event);
}

void UhdSink::take_event(const uhd::async_metadata_t& event) {
  using Code = uhd::async_metadata_t;
  switch (event.event_code) {
    case Code::EVENT_CODE_BURST_ACK: acknowledged_ = true; break;
    case Code::EVENT_CODE_UNDERFLOW:
    case Code::EVENT_CODE_UNDERFLOW_IN_PACKET: note(underflows_, "ran out of samples"); break;
    case Code::EVENT_CODE_TIME_ERROR: note(late_, "got samples too late"); break;
    case Code::EVENT_CODE_SEQ_ERROR:
    case Code::EVENT_CODE_SEQ_ERROR_IN_BURST: note(sequence_errors_, "missed packets"); break;
    default: break;
  }
}

void UhdSink::note(std::atomic<std::uint64_t>& count, std::string_view what) {
  if (timing_.timed && in_burst_) end_burst();  // what follows is to leave at its own time again
  const std::uint64_t times = ++count;
  std::uint64_t suppressed = 0;
  if (limit_.allow(suppressed)) log::warn("{}: the transmitter {}, {} times so far", front_end_.name(), what, times);
}

void UhdSink::finish() {
  try {
    if (!in_burst_) return;
    end_burst();
    const std::int64_t deadline = steady_ns() + kPatienceNs;
    while (!acknowledged_ && !interrupted_ && steady_ns() < deadline) {
      read_events();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } catch (...) {
    log::warn("{}: ending the transmission failed: {}", front_end_.name(), text_of(std::current_exception()));
  }
}

std::unique_ptr<Sink> open_sink(const Settings& settings, const Timing& timing, Element element) {
  return std::make_unique<UhdSink>(settings, timing, element);
}

}  // namespace iqd::radio::usrp
