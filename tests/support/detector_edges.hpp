// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tests/support/detector_under_test.hpp"
#include "tests/support/special_numbers.hpp"

/// The common behaviour of all MIMO detectors, as in detector.hpp: each detector's test calls each expectation.
namespace iqd::testing {

inline bool same_results(const Detected& a, const Detected& b) {
  const auto same = [](const auto& p, const auto& q) {
    return p.size() == q.size() && (p.empty() || std::memcmp(p.data(), q.data(), p.size() * sizeof(p[0])) == 0);
  };
  return same(a.llr, b.llr) && same(a.bits, b.bits) && same(a.distance, b.distance) && a.events == b.events;
}

/// For vector v only.
inline std::vector<float> llrs_of_vector(const Detected& d, const Transmission& x, std::int64_t v) {
  const std::int64_t n = x.tx * x.bits;
  return {d.llr.begin() + v * n, d.llr.begin() + (v + 1) * n};
}

/// Values that are not finite, noise below 0 and channels of 0 erase their vector and no other.
inline void expect_erasures(const StageEntry& entry) {
  DetectorUnderTest stage(entry, "{modulation: qpsk}", 3, 2);
  Transmission good = random_transmission(3, 2, 2, 40, 0.1);
  good.noise.assign(40, 0.1f);
  const Detected before = stage.run(good);
  EXPECT_EQ(before.events, (std::array<std::int64_t, 2>{40, 0}));
  Transmission bad = good;
  const float values[] = {kNotANumber, kInfinite, -kInfinite, 3e38f};
  std::vector<std::int64_t> erased;
  for (std::int64_t i = 0; i < 4; ++i) {
    bad.y[static_cast<std::size_t>(3 * i + 1)] = {values[i], 0};
    if (i < 3) bad.h[static_cast<std::size_t>(6 * (i + 8) + 5)] = {0, values[i]};
    bad.noise[static_cast<std::size_t>(i + 16)] = i < 3 ? values[i] : -1.0f;
    erased.insert(erased.end(), {i, i + 16});
    if (i < 3) erased.push_back(i + 8);
  }
  std::fill_n(bad.h.begin() + 6 * 30, 6, cf32(0, 0));
  erased.push_back(30);
  const Detected after = stage.run(bad);
  EXPECT_EQ(after.events, (std::array<std::int64_t, 2>{40, std::ssize(erased)}));
  for (std::int64_t v = 0; v < 40; ++v) {
    const bool gone = std::find(erased.begin(), erased.end(), v) != erased.end();
    EXPECT_EQ(llrs_of_vector(after, good, v), gone ? std::vector<float>(4, 0.0f) : llrs_of_vector(before, good, v));
    EXPECT_EQ(std::isnan(after.distance[static_cast<std::size_t>(v)]), gone) << v;
    for (std::int64_t i = 4 * v; gone && i < 4 * v + 4; ++i) EXPECT_EQ(after.bits[static_cast<std::size_t>(i)], 0);
  }
}

/// Scaling y, h and sqrt(noise) by a power of two changes only the distance.
inline void expect_no_scale(const StageEntry& entry) {
  DetectorUnderTest stage(entry, "{modulation: 16qam}", 4, 4);
  const Transmission x = random_transmission(4, 4, 4, 20, 0.1);
  const Detected plain = stage.run(x);
  for (const int power : {-60, -10, 10, 60}) {
    Transmission scaled = x;
    const float factor = std::ldexp(1.0f, power);
    for (cf32& v : scaled.y) v *= factor;
    for (cf32& v : scaled.h) v *= factor;
    for (float& v : scaled.noise) v *= factor * factor;
    Detected got = stage.run(scaled);
    for (float& d : got.distance) d /= factor, d /= factor;
    EXPECT_TRUE(same_results(got, plain)) << power;
  }
}

/// Singular channels, and noise of 0, the least and the largest: LLRs are finite, and not erased.
inline void expect_finite(const StageEntry& entry) {
  DetectorUnderTest stage(entry, "{modulation: 16qam}", 4, 4);
  for (const float noise : {0.0f, 1e-45f, 1e-30f, 1e-6f, 1.0f, 1e30f}) {
    Transmission x = random_transmission(4, 4, 4, 24, 0.1);
    x.noise = {noise};
    for (std::size_t v = 0; v < 24; ++v)
      for (std::size_t n = 0; n < 4; ++n) {
        cf32* const row = &x.h[(4 * v + n) * 4];
        if (v % 4 == 1) row[3] = row[1];
        if (v % 4 == 2) row[0] = 0;
        if (v % 4 == 3) row[1] = row[2] = row[3] = row[0];
        if (v >= 20) x.y[4 * v + n] = 0;
      }
    const Detected got = stage.run(x);
    EXPECT_EQ(got.events[1], 0) << noise;
    for (std::size_t v = 0; v < 24; ++v) {
      const auto llr = llrs_of_vector(got, x, static_cast<std::int64_t>(v));
      EXPECT_TRUE(std::all_of(llr.begin(), llr.end(), [](float l) { return std::isfinite(l); })) << noise << " " << v;
      EXPECT_TRUE(std::isfinite(got.distance[v])) << noise << " " << v;
    }
  }
}

/// One channel for several vectors is equivalent to a copy for each, in batches of any size.
inline void expect_groups(const StageEntry& entry) {
  DetectorUnderTest stage(entry, "{modulation: qpsk}", 4, 4);
  Transmission x = random_transmission(4, 4, 2, 60, 0.1, 5);
  Transmission apart = x;
  apart.h.clear();
  apart.noise.assign(60, 0.1f);
  for (std::int64_t v = 0; v < 60; ++v)
    apart.h.insert(apart.h.end(), x.h.begin() + v / 12 * 16, x.h.begin() + (v / 12 + 1) * 16);
  const Detected whole = stage.run(apart);
  EXPECT_TRUE(same_results(stage.run(x), whole));
  for (const std::int64_t size : {1, 31, 33}) {
    Transmission some = apart;
    some.y.resize(static_cast<std::size_t>(size * 4));
    some.h.resize(static_cast<std::size_t>(size * 16));
    some.noise.resize(1);
    const Detected got = stage.run(some);
    EXPECT_TRUE(std::equal(got.llr.begin(), got.llr.end(), whole.llr.begin())) << size;
    EXPECT_EQ(got.events[0], size);
  }
}

/// f16 and i8 are the rounded f32 results; outputs that nobody reads are left out.
inline void expect_forms(const StageEntry& entry) {
  const Transmission x = random_transmission(4, 2, 4, 50, 0.02);
  DetectorUnderTest exact(entry, "{modulation: 16qam}", 4, 2);
  DetectorUnderTest half(entry, "{modulation: 16qam, llr: f16}", 4, 2);
  DetectorUnderTest byte(entry, "{modulation: 16qam, llr: i8, llr_scale: 0.5}", 4, 2);
  EXPECT_EQ(byte.out(0).llr_scale, 0.5);
  const Detected whole = exact.run(x), halves = half.run(x), bytes = byte.run(x);
  for (std::size_t i = 0; i < whole.llr.size(); ++i) {
    EXPECT_EQ(halves.llr[i], to_float(to_f16(std::clamp(whole.llr[i], -65504.0f, 65504.0f))));
    EXPECT_EQ(bytes.llr[i], std::clamp(std::rint(whole.llr[i] / 0.5f), -127.0f, 127.0f));
  }
  EXPECT_EQ(bytes.bits, whole.bits);
  EXPECT_EQ(exact.run(x, false).llr, whole.llr);
}

/// A prior of 0 changes nothing; a vector that is erased takes none; NaN is 0; what is beyond the limit is the limit.
/// `extrinsic: false` adds it.
inline void expect_prior_edges(const StageEntry& entry) {
  DetectorUnderTest plain(entry, "{modulation: 16qam}", 4, 2), with(entry, "{modulation: 16qam}", 4, 2, 4);
  DetectorUnderTest whole(entry, "{modulation: 16qam, extrinsic: false}", 4, 2, 4);
  Transmission x = random_transmission(4, 2, 4, 50, 0.3);
  x.noise.assign(50, 0.3f);
  x.noise[7] = -1;
  const Detected before = plain.run(x);
  x.prior.assign(400, 0.0f);
  const Detected zero = with.run(x);
  for (std::size_t i = 0; i < 400; ++i) EXPECT_NEAR(zero.llr[i], before.llr[i], 1e-3) << i;
  x.prior.assign(400, kNotANumber);
  EXPECT_TRUE(same_results(with.run(x), zero));
  x.prior.assign(400, kInfinite);
  const Detected limit = with.run(x);
  x.prior.assign(400, mimo::kMostPrior);
  EXPECT_TRUE(same_results(with.run(x), limit));
  const Detected sum = whole.run(x);
  for (std::size_t i = 0; i < 400; ++i) {
    const bool erased = i / 8 == 7;
    EXPECT_EQ(sum.llr[i], erased ? 0 : limit.llr[i] + mimo::kMostPrior);
    EXPECT_EQ(limit.bits[i], sum.llr[i] < 0);
  }
  EXPECT_EQ(limit.events, (std::array<std::int64_t, 2>{50, 1}));
  DetectorUnderTest wrong(entry, "{modulation: 16qam}", 4, 2, 2);
  EXPECT_NE(wrong.complaints().find("input 'prior' has to have the 8 LLRs"), std::string::npos) << wrong.complaints();
}

/// Antennas with alphabets of their own: a list of equal ones is one for all, the port says the same for each vector,
/// what an antenna does not send is 0, and a silent one is as good as none.
inline void expect_alphabets(const StageEntry& entry) {
  const Transmission equal = random_transmission(4, 2, 4, 20, 0.1);
  DetectorUnderTest one(entry, "{modulation: 16qam}", 4, 2), list(entry, "{modulation: [16qam, 16qam]}", 4, 2);
  EXPECT_TRUE(same_results(list.run(equal), one.run(equal)));

  const std::vector<std::vector<int>> sent = {{4, 2}, {2, 4}, {0, 4}, {4, 0}, {2, 2}, {4, 4}, {0, 0}};
  const char* const words[] = {"[16qam, qpsk]", "[qpsk, 16qam]", "[silent, 16qam]", "[16qam, silent]",
                               "qpsk",          "16qam",         "silent"};
  Transmission all = equal;
  add_prior(all, 2);
  for (std::int64_t v = 0; v < all.vectors(); ++v)
    for (int t = 0; t < 2; ++t)
      all.port.push_back(static_cast<std::uint8_t>(sent[static_cast<std::size_t>(v) % 7][static_cast<std::size_t>(t)]));
  for (const char* const keys : {"", ", extrinsic: false", ", llr: i8"}) {
    const auto stage = [&](const char* modulation, bool port) {
      return DetectorUnderTest(entry, fmt::format("{{modulation: {}, max_modulation: 16qam{}}}", modulation, keys), 4,
                               2, 4, port);
    };
    const Detected whole = stage("port", true).run(all);
    EXPECT_EQ(whole.events, (std::array<std::int64_t, 2>{20, 0}));
    for (std::size_t w = 0; w < 7; ++w) {
      Transmission same = all;
      same.port.clear();
      const Detected got = stage(words[w], false).run(same);
      for (std::int64_t v = static_cast<std::int64_t>(w); v < 20; v += 7) {
        EXPECT_EQ(llrs_of_vector(got, all, v), llrs_of_vector(whole, all, v)) << words[w] << keys;
        for (std::int64_t i = 0; i < 8; ++i) {
          const auto at = static_cast<std::size_t>(8 * v + i);
          EXPECT_EQ(got.bits[at], whole.bits[at]);
          const bool is_sent = i % 4 < sent[w][static_cast<std::size_t>(i / 4)];
          EXPECT_TRUE(is_sent || whole.llr[at] == 0) << words[w] << keys << i;
          EXPECT_TRUE(is_sent || whole.bits[at] == 0) << words[w] << keys << i;
        }
      }
    }
  }

  Transmission silent = mixed_transmission(4, {4, 0, 2}, 30, 0.1), without = silent;
  without.tx = 2;
  without.h.clear();
  for (std::size_t i = 0; i < silent.h.size(); ++i)
    if (i % 3 != 1) without.h.push_back(silent.h[i]);
  const Detected got = DetectorUnderTest(entry, "{modulation: [16qam, silent, qpsk]}", 4, 3).run(silent);
  const Detected want = DetectorUnderTest(entry, "{modulation: [16qam, qpsk]}", 4, 2).run(without);
  for (std::size_t i = 0; i < want.llr.size(); ++i) {
    const float wanted = want.llr[i], llr = got.llr[i / 8 * 12 + i % 8 + (i % 8 < 4 ? 0 : 4)];
    EXPECT_NEAR(llr, wanted, 2e-3F * std::max(1.0F, std::abs(wanted))) << i;
  }

  const auto complaints = [&entry](const std::string& keys, bool port = false) {
    return DetectorUnderTest(entry, keys, 4, 2, 0, port).complaints();
  };
  const auto expect_complaint = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect_complaint(complaints("{modulation: [qpsk, 16qam, qpsk]}"), "one for all 2 antennas or one for each");
  expect_complaint(complaints("{modulation: 8psk}"), "modulation: has to be qpsk");
  expect_complaint(complaints("{modulation: silent}"), "max_modulation: has to be the largest");
  expect_complaint(complaints("{modulation: 16qam, max_modulation: qpsk}"), "max_modulation: has to be the largest");
  expect_complaint(complaints("{modulation: port, max_modulation: 16qam}"), "needs the input 'modulation'");
  expect_complaint(complaints("{modulation: port}", true), "max_modulation: has to be the largest");
  expect_complaint(complaints("{modulation: qpsk}", true), "is read with `modulation: port` only");
}

inline void expect_detector_manners(const StageEntry& entry) {
  expect_alphabets(entry);
  expect_prior_edges(entry);
  expect_erasures(entry);
  expect_no_scale(entry);
  expect_finite(entry);
  expect_groups(entry);
  expect_forms(entry);
}

}  // namespace iqd::testing
