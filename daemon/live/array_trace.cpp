// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/live/array_trace.hpp"

#include <cmath>
#include <complex>
#include <numbers>

#include "base/clock.hpp"
#include "daemon/live/sample_spectrum.hpp"

namespace iqd::live {
namespace {

constexpr std::int64_t kPeriodNs = 200'000'000;

std::uint64_t all_traces(const WatchOutlet& outlet) {
  return outlet.traces() >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << outlet.traces()) - 1;
}

nlohmann::json describe_array(const WatchedPort& port) {
  const PortFormat& format = port.outlet->format();
  return {{"pipeline", format.pipeline},
          {"port", format.port},
          {"kind", "array"},
          {"name", "array"},
          {"of", nlohmann::json::object()},
          {"unit", ""},
          {"channels", port.outlet->traces()}};
}

}  // namespace

ChannelPhase compare_channels(std::span<const cf32> first, std::span<const cf32> other) noexcept {
  std::complex<double> product = 0;
  double power = 0, first_power = 0;
  for (std::size_t n = 0; n < other.size(); ++n) {
    const std::complex<double> x = first[n], y = other[n];
    product += y * std::conj(x);
    power += std::norm(y);
    first_power += std::norm(x);
  }
  ChannelPhase found;
  found.rms = std::sqrt(power / static_cast<double>(other.size()));
  found.coherence = std::abs(product) / std::sqrt(power * first_power);
  found.phase_deg = std::isfinite(found.coherence) ? std::arg(product) * 180 / std::numbers::pi : NAN;
  return found;
}

ArrayTrace::ArrayTrace(const WatchedPort& port) : Trace(port.outlet, all_traces(*port.outlet), describe_array(port)) {}

void ArrayTrace::show(const WatchCopy& copy, LiveHub& hub) {
  const std::int64_t now = steady_ns();
  if (now < due_ns_) return;
  due_ns_ = now + kPeriodNs;
  const Element element = outlet()->format().element;
  const auto first = as_cf32(element, outlet()->trace_in(copy, 0), copy.count, first_);
  nlohmann::json channels = nlohmann::json::array();
  for (std::int64_t c = 0; c < outlet()->traces(); ++c) {
    const ChannelPhase found =
        compare_channels(first, as_cf32(element, outlet()->trace_in(copy, c), copy.count, other_));
    channels.push_back({{"rms_dbfs", number_or_null(20 * std::log10(found.rms))},
                        {"phase_deg", number_or_null(found.phase_deg)},
                        {"coherence", number_or_null(found.coherence)}});
  }
  put_text(hub, {{"array",
                  {{"trace", number()},
                   {"time_s", static_cast<double>(copy.time_ns) / 1e9},
                   {"frequency", copy.frequency_hz},
                   {"seq", next_seq()},
                   {"channels", std::move(channels)}}}});
}

}  // namespace iqd::live
