// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/uhd/transmitter.hpp"

#include <fmt/format.h>

#include <chrono>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

namespace iqd::radio::usrp {
namespace {

using namespace std::chrono_literals;

constexpr double kEventWaitSeconds = 0.1;
/// Several channels without times start so much later.
constexpr double kStartDelaySeconds = 0.1;
constexpr std::chrono::nanoseconds kPatience(TransmitWatch::kPatienceNs);

}  // namespace

Transmitter::Transmitter(const Settings& settings, const Timing& timing, Element element)
    : front_end_(settings, kTransmit),
      name_(front_end_.name()),
      timing_(timing),
      stream_(
          front_end_.device().step("set up the stream",
                                   [&] { return front_end_.usrp().get_tx_stream(front_end_.stream_args(element)); }),
          SampleRows(front_end_.channels(), element), front_end_.rate_hz(), timing, settings.bursts),
      counters_(name_) {
  timing.require_clock(name(), front_end_.device().time());
  guard_ = std::jthread([this](const std::stop_token& stopped) { guard(stopped); });
}

Transmitter::~Transmitter() {
  guard_.request_stop();
  guard_.join();
  if (!gone_.empty()) return;
  try {
    front_end_.switch_off();
  } catch (...) {
    log::debug("{}: switching it off failed: {}", name(), text_of(std::current_exception()));
  }
}

bool Transmitter::send(const Message& message) {
  const std::unique_lock lock(mutex_, kPatience);
  if (!lock) return false;  // the guard waits for a device that does not answer
  if (gone_.empty() && front_end_.device().is_given_up()) give_up("the device is gone");
  if (!gone_.empty()) throw SetupError(gone_);
  if (!on_) front_end_.switch_on();
  on_ = true;
  stream_.end_before(message);
  if (!stream_.in_burst()) stream_.begin(start_of(message));
  const bool taken = stream_.write(message, interrupted_);
  uhd::async_metadata_t event;  // the guard may wait long for the mutex
  while (stream_.await_event(event, 0.0)) take_event(event);
  const std::int64_t now = steady_ns();
  watch_.came(now);
  if (taken)
    watch_.taken();
  else if (watch_.refused(now))
    give_up("the device no longer takes samples");
  if (!gone_.empty()) throw SetupError(gone_);
  return taken;
}

/// Several channels need a common start time, even if the samples have none.
std::optional<uhd::time_spec_t> Transmitter::start_of(const Message& message) const {
  if (timing_.timed) return time_of(timing_.leaves_ns(message));
  if (front_end_.channels() == 1) return std::nullopt;
  return front_end_.usrp().get_time_now() + uhd::time_spec_t(kStartDelaySeconds);
}

void Transmitter::give_up(const std::string& why) {
  if (!gone_.empty()) return;
  front_end_.device().give_up();
  gone_ = fmt::format("{}: {}", name(), why);
}

void Transmitter::guard(const std::stop_token& stopped) {
  bool gone = false;
  while (!stopped.stop_requested() && !gone) {
    std::exception_ptr thrown;
    uhd::async_metadata_t event;
    bool some = false;
    try {
      some = stream_.await_event(event, kEventWaitSeconds);
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

/// Other users of the device can only open it again after it is closed here, and the next send() may be far off.
void Transmitter::let_go() {
  uhd::tx_streamer::sptr stream;
  std::shared_ptr<Device> device;
  {
    const std::lock_guard lock(mutex_);
    stream = stream_.release();
    device = front_end_.release();
  }
  stream.reset();
}

void Transmitter::look_after() {
  if (front_end_.device().is_given_up()) return give_up("the device is gone");
  if (!on_ || !watch_.is_idle(steady_ns())) return;
  if (stream_.in_burst()) stream_.end();
  if (stream_.is_on_air()) return;
  front_end_.switch_off();
  on_ = false;
}

void Transmitter::take_event(const uhd::async_metadata_t& event) {
  using Code = uhd::async_metadata_t;
  void (TransmitCounters::*count)() = nullptr;
  switch (event.event_code) {
    case Code::EVENT_CODE_BURST_ACK: return stream_.acknowledged();
    case Code::EVENT_CODE_UNDERFLOW:
    case Code::EVENT_CODE_UNDERFLOW_IN_PACKET: count = &TransmitCounters::underflow; break;
    case Code::EVENT_CODE_TIME_ERROR: count = &TransmitCounters::late; break;
    case Code::EVENT_CODE_SEQ_ERROR:
    case Code::EVENT_CODE_SEQ_ERROR_IN_BURST: count = &TransmitCounters::sequence_error; break;
    default: return;
  }
  if (timing_.timed && stream_.in_burst()) stream_.end();  // so that the next samples leave at their own time
  (counters_.*count)();
}

void Transmitter::finish() {
  const std::int64_t deadline = steady_ns() + 2 * TransmitWatch::kPatienceNs;
  try {
    std::unique_lock lock(mutex_, kPatience);
    if (!lock || !gone_.empty()) return;
    if (stream_.in_burst()) stream_.end();
    while (stream_.is_on_air() && !interrupted_ && steady_ns() < deadline) {
      lock.unlock();
      std::this_thread::sleep_for(1ms);
      lock.lock();
    }
  } catch (...) {
    log::warn("{}: cannot end the transmission: {}", name(), text_of(std::current_exception()));
  }
}

}  // namespace iqd::radio::usrp
