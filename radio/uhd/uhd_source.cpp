// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/uhd/uhd_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/integer.hpp"
#include "radio/uhd/uhd_options.hpp"

namespace iqd::radio::usrp {
namespace {

constexpr double kTimeoutSeconds = 0.1;
/// From the command to the first sample of several channels, which start at the same time.
constexpr double kStartSeconds = 0.2;
/// A network delays a packet by milliseconds; setting a clock moves it by more.
constexpr std::int64_t kMostStaleNs = 100'000'000;
/// A source that is closed after so much silence has failed.
constexpr std::int64_t kSilentNs = 3'000'000'000;

using Event = Received::Event;
using Code = uhd::rx_metadata_t;

Received event(Event which) {
  Received got;
  got.event = which;
  return got;
}

}  // namespace

UhdSource::UhdSource(const Settings& settings, Element element)
    : front_end_(std::make_shared<FrontEnd>(settings, kReceive)),
      element_(element),
      // recv() waits for all requested samples, and for each packet up to its time-out.
      most_(std::max<std::int64_t>(1, static_cast<std::int64_t>(front_end_->rate_hz() * kTimeoutSeconds))),
      stream_(front_end_->device().step(
          "set up the stream", [&] { return front_end_->usrp().get_rx_stream(front_end_->stream_args(element)); })),
      buffers_(front_end_->channels()) {
  if (settings.start == Start::second && front_end_->device().time() != TimeSource::radio)
    throw SetupError(fmt::format("{}: `start: second` needs a radio with a clock that can be set", front_end_->name()));
}

UhdSource::~UhdSource() {
  const bool silent = last_ns_ != 0 && steady_ns() - last_ns_ > kSilentNs;
  if (failed_ || silent) front_end_->device().give_up();
  front_end_->leave();
  const std::string name = front_end_->name();
  close_in_time(name, [stream = std::move(stream_), front_end = std::move(front_end_)]() mutable {
    stream->issue_stream_cmd(uhd::stream_cmd_t::STREAM_MODE_STOP_CONTINUOUS);
    stream.reset();
    front_end.reset();
  });
}

StreamInfo UhdSource::info() const {
  StreamInfo info;
  info.element = element_;
  info.channels = static_cast<int>(buffers_.size());
  info.rate_hz = front_end_->rate_hz();
  info.frequency_hz = front_end_->frequency_hz();
  info.time = front_end_->device().time();
  info.reconnects = true;
  info.full_scale = element_ == Element::cf32 ? 1 : 32768;
  info.hardware = front_end_->device().hardware();
  return info;
}

uhd::time_spec_t next_second(const uhd::time_spec_t& earliest) noexcept {
  return {earliest.get_full_secs() + (earliest.get_frac_secs() > 0 ? 1 : 0), 0.0};
}

/// Time stamps align the channels, so several channels start at a common time.
void UhdSource::start() {
  const bool at_second = front_end_->settings().start == Start::second;
  uhd::stream_cmd_t command(uhd::stream_cmd_t::STREAM_MODE_START_CONTINUOUS);
  command.stream_now = buffers_.size() == 1 && !at_second;
  if (!command.stream_now) {
    command.time_spec = front_end_->usrp().get_time_now() + uhd::time_spec_t(kStartSeconds);
    if (at_second) command.time_spec = next_second(command.time_spec);
  }
  stream_->issue_stream_cmd(command);
  timed_ns_.reset();
  last_ns_ = steady_ns();
}

Received UhdSource::receive(std::span<std::byte* const> into, std::int64_t most) {
  std::copy(into.begin(), into.end(), buffers_.begin());
  try {
    // Starts with the first read: samples that wait before it would overflow the radio's buffer.
    if (!std::exchange(started_, true)) start();
    uhd::rx_metadata_t metadata;
    const std::size_t count =
        stream_->recv(buffers_, static_cast<std::size_t>(std::min(most, most_)), metadata, kTimeoutSeconds);
    if (metadata.error_code != Code::ERROR_CODE_NONE) return error(metadata);
    return samples(static_cast<std::int64_t>(count), metadata);
  } catch (...) {
    failed_ = true;
    throw std::runtime_error(
        fmt::format("{}: the radio failed: {}", front_end_->name(), text_of(std::current_exception())));
  }
}

std::int64_t stale_samples(std::int64_t time_ns, std::int64_t due_ns, std::int64_t count, double rate_hz) noexcept {
  const std::int64_t behind_ns = due_ns - time_ns;
  if (behind_ns <= 0 || behind_ns > kMostStaleNs) return 0;
  return std::min<std::int64_t>(count, std::llround(static_cast<double>(behind_ns) * rate_hz / 1e9));
}

std::int64_t UhdSource::ns_of_samples(std::int64_t count) const {
  return std::llround(static_cast<double>(count) / front_end_->rate_hz() * 1e9);
}

/// Removes samples that are late (their gap is already counted as lost) or duplicates: both would shift all later
/// samples.
std::int64_t UhdSource::leave_out_stale(std::int64_t count, std::int64_t time_ns) {
  const std::int64_t due_ns = timed_ns_ ? *timed_ns_ + ns_of_samples(since_timed_) : time_ns;
  const std::int64_t stale = stale_samples(time_ns, due_ns, count, front_end_->rate_hz());
  const std::size_t size = size_of(element_);
  for (void* buffer : buffers_) {
    auto* at = static_cast<std::byte*>(buffer);
    if (stale > 0)
      std::memmove(at, at + static_cast<std::size_t>(stale) * size, static_cast<std::size_t>(count - stale) * size);
  }
  return stale;
}

Received UhdSource::samples(std::int64_t count, const uhd::rx_metadata_t& metadata) {
  Received got = event(Event::samples);
  got.samples = count;
  last_ns_ = steady_ns();
  // libuhd computes the time inside a packet that an earlier call left unfinished, on some devices from a wrong rate.
  got.has_time = metadata.has_time_spec && metadata.fragment_offset == 0;
  if (!got.has_time) {
    since_timed_ += count;
    return got;
  }
  std::int64_t time_ns = ns_of(metadata.time_spec);
  const std::int64_t stale = leave_out_stale(count, time_ns);
  time_ns += ns_of_samples(stale);
  got.samples = count - stale;
  if (got.samples == 0) return event(Event::nothing);
  timed_ns_ = time_ns;
  since_timed_ = got.samples;
  if (!std::exchange(time_begun_, true) && front_end_->device().time() == TimeSource::host)
    time_offset_ns_ = wall_ns() - ns_of_samples(count) - time_ns;
  got.time_ns = saturated_add(time_ns, time_offset_ns_);
  return got;
}

Received::Event event_of(const uhd::rx_metadata_t& error) noexcept {
  switch (error.error_code) {
    case Code::ERROR_CODE_TIMEOUT: return Event::nothing;
    case Code::ERROR_CODE_OVERFLOW: return error.out_of_sequence ? Event::sequence : Event::overflow;
    case Code::ERROR_CODE_BAD_PACKET: return Event::sequence;
    case Code::ERROR_CODE_LATE_COMMAND:
    case Code::ERROR_CODE_BROKEN_CHAIN: return Event::late;
    default: return Event::overflow;
  }
}

Received UhdSource::error(const uhd::rx_metadata_t& metadata) {
  const auto code = metadata.error_code;
  if (code == Code::ERROR_CODE_LATE_COMMAND || code == Code::ERROR_CODE_BROKEN_CHAIN) {
    warn("restarting the stream", metadata.strerror());
    start();
  } else if (code == Code::ERROR_CODE_BAD_PACKET || code == Code::ERROR_CODE_ALIGNMENT) {
    warn("samples were lost", metadata.strerror());
  }
  return event(event_of(metadata));
}

/// Samples taken before the retune are still on their way, with earlier times.
std::optional<std::int64_t> UhdSource::retune(const SourceOptions& options) {
  const uhd::time_spec_t holds_from = front_end_->retune(same_kind<UhdSourceOptions>(options).settings());
  if (!time_begun_ || front_end_->device().time() != TimeSource::radio) return {};
  return saturated_add(ns_of(holds_from), time_offset_ns_);
}

void UhdSource::warn(std::string_view what, std::string_view why) {
  std::uint64_t suppressed = 0;
  if (!limit_.allow(suppressed)) return;
  log::warn("{}: {}: {}{}", front_end_->name(), what, why, log::more_times(suppressed));
}

std::unique_ptr<Source> open_source(const Settings& settings, Element element) {
  return std::make_unique<UhdSource>(settings, element);
}

}  // namespace iqd::radio::usrp
