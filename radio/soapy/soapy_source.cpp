// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy/soapy_source.hpp"

#include <SoapySDR/Constants.h>
#include <SoapySDR/Errors.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/integer.hpp"

namespace iqd::radio::soapy {
namespace {

constexpr long kTimeoutUs = 100'000;
/// A source that is closed after so much silence has failed.
constexpr std::int64_t kSilentNs = 250'000'000;
/// A time as far from the Unix epoch is invalid: sums with it must not overflow.
constexpr std::int64_t kYear2100Ns = 4'102'444'800'000'000'000;
/// A longer gap between two bursts is not plausible.
constexpr double kMostSamples = 1e18;
/// After more errors in a row, the next samples are not urgent.
constexpr int kErrorsAtOnce = 16;
// Some modules return at once instead of waiting.
constexpr auto kPause = std::chrono::milliseconds(1);

bool is_time(std::int64_t ns) {
  return ns < kYear2100Ns && ns > -kYear2100Ns;
}

Received nothing() {
  std::this_thread::sleep_for(kPause);
  return {};
}

}  // namespace

SoapySource::SoapySource(const Settings& settings, Element element)
    : radio_(settings, SOAPY_SDR_RX, element), element_(element), buffers_(settings.channels.size()) {
  // Some modules' own buffers have the device's format, whatever the stream's is.
  if (radio_.native())
    direct_ = DirectBuffers::of(radio_.device(), radio_.stream(), buffers_.size(), size_of(element_));
}

/// Other users of the device cannot know that it has fallen silent.
SoapySource::~SoapySource() {
  if (last_ns_ != 0 && steady_ns() - last_ns_ > kSilentNs) radio_.give_up(true);
}

StreamInfo SoapySource::info() const {
  StreamInfo info;
  info.element = element_;
  info.channels = static_cast<int>(buffers_.size());
  info.rate_hz = radio_.rate_hz();
  info.frequency_hz = radio_.frequency_hz();
  info.time = radio_.time();
  info.reconnects = true;
  info.full_scale = radio_.full_scale();
  info.hardware = radio_.hardware();
  return info;
}

Received SoapySource::receive(std::span<std::byte* const> into, std::int64_t most) {
  std::copy(into.begin(), into.end(), buffers_.begin());
  most = std::min<std::int64_t>(most, std::numeric_limits<int>::max());
  int flags = 0;
  long long time_ns = 0;
  try {
    // Starts with the first read: samples that wait before it would overflow the radio's buffer.
    if (!std::exchange(started_, true)) radio_.start();
    const int count = read(static_cast<std::size_t>(most), flags, time_ns);
    if (count > most) throw std::runtime_error("the module returned more samples than were asked for");
    return count < 0 ? error(count) : samples(count, flags, time_ns);
  } catch (...) {
    radio_.give_up(true);
    throw std::runtime_error(fmt::format("{}: the radio failed: {}", radio_.name(), text_of(std::current_exception())));
  }
}

int SoapySource::read(std::size_t most, int& flags, long long& time_ns) {
  if (direct_) {
    const int count = direct_->read(buffers_, most, flags, time_ns, kTimeoutUs);
    if (count != SOAPY_SDR_NOT_SUPPORTED) return count;
    direct_.reset();
  }
  return radio_.device().readStream(radio_.stream(), buffers_.data(), most, flags, time_ns, kTimeoutUs);
}

Received SoapySource::samples(int count, int flags, std::int64_t time_ns) {
  if (count == 0) return none();
  errors_ = 0;
  Received got;
  got.event = Received::Event::samples;
  got.samples = count;
  last_ns_ = steady_ns();
  if (radio_.is_given_up()) radio_.give_up(false);
  got.has_time = (flags & SOAPY_SDR_HAS_TIME) != 0 && is_time(time_ns);
  if (got.has_time && !std::exchange(time_begun_, true) && radio_.time() == TimeSource::host && time_ns < kYear2000Ns)
    time_offset_ns_ = wall_ns() - ns_of(count) - time_ns;
  got.has_time =
      got.has_time && !__builtin_add_overflow(time_ns, time_offset_ns_, &got.time_ns) && is_time(got.time_ns);
  if (got.has_time) {
    if (between_bursts_) got.lost = std::max<std::int64_t>(0, samples_of(got.time_ns - *stamp_ns_) - since_stamp_);
    stamp_ns_ = got.time_ns;
    since_stamp_ = 0;
  }
  since_stamp_ += count;
  // Without a time stamp, the gap between two bursts would be unknown.
  got.ends = between_bursts_ = (flags & SOAPY_SDR_END_BURST) != 0 && stamp_ns_;
  return got;
}

/// After a burst, silence is normal: the next one may come at any time.
Received SoapySource::none() const {
  Received got = nothing();
  got.ends = between_bursts_;
  return got;
}

std::int64_t SoapySource::samples_of(std::int64_t ns) const noexcept {
  return std::llround(std::clamp(static_cast<double>(ns) * radio_.rate_hz() / 1e9, -kMostSamples, kMostSamples));
}

std::int64_t SoapySource::ns_of(std::int64_t samples) const noexcept {
  return std::llround(static_cast<double>(samples) * 1e9 / radio_.rate_hz());
}

Received SoapySource::error(int code) {
  Received got;
  switch (code) {
    case SOAPY_SDR_TIMEOUT: return none();
    case SOAPY_SDR_OVERFLOW: got.event = Received::Event::overflow; break;
    case SOAPY_SDR_CORRUPTION: got.event = Received::Event::sequence; break;
    case SOAPY_SDR_TIME_ERROR: got.event = Received::Event::late; break;
    default: throw std::runtime_error(SoapySDR_errToStr(code));
  }
  if (got.event != Received::Event::overflow) warn("samples were lost", SoapySDR_errToStr(code));
  if (++errors_ > kErrorsAtOnce) std::this_thread::sleep_for(kPause);
  return got;
}

void SoapySource::warn(std::string_view what, std::string_view why) {
  std::uint64_t suppressed = 0;
  if (!limit_.allow(suppressed)) return;
  log::warn("{}: {}: {}{}", radio_.name(), what, why, log::more_times(suppressed));
}

/// Samples taken before these calls return are still on their way, with earlier times.
std::optional<std::int64_t> SoapySource::retune(const SourceOptions& options) {
  radio_.retune(same_kind<SoapySourceOptions>(options).settings());
  try {
    if (time_begun_ && radio_.device().hasHardwareTime())
      return saturated_add(radio_.device().getHardwareTime(), time_offset_ns_);
  } catch (...) {
    log::debug("{}: cannot read the radio's clock: {}", radio_.name(), text_of(std::current_exception()));
  }
  return {};
}

void SoapySourceOptions::fields(FieldVisitor& v) {
  settings_.fields(v, true);
  reception_.fields(v);
}

StreamInfo SoapySourceOptions::describe(const Section& section) const {
  settings_.check_gains(section);
  return reception_.describe(settings_, section);
}

std::unique_ptr<Source> SoapySourceOptions::open() const {
  Settings settings = settings_;
  settings.accept_rate = settings.accept_rate || reception_.resample;
  return std::make_unique<SoapySource>(settings, reception_.element());
}

}  // namespace iqd::radio::soapy
