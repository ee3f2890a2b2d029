// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/live/point_traces.hpp"

#include <algorithm>

#include "daemon/live/value_counts.hpp"

namespace iqd::live {
namespace {

/// How many times their rms a picture shows.
constexpr double kOfSymbols = 1.5;
constexpr double kOfValues = 3;

void set_extent(Head& head, double extent) {
  head.first = -extent;
  head.span = static_cast<float>(2 * extent);
}

nlohmann::json describe_values(const WatchedPort& port, std::int64_t entry) {
  nlohmann::json about = describe(*port.outlet, "counts", entry);
  about["scale"] = "linear";
  return about;
}

}  // namespace

DensityTrace::DensityTrace(const WatchedPort& port, std::int64_t entry)
    : Trace(port.outlet, std::uint64_t{1} << entry, describe(*port.outlet, "density", entry)), entry_(entry) {}

void DensityTrace::succeed(const Trace& before) {
  Trace::succeed(before);
  if (const auto* const one = dynamic_cast<const DensityTrace*>(&before)) extent_ = one->extent_;
}

void DensityTrace::show(const WatchCopy& copy, LiveHub& hub) {
  const std::span symbols(reinterpret_cast<const cf32*>(outlet()->trace_in(copy, entry_)),
                          static_cast<std::size_t>(copy.count));
  const double extent = extent_.fit(rms_of(symbols), kOfSymbols);
  const std::string codes = SymbolDensity(symbols, extent).codes();
  Head head = next_head(Head::Kind::density, copy);
  head.count = static_cast<std::uint32_t>(codes.size());
  set_extent(head, extent);
  put(hub, head, codes);
}

ValueTrace::ValueTrace(const WatchedPort& port, std::int64_t entry)
    : Trace(port.outlet, std::uint64_t{1} << entry, describe_values(port, entry)), entry_(entry) {}

void ValueTrace::succeed(const Trace& before) {
  Trace::succeed(before);
  if (const auto* const one = dynamic_cast<const ValueTrace*>(&before)) extent_ = one->extent_;
}

void ValueTrace::show(const WatchCopy& copy, LiveHub& hub) {
  const auto* const from = reinterpret_cast<const float*>(outlet()->trace_in(copy, entry_));
  values_.assign(from, from + copy.count);
  if (const auto scale = static_cast<float>(outlet()->format().llr_scale); scale > 0)
    for (float& x : values_) x *= scale;
  const double extent = extent_.fit(rms_of(values_), kOfValues);
  Head head = next_head(Head::Kind::counts, copy);
  head.count = kCountBins;
  set_extent(head, extent);
  put(hub, head, bytes_of(count_values(values_, extent)));
}

}  // namespace iqd::live
