// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/open_radios.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <stdexcept>
#include <thread>

#include "base/log.hpp"

namespace iqd {
namespace {

using namespace std::chrono_literals;

/// Waits for a condition, 10 s at most.
template <class F> bool comes_true(F f) {
  for (int i = 0; i < 10'000 && !f(); ++i) std::this_thread::sleep_for(1ms);
  return f();
}

RadioReadings nothing() {
  return {};
}

TEST(OpenRadios, AreThoseThatLive) {
  EXPECT_TRUE(open_radios().empty());
  std::optional<RadioOnList> first;
  first.emplace(OpenRadio{"uhd", "a", {}}, nothing);
  const RadioOnList second({"soapy", "b", {{"serial", "7"}}}, [] { return RadioReadings{{"lo", "rx 0", 1, true}}; });
  ASSERT_TRUE(comes_true([] { return open_radios().size() == 2 && !open_radios()[1].readings.empty(); }));
  EXPECT_EQ(open_radios()[1].readings[0].of, "rx 0");
  EXPECT_GT(open_radios()[1].read_ns, 0);
  first.reset();
  ASSERT_EQ(open_radios().size(), 1u);
  EXPECT_EQ(open_radios()[0].args, "b");
}

TEST(OpenRadios, HardwareIsWhatIsKnown) {
  EXPECT_EQ(OpenRadio{}.hardware(), "");
  EXPECT_EQ((OpenRadio{"uhd", "", {{"serial", "1"}, {"product", "b210"}, {"fpga", "16.0"}}}).hardware(),
            "b210 1, fpga 16.0");
  EXPECT_EQ((OpenRadio{"uhd", "", {{"firmware", "8.0"}, {"serial", ""}}}).hardware(), "firmware 8.0");
}

TEST(OpenRadios, ALockThatGoesOrComesIsALine) {
  std::atomic<int> reads{0};
  std::atomic<double> lock{1};
  const std::uint64_t before = log::lines();
  RadioOnList radio({"uhd", "", {}}, [&] {
    ++reads;
    return RadioReadings{{"reference", "board 0", lock, true}, {"temperature", "", 0, false}};
  });
  const auto read_again = [&] {
    const int now = reads;
    radio.read_soon();
    // The requested read has ended when the second one after it begins.
    if (!comes_true([&] { return reads > now; })) return false;
    radio.read_soon();
    return comes_true([&] { return reads > now + 1; });
  };
  ASSERT_TRUE(read_again());
  EXPECT_EQ(log::lines(), before);
  lock = 0;
  ASSERT_TRUE(read_again());
  EXPECT_EQ(log::lines(), before + 1);
  EXPECT_EQ(open_radios()[0].readings[0].value, 0);
  lock = 1;
  ASSERT_TRUE(read_again());
  EXPECT_EQ(log::lines(), before + 2);
}

TEST(OpenRadios, OneThatDoesNotAnswerIsShownAsItWas) {
  std::atomic<int> reads{0};
  RadioOnList radio({"uhd", "", {}}, [&]() -> RadioReadings {
    if (reads++ > 0) throw std::runtime_error("it is disconnected");
    return {{"temperature", "", 40, false}};
  });
  radio.read_soon();
  ASSERT_TRUE(comes_true([&] { return reads > 1; }));
  ASSERT_EQ(open_radios()[0].readings.size(), 1u);
  EXPECT_EQ(open_radios()[0].readings[0].value, 40);
}

TEST(OpenRadios, ListingWaitsForNoRadioAndLettingGoForItsReading) {
  std::promise<void> answer;
  const auto answered = answer.get_future().share();
  std::atomic<bool> began{false}, done{false};
  auto radio = std::make_unique<RadioOnList>(OpenRadio{"uhd", "", {}}, [&, answered] {
    began = true;
    answered.wait();
    done = true;
    return RadioReadings{};
  });
  ASSERT_TRUE(comes_true([&] { return began.load(); }));
  EXPECT_EQ(open_radios().size(), 1u);
  std::thread lets_go([&] {
    radio.reset();
    EXPECT_TRUE(done);
  });
  EXPECT_TRUE(comes_true([] { return open_radios().empty(); }));
  answer.set_value();
  lets_go.join();
}

}  // namespace
}  // namespace iqd
