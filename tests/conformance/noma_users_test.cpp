// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// noma_channel_estimator on users that differ: CUDA against the CPU, in one pass and with decoded words.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/conformance/one_stage.hpp"
#include "tests/conformance/stage_input.hpp"
#include "tests/support/users_that_differ.hpp"

namespace iqd::conformance {
namespace {

using testing::frames_of_users;
using testing::FramesOfUsers;
using testing::UsersThatDiffer;

constexpr NomaFormat kShortFrame{
    .air = {.fft = 64, .carriers = 24, .prefix = 8, .frame = 12 * 72, .tx = 1, .pilot_every = 2},
    .users = 3,
    .training = 4,
    .pilots = 90,
    .data = 130};

struct UsersCase {
  std::string name;
  UsersThatDiffer users;
  std::string more = "";
  std::int64_t n = 0;  // bits of a word; 0: one pass
  std::int64_t frames = 3;
};
void PrintTo(const UsersCase& c, std::ostream* out) {
  *out << c.name;
}

std::string keys_of_users(const UsersCase& c) {
  const NomaFormat& f = c.users.format;
  std::string maps;
  for (const SymbolMap map : c.users.maps)
    maps += fmt::format("{}{}", maps.empty() ? "" : ", ", enum_names(map)[static_cast<std::size_t>(map)]);
  return fmt::format(
      "{{fft: {}, carriers: {}, prefix: {}, frame: {}, users: {}, training: {}, pilots: {}, data: {}, modulation: "
      "[{}]{}}}",
      f.air.fft, f.air.carriers, f.air.prefix, f.air.frame, f.users, f.training, f.pilots, f.data, maps, c.more);
}

/// LLRs of words: mostly right, some unsure.
std::vector<float> words_of(const UsersCase& c, std::int64_t& count) {
  count = 0;
  for (const SymbolMap map : c.users.maps) count += c.users.format.user_bits(map) / c.n;
  std::vector<float> llr;
  for (std::int64_t i = 0; i < c.frames * count * c.n; ++i)
    llr.push_back(static_cast<float>(5 * std::sin(0.37 * static_cast<double>(i * i % 1009))));
  llr.at(7) = std::numeric_limits<float>::quiet_NaN();
  llr.at(8) = std::numeric_limits<float>::infinity();
  return llr;
}

Ports receive_users(const UsersCase& c, const FramesOfUsers& given, const std::string& backend,
                    std::int64_t block = 0) {
  const NomaFormat& f = c.users.format;
  StageInput carriers = items(given.carriers, Element::cf32, "frame",
                              {{"symbol", f.air.symbols()}, {"carrier", f.air.carriers}, {"rx", c.users.rx}});
  carriers.shape.rate_hz = carriers.shape.source_rate_hz = c.users.rate_hz;
  std::vector<StageInput> inputs{carriers};
  if (c.n > 0) {
    std::int64_t words = 0;
    const std::vector<float> llr = words_of(c, words);
    inputs.push_back(items(llr, Element::f32, "frame", {{"word", words}, {"n", c.n}}));
  }
  return run("noma_channel_estimator", keys_of_users(c), std::move(inputs), backend, block);
}

double rms_of(const std::vector<double>& x) {
  double power = 0;
  for (const double v : x) power += v * v;
  return std::sqrt(power / static_cast<double>(std::max<std::size_t>(x.size(), 1)));
}
std::vector<double> numbers_of(const Ports& ports, const std::string& port) {
  return numbers_in(ports.at(port).shape.element, ports.at(port).joined());
}
/// The rms of the difference over that of what is expected.
double apart(const Ports& expected, const Ports& got, const std::string& port) {
  std::vector<double> a = numbers_of(expected, port);
  const std::vector<double> b = numbers_of(got, port);
  EXPECT_EQ(a.size(), b.size());
  const double size = rms_of(a);
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) a[i] -= b[i];
  return rms_of(a) / size;
}

std::vector<UsersCase> users_cases() {
  using enum SymbolMap;
  const UsersThatDiffer three{
      .format = kShortFrame, .maps = {qpsk, qam16, bpsk}, .rx = 4, .delays = {1, 4.5, 3}, .offsets = {120, -90, 300}};
  UsersThatDiffer one = three, dead = three, wide = three;
  one.format.users = 1, one.format.training = 1, one.format.pilots = 20, one.format.data = 5;
  one.maps = {qam16}, one.delays = {2}, one.offsets = {0}, one.noise = 0.05;
  wide.format = NomaFormat{};
  wide.maps = {qpsk, qam16, qpsk, qam16, qpsk, qam16};
  wide.rx = 16, wide.rate_hz = 30.72e6, wide.noise = 0.18;
  wide.delays = {18, 30, 60.5, 118, 77, 41}, wide.offsets = {300, -300, 20, 0, -150, 88};
  std::vector<UsersCase> cases{{"three users", three, ", step: 2"},
                               {"three users, two passes", three, ", step: 2", 50},
                               {"without learning", three, ", step: 2, em: 0, rounds: 1"},
                               {"one user with one pilot symbol", one, ", step: 1.5"},
                               {"six users", wide, "", 0, 2},
                               {"six users, two passes", wide, "", 2304, 1}};
  return cases;
}

class UsersOnCuda : public ::testing::TestWithParam<UsersCase> {};

TEST_P(UsersOnCuda, AgreeWithTheCpu) {
  if (!no_cuda().empty()) GTEST_SKIP() << no_cuda();
  FramesOfUsers given = frames_of_users(GetParam().users, GetParam().frames);
  // Among the pilots of the first frame, and among the data of the last.
  given.carriers.at(static_cast<std::size_t>(GetParam().users.rx * GetParam().users.format.air.carriers * 2 + 1)) =
      std::numeric_limits<float>::quiet_NaN();
  given.carriers.at(given.carriers.size() -
                    static_cast<std::size_t>(GetParam().users.rx * GetParam().users.format.air.carriers)) = {
      0, std::numeric_limits<float>::infinity()};
  const Ports cpu = receive_users(GetParam(), given, "cpu");
  for (const std::int64_t block : {0, 1}) {
    const Ports cuda = receive_users(GetParam(), given, "cuda", block);
    EXPECT_LE(apart(cpu, cuda, "h"), 1e-4);
    EXPECT_LE(apart(cpu, cuda, "symbols"), 1e-3);
    EXPECT_LE(apart(cpu, cuda, "llr"), 2e-3);
    EXPECT_LE(apart(cpu, cuda, "model"), 1e-4);
    EXPECT_EQ(values<std::uint8_t>(cpu.at("modulation")), values<std::uint8_t>(cuda.at("modulation")));
    const auto llr = numbers_of(cpu, "llr"), bits = numbers_of(cpu, "bits"), other = numbers_of(cuda, "bits");
    for (std::size_t i = 0; i < llr.size(); ++i) {
      if (std::fabs(llr[i]) > 1e-2) {
        ASSERT_EQ(bits[i], other[i]) << i;
      }
    }
    if (block == 0) {
      EXPECT_EQ(values<std::int64_t>(cpu.at("events")), values<std::int64_t>(cuda.at("events")));
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Frames, UsersOnCuda, ::testing::ValuesIn(users_cases()));

TEST(NomaUsers, AreReceivedOnTheCpu) {
  for (const UsersCase& c : users_cases()) {
    const FramesOfUsers given = frames_of_users(c.users, c.frames);
    const Ports got = receive_users(c, given, "cpu");
    const auto bits = values<std::uint8_t>(got.at("bits"));
    std::size_t at = 0, wrong = 0, all = 0;
    int most = 0;
    for (const SymbolMap map : c.users.maps) most = std::max(most, bits_of(map));
    for (std::int64_t g = 0; g < c.frames; ++g)
      for (std::size_t u = 0; u < c.users.maps.size(); ++u)
        for (std::int64_t t = 0; t < c.users.format.data; ++t)
          for (int b = 0; b < most; ++b, ++at) {
            const int own = bits_of(c.users.maps[u]);
            if (b >= own) continue;
            const unsigned number = given.sent[u][static_cast<std::size_t>(g * c.users.format.data + t)];
            wrong += bits.at(at) != (number >> (own - 1 - b) & 1);
            ++all;
          }
    // Words that are not those that were sent spoil a second pass.
    if (c.n == 0) {
      EXPECT_LT(static_cast<double>(wrong), 0.01 * static_cast<double>(all)) << c.name;
    } else {
      EXPECT_GT(wrong, 0u) << c.name;
    }
  }
}

}  // namespace
}  // namespace iqd::conformance
