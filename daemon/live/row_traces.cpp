// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/live/row_traces.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "daemon/live/fold.hpp"

namespace iqd::live {
namespace {

constexpr long kMostLost = 4096;

std::size_t folded_bins(std::int64_t bins) {
  return std::min(kMostBins, static_cast<std::size_t>(std::max<std::int64_t>(bins, 1)));
}

double rate_of(const PortFormat& format) {
  return format.item_rate_hz > 0 ? format.item_rate_hz : format.rate_hz;
}

nlohmann::json describe_row(const WatchedPort& port, std::int64_t entry, std::int64_t bins, const char* unit) {
  nlohmann::json about = describe(*port.outlet, "row", entry);
  about["unit"] = unit;
  about["channel"] = entry;
  about["row_s"] = port.row_s;
  about["bins"] = folded_bins(bins);
  return about;
}

nlohmann::json describe_bins(const WatchedPort& port, std::int64_t entry) {
  const Dim& bins = port.outlet->format().dims.back();
  nlohmann::json about = describe_row(port, entry, bins.extent, "dB");
  about["axis"] = BinAxis(bins).is_hz() ? "hz" : "bin";
  return about;
}

/// Samples at full scale. Channels count theirs as they arrive, which may be some blocks earlier.
bool are_clipped(std::span<const cf32> samples) noexcept {
  constexpr float kFull = 32767.0F / 32768.0F;
  return std::ranges::any_of(
      samples, [](const cf32& x) { return std::fabs(x.real()) >= kFull || std::fabs(x.imag()) >= kFull; });
}

}  // namespace

RowTrace::RowTrace(const WatchedPort& port, std::int64_t entry, nlohmann::json description)
    : Trace(port.outlet, std::uint64_t{1} << entry, std::move(description)), entry_(entry), row_s_(port.row_s) {}

void RowTrace::succeed(const Trace& before) {
  Trace::succeed(before);
  if (const auto* const row = dynamic_cast<const RowTrace*>(&before)) scale_ = row->scale_;
}

Head RowTrace::head_of(const WatchCopy& copy, double first, double span) {
  Head head = next_head(Head::Kind::row, copy);
  if (copy.clipped >> entry_ & 1) head.flags |= Head::clipped;
  const double rate = outlet()->format().rate_hz;
  if (copy.gap > 0 && rate > 0)
    head.lost = static_cast<std::uint32_t>(
        std::clamp(std::lround(std::min(static_cast<double>(copy.gap) / rate / row_s_, 1e6)), 1L, kMostLost));
  head.first = first;
  head.span = static_cast<float>(span);
  return head;
}

std::string RowTrace::codes_of(std::span<const float> largest, std::span<const float> mean, Head& head) {
  float most = -INFINITY;
  for (const float db : largest) most = std::fmax(most, db);
  scale_.fit(most);
  scale_.describe(head);
  head.count = static_cast<std::uint32_t>(largest.size());
  head.vectors = mean.empty() ? 1 : 2;
  std::string codes;
  codes.reserve(largest.size() + mean.size());
  for (const float db : largest) codes += static_cast<char>(scale_.code(db));
  for (const float db : mean) codes += static_cast<char>(scale_.code(db));
  return codes;
}

SampleRow::SampleRow(const WatchedPort& port, std::int64_t entry, std::shared_ptr<SampleSpectrum> spectrum)
    : RowTrace(port, entry, describe_row(port, entry, spectrum->size(), "dBFS")),
      spectrum_(std::move(spectrum)),
      is_radio_(port.output == kNoOutput && port.outlet->format().element == Element::sc16) {}

/// Of a channel with a frequency of its own.
double SampleRow::offset_hz() const noexcept {
  const PortFormat& format = outlet()->format();
  if (outlet()->grid().picked().empty()) return 0;
  const std::vector<double>& values = format.dims[outlet()->grid().picked().back()].frequencies.values_hz;
  const auto channel = static_cast<std::size_t>(outlet()->grid().entry(entry_, outlet()->grid().picked().size() - 1));
  return channel < values.size() ? values[channel] : 0;
}

void SampleRow::show(const WatchCopy& copy, LiveHub& hub) {
  const PortFormat& format = outlet()->format();
  const auto samples = as_cf32(format.element, outlet()->trace_in(copy, entry_), copy.count, samples_);
  const std::span<const float> powers = spectrum_->powers(samples, format.mirrored);
  std::array<float, kMostBins> folded;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const std::span<float> row(folded.data(), folded_bins(spectrum_->size()));
  fold_largest(powers, row);
  to_db(row);
  const double rate = rate_of(format), bin = rate / static_cast<double>(spectrum_->size());
  const double lowest = copy.frequency_hz + offset_hz() - rate / 2 + (format.mirrored ? bin / 2 : -bin / 2);
  Head head = head_of(copy, lowest, rate);
  if (is_radio_ && are_clipped(samples)) head.flags |= Head::clipped;
  put(hub, head, codes_of(row, {}, head));
}

BinRow::BinRow(const WatchedPort& port, std::int64_t entry)
    : RowTrace(port, entry, describe_bins(port, entry)), axis_(port.outlet->format().dims.back()), in_db_(port.in_db) {}

void BinRow::make_db(std::span<float> values) const noexcept {
  if (in_db_) return;
  const bool are_powers = outlet()->format().element == Element::cf32;
  for (float& x : values) x = are_powers ? x : x * x;
  to_db(values);
}

void BinRow::show(const WatchCopy& copy, LiveHub& hub) {
  const auto* const from = reinterpret_cast<const float*>(outlet()->trace_in(copy, entry_));
  values_.assign(from, from + copy.count);
  make_db(values_);
  const std::span<const float> bins = axis_.sorted(values_, sorted_);
  std::array<float, 2 * kMostBins> folded;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const std::size_t groups = folded_bins(copy.count);
  const std::span<float> largest(folded.data(), groups);
  const std::span<float> mean(folded.data() + groups, bins.size() > groups ? groups : 0);
  fold_largest(bins, largest);
  fold_mean_db(bins, mean);
  const double base = axis_.is_hz() ? copy.frequency_hz : 0;
  Head head = head_of(copy, base + axis_.first(), axis_.span());
  put(hub, head, codes_of(largest, mean, head));
}

}  // namespace iqd::live
