// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <string>
#include <vector>

#include "pipeline/stages/telemetry/preamble_search/preamble_search_model.hpp"
#include "signal/channels/ray_channel.hpp"

namespace iqd::preamble_search {
namespace {

constexpr std::int64_t kPackets = 200;
constexpr std::int64_t kDifferent = 8;  // packets; then they repeat

/// Packets back to back through a channel, with an offset and noise.
std::vector<cf32> packets_through(RayChannel channel, double eb_n0_db) {
  const PacketFormat inet;
  std::vector<std::complex<double>> sent;
  for (unsigned seed = 0; seed < kDifferent; ++seed) {
    const auto one = packet(inet, seed);
    sent.insert(sent.end(), one.begin(), one.end());
  }
  const ChannelTaps h = taps_of(rays_of(channel), 20.625e6, 2);
  const std::int64_t period = std::ssize(sent);
  std::vector<std::complex<double>> received(sent.size());
  for (std::int64_t n = 0; n < period; ++n)
    for (std::int64_t i = 0; i < std::ssize(h.taps); ++i)
      received[static_cast<std::size_t>(n)] +=
          h.taps[static_cast<std::size_t>(i)] * sent[static_cast<std::size_t>((n + h.before - i + period) % period)];
  std::vector<cf32> x;
  for (std::int64_t n = 0; n < kPackets * inet.samples() + PacketFormat::kGuard; ++n)
    x.emplace_back(received[static_cast<std::size_t>(n % period)] * std::polar(1.0, 0.05 * static_cast<double>(n)));
  add_noise(x, noise_variance(eb_n0_db, 2));
  return x;
}

/// The share of packets found at their start, to within the few samples by which the channel and the offset move it.
double share_found(const std::vector<cf32>& x) {
  constexpr std::int64_t kMoved = 4;
  const Pattern pattern({.threshold = 0.1, .format = {}});
  const std::int64_t length = std::ssize(x), most = pattern.most_packets(length);
  std::vector<cf32> windows(static_cast<std::size_t>(most * pattern.window()));
  Starts starts(static_cast<std::size_t>(most));
  std::vector<float> metric(starts.size());
  std::vector<std::byte> scratch(scratch_bytes(pattern, length));
  Output out{.windows = {windows.data(), {most, pattern.window()}},
             .start = starts.data(),
             .metric = metric.data(),
             .correlation = nullptr,
             .correlated = {}};
  Track track;
  run_cpu(pattern, View<const cf32, 1>(x.data(), {length}), {0, length}, 0, track, scratch.data(), length, out);
  starts.resize(static_cast<std::size_t>(out.events[kFound]));
  const auto right = std::count_if(starts.begin(), starts.end(), [](std::int64_t start) {
    return (start + kMoved) % PacketFormat{}.samples() <= 2 * kMoved;
  });
  return static_cast<double>(right) / kPackets;
}

struct Case {
  RayChannel channel;
  double eb_n0_db;
  double found;  // share in simulations in double precision, of 600 packets
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << enum_names(c.channel)[static_cast<std::size_t>(c.channel)] << ", Eb/N0 " << c.eb_n0_db << " dB";
}

class PreambleDetection : public ::testing::TestWithParam<Case> {};

TEST_P(PreambleDetection, IsAsLikelyAsInSimulations) {
  const Case& c = GetParam();
  const auto x = packets_through(c.channel, c.eb_n0_db);
  EXPECT_NEAR(share_found(x), c.found, 0.03) << "three standard deviations at 0.98";
}

INSTANTIATE_TEST_SUITE_P(Channels, PreambleDetection,
                         ::testing::Values(Case{RayChannel::awgn, -4, 0.978}, Case{RayChannel::awgn, 0, 1},
                                           Case{RayChannel::ch2, 0, 1}, Case{RayChannel::ch3, 0, 0.997},
                                           Case{RayChannel::ch4, 0, 0.997}),
                         [](const auto& c) {
                           return std::string(enum_names(c.param.channel)[static_cast<std::size_t>(c.param.channel)]) +
                                  "_" + std::to_string(c.index);
                         });

}  // namespace
}  // namespace iqd::preamble_search
