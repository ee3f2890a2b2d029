// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/record/capture.hpp"

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "signal/filters/sample_level.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kPiece = 65536;
constexpr std::int64_t kSilentNs = 5'000'000'000;
constexpr double kSettle = 0.1;  // seconds
constexpr double kWholeScale = 32768;

/// Reads the source's samples as floats, a piece at a time.
class Reader {
 public:
  explicit Reader(const SourceOptions& options) : source_(options.open()), info_(source_->info()) {
    if (info_.element != Element::sc16 && info_.element != Element::cf32)
      throw SetupError("the source has no complex samples, which are needed here");
    const auto channels = static_cast<std::size_t>(info_.channels);
    memory_.assign(channels, std::vector<std::byte>(static_cast<std::size_t>(kPiece) * size_of(info_.element)));
    for (auto& m : memory_) into_.push_back(m.data());
    levels_.resize(channels);
  }

  const StreamInfo& info() const { return info_; }
  /// Of the samples that were read last: a recording may be retuned before they come.
  double frequency_hz() const { return source_->info().frequency_hz; }
  const std::vector<SampleLevel>& levels() const { return levels_; }

  /// Appends up to `most` samples to each channel; 0 at the end. Without `to` they are discarded.
  std::int64_t read(std::int64_t most, std::vector<std::vector<cf32>>* to) {
    for (const std::int64_t begin = steady_ns(); steady_ns() - begin < kSilentNs;) {
      const Received got = source_->receive(into_, std::min(most, kPiece));
      if (got.event == Received::Event::end) return 0;
      if (got.event == Received::Event::failed) throw SetupError("the source failed; see its log lines");
      if (got.event != Received::Event::samples || got.samples <= 0) continue;
      if (to) take(got.samples, *to);
      return got.samples;
    }
    throw SetupError("no samples from the source for 5 s: check the radio and its link");
  }

 private:
  void take(std::int64_t samples, std::vector<std::vector<cf32>>& to) {
    const auto n = static_cast<std::size_t>(samples);
    for (std::size_t c = 0; c < memory_.size(); ++c) {
      if (info_.element == Element::cf32) {
        const std::span<const cf32> x(reinterpret_cast<const cf32*>(memory_[c].data()), n);
        add_level(x, info_.full_scale > 0 ? static_cast<float>(info_.full_scale) : INFINITY, levels_[c]);
        to[c].insert(to[c].end(), x.begin(), x.end());
        continue;
      }
      const std::span<const sc16> x(reinterpret_cast<const sc16*>(memory_[c].data()), n);
      add_level(x, static_cast<int>(info_.full_scale > 0 ? info_.full_scale : kWholeScale), levels_[c]);
      constexpr auto kScale = static_cast<float>(1 / kWholeScale);
      for (const sc16 v : x) to[c].emplace_back(static_cast<float>(v.re) * kScale, static_cast<float>(v.im) * kScale);
    }
  }

  std::unique_ptr<Source> source_;
  StreamInfo info_;
  std::vector<std::vector<std::byte>> memory_;
  std::vector<std::byte*> into_;
  std::vector<SampleLevel> levels_;
};

}  // namespace

Capture capture(const SourceOptions& source, std::int64_t samples) {
  Reader reader(source);
  Capture taken;
  taken.info = reader.info();
  taken.channels.resize(static_cast<std::size_t>(taken.info.channels));
  for (auto& channel : taken.channels) channel.reserve(static_cast<std::size_t>(samples));
  if (taken.info.reconnects)
    for (auto left = static_cast<std::int64_t>(kSettle * taken.info.rate_hz); left > 0;) {
      const std::int64_t n = reader.read(left, nullptr);
      if (n == 0) break;
      left -= n;
    }
  for (std::int64_t left = samples; left > 0;) {
    const std::int64_t n = reader.read(left, &taken.channels);
    if (n == 0) break;
    if (left == samples) taken.info.frequency_hz = reader.frequency_hz();
    left -= n;
  }
  for (const SampleLevel& level : reader.levels())
    taken.clipped.push_back(level.samples > 0 ? static_cast<double>(level.clipped) / static_cast<double>(level.samples)
                                              : 0);
  return taken;
}

}  // namespace iqd
