// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/outlets/apply_outlet.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <thread>

#include "base/log.hpp"
#include "config/reader.hpp"

namespace iqd::testing {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

template <class T> std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}
template <class T> std::string text_of(const std::vector<T>& values) {
  return numbers_text(element_of<T>, bytes_of(values));
}

/// The value of a key of this type after the text was read; problems are lines in `why`.
template <class Key> Key read(const std::string& text, std::string* why = nullptr) {
  Problems problems;
  Key key{};
  read_fields(
      parse_document("key: " + text, "x.yaml", problems).root, [&](FieldVisitor& v) { v.field("key", key, {}); },
      problems);
  std::string lines;
  for (const Problem& p : problems) lines += p.text() + "\n";
  if (why)
    *why = lines;
  else
    EXPECT_EQ(lines, "") << text;
  return key;
}

/// Finite floats of all sizes, and those at the edges.
std::vector<float> floats(std::size_t n) {
  using L = std::numeric_limits<float>;
  std::vector<float> values{0, -0.0f, 1, 0.1f, L::min(), L::denorm_min(), -L::denorm_min(), L::max(), L::lowest()};
  std::mt19937 random(3);
  while (values.size() < n)
    if (const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random())); std::isfinite(value))
      values.push_back(value);
  return values;
}

TEST(NumbersText, RealNumbersComeBackToTheBit) {
  const std::vector<float> values = floats(2000);
  const auto back = read<std::vector<double>>(text_of(values));
  ASSERT_EQ(back.size(), values.size());
  for (std::size_t i = 0; i < back.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(static_cast<float>(back[i])), std::bit_cast<std::uint32_t>(values[i])) << i;
}

TEST(NumbersText, ComplexNumbersComeBackToTheBit) {
  const std::vector<float> parts = floats(2000);
  std::vector<cf32> values;
  for (std::size_t i = 0; i < parts.size(); ++i) values.emplace_back(parts[i], parts[parts.size() - 1 - i]);
  const auto back = read<std::vector<std::complex<double>>>(text_of(values));
  ASSERT_EQ(back.size(), values.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    const cf32 value(static_cast<float>(back[i].real()), static_cast<float>(back[i].imag()));
    ASSERT_EQ(std::bit_cast<std::uint64_t>(value), std::bit_cast<std::uint64_t>(values[i])) << i << ": " << back[i];
  }
}

TEST(NumbersText, WholeNumbersAreExact) {
  const std::vector<std::int64_t> large{0, -1, std::numeric_limits<std::int64_t>::max(),
                                        std::numeric_limits<std::int64_t>::min()};
  EXPECT_EQ(read<std::vector<std::int64_t>>(text_of(large)), large);
  const std::vector<std::int32_t> small{7, std::numeric_limits<std::int32_t>::min()};
  EXPECT_EQ(read<std::vector<std::int64_t>>(text_of(small)), (std::vector<std::int64_t>{7, -2147483648}));
}

TEST(NumbersText, OneNumberIsTakenByKeysOfOneAndByLists) {
  const std::string real = text_of(std::vector<float>{0.5f});
  EXPECT_EQ(read<double>(real), 0.5);
  EXPECT_EQ(read<std::optional<double>>(real), 0.5);
  EXPECT_EQ(read<std::vector<double>>(real), std::vector<double>{0.5});
  EXPECT_EQ(read<std::complex<double>>(real), 0.5);
  const std::string complex = text_of(std::vector<cf32>{{0.5f, -2}});
  EXPECT_EQ(read<std::complex<double>>(complex), std::complex<double>(0.5, -2));
  EXPECT_EQ(read<std::vector<std::complex<double>>>(complex), (std::vector<std::complex<double>>{{0.5, -2}}));
  EXPECT_EQ(read<std::int64_t>(text_of(std::vector<std::int64_t>{-3})), -3);
}

TEST(NumbersText, WhatIsNotFiniteIsRefusedByTheKey) {
  using L = std::numeric_limits<float>;
  std::string why;
  for (const float bad : {L::quiet_NaN(), L::infinity(), -L::infinity()}) {
    read<std::vector<double>>(text_of(std::vector<float>{1, bad}), &why);
    EXPECT_NE(why.find("is not a finite number"), why.npos) << why;
    read<std::vector<std::complex<double>>>(text_of(std::vector<cf32>{{1, bad}, {bad, 1}}), &why);
    EXPECT_EQ(std::count(why.begin(), why.end(), '\n'), 2) << why;
  }
}

/// An outlet and its sender.
struct ApplyRig {
  explicit ApplyRig(std::string key = "value", std::int64_t most = 4)
      : outlet("a.out", {"lab", "fir", std::move(key)}, format(most)) {}
  static PortFormat format(std::int64_t n) {
    PortFormat f;
    f.element = Element::f32;
    f.dims = {{"value", n}};
    return f;
  }
  void send(const std::vector<float>& values) {
    const PortFormat f = format(std::ssize(values));
    Message m;
    m.format = &f;
    m.payload = bytes_of(values);
    EXPECT_TRUE(outlet.send(m, Lease([](void* n, int) noexcept { ++*static_cast<int*>(n); }, &given_back, 0), false));
  }
  std::string take(std::int64_t now = 0) { return outlet.take(now).value_or("-"); }

  int given_back = 0;
  ApplyOutlet outlet;
};

TEST(ApplyOutlet, GivesTheLastValueWhereItDiffersFromTheOneThatWasSet) {
  ApplyRig rig;
  EXPECT_EQ(rig.take(), "-");
  rig.send({1});
  rig.send({2});
  EXPECT_EQ(rig.given_back, 2) << "messages are released at once";
  EXPECT_EQ(rig.take(), "{value: 2}");
  rig.outlet.applied();
  EXPECT_EQ(rig.take(), "-");
  rig.send({3});
  rig.send({2});
  EXPECT_EQ(rig.take(), "-") << "what came in between is left out";
  rig.send({2, 2});
  EXPECT_EQ(rig.take(), "{value: [2, 2]}");
  rig.outlet.applied();
  EXPECT_EQ(rig.outlet.settings().messages.value(), 2u);
  EXPECT_EQ(rig.outlet.settings().bytes.value(), 12u);
  EXPECT_EQ(rig.outlet.settings().refused.value(), 0u);
}

TEST(ApplyOutlet, KeysOfGroups) {
  ApplyRig rig("design.deep.gain");
  rig.send({0.5f});
  EXPECT_EQ(rig.take(), "{design: {deep: {gain: 0.5}}}");
}

TEST(ApplyOutlet, RefusedValuesAreTriedAgainASecondLaterAndToldOnce) {
  ApplyRig rig;
  rig.send({1});
  ASSERT_EQ(rig.take(0), "{value: 1}");
  rig.outlet.applied();
  const std::uint64_t lines = log::lines();
  for (int turn = 0; turn < 3; ++turn) {
    rig.send({9});
    EXPECT_EQ(rig.take(turn * kSecond), "{value: 9}");
    rig.outlet.refused("too large", turn * kSecond);
    rig.send({9});
    EXPECT_EQ(rig.take(turn * kSecond + kSecond / 2), "-");
  }
  EXPECT_EQ(log::lines(), lines + 1);
  EXPECT_EQ(rig.take(4 * kSecond), "{value: 9}") << "it had been sent";
  rig.outlet.refused("too red", 4 * kSecond);
  EXPECT_EQ(log::lines(), lines + 2) << "another reason";
  rig.send({8});
  EXPECT_EQ(rig.take(5 * kSecond), "{value: 8}");
  rig.outlet.refused("too red by 0.5", 5 * kSecond);
  rig.send({8.5});
  EXPECT_EQ(rig.take(6 * kSecond), "{value: 8.5}");
  rig.outlet.refused("too red by 0.25", 6 * kSecond);
  EXPECT_EQ(log::lines(), lines + 3) << "another number is no other reason";
  EXPECT_EQ(rig.outlet.settings().refused.value(), 6u);
  rig.send({1});
  EXPECT_EQ(rig.take(8 * kSecond), "-") << "it is what is set";
}

TEST(ApplyOutlet, TakesWhateverComesAfterTheKeyWasSetOtherwise) {
  ApplyRig rig;
  rig.send({1});
  ASSERT_EQ(rig.take(), "{value: 1}");
  rig.outlet.applied();
  rig.send({5});
  rig.outlet.forget();
  EXPECT_EQ(rig.take(), "-") << "this was made before";
  rig.send({1});
  EXPECT_EQ(rig.take(), "{value: 1}");
}

TEST(ApplyOutlet, EachValueIsOneMessageWhoeverIsQuicker) {
  constexpr std::int64_t kMost = 300;
  ApplyRig rig("value", 3);
  rig.outlet.expect(ApplyRig::format(kMost));
  std::thread publisher([&] {
    for (int i = 1; i <= 2000; ++i)
      rig.send(std::vector<float>(1 + static_cast<std::size_t>(i % kMost), static_cast<float>(i)));
  });
  const std::string last = "{value: [" + [] {
    std::string list = "2000";
    for (int i = 0; i < 2000 % kMost; ++i) list += ", 2000";
    return list;
  }() + "]}";
  for (std::string text; text != last; std::this_thread::yield()) {
    text = rig.take();
    if (text == "-") continue;
    rig.outlet.applied();
    const auto values = read<std::vector<double>>(text.substr(8, text.size() - 9));
    ASSERT_EQ(std::ssize(values), 1 + static_cast<std::int64_t>(values[0]) % kMost);
    ASSERT_EQ(values, std::vector<double>(values.size(), values[0]));
  }
  publisher.join();
}

}  // namespace
}  // namespace iqd::testing
