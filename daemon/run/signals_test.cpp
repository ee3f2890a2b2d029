// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/signals.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "base/error.hpp"
#include "tests/support/few_descriptors.hpp"

namespace iqd {
namespace {

using namespace std::chrono_literals;
using When = EndOnSignal::When;

constexpr auto kNothing = [] {};

/// The next signal, or 0 after two seconds.
int next_of(const Signals& signals) {
  for (int tick = 0; tick < 40; ++tick)
    if (const int signal = signals.wait()) return signal;
  return 0;
}

/// Runs in its own process, where signals hit nobody else.
template <class F> [[noreturn]] void alone(F body) {
  body();
  std::_Exit(77);
}

TEST(EndOnSignal, SpansBeginAndEndWithoutDescriptors) {
  const Signals signals;
  EndOnSignal ends(signals, kNothing);
  const FewDescriptors none;
  for (int i = 0; i < 1000; ++i) const EndOnSignal::Span span(ends, When::patience_is_out);
}

TEST(EndOnSignal, WithoutDescriptorsItIsRefusedAtTheStart) {
  const FewDescriptors none;
  EXPECT_THROW(Signals(), SetupError);
}

TEST(EndOnSignal, LooksWhileASpanLasts) {
  const Signals signals;
  std::atomic<int> looks = 0;
  EndOnSignal ends(signals, [&] { ++looks; });
  {
    const EndOnSignal::Span span(ends, When::patience_is_out);
    for (int i = 0; i < 2000 && looks == 0; ++i) std::this_thread::sleep_for(1ms);
  }
  EXPECT_GT(looks, 0);
  const int before = looks;
  std::this_thread::sleep_for(150ms);
  EXPECT_EQ(looks, before) << "look is not called between spans";
}

TEST(EndOnSignal, NothingRunsYetSoItEndsAtOnce) {
  EXPECT_EXIT(alone([] {
                const Signals signals;
                EndOnSignal ends(signals, kNothing);
                const EndOnSignal::Span span(ends, When::at_once);
                ::kill(::getpid(), SIGTERM);
                std::this_thread::sleep_for(10s);
              }),
              ::testing::ExitedWithCode(0), "");
}

TEST(EndOnSignal, ASignalIsPassedOnWhenTheSpanIsOver) {
  EXPECT_EXIT(alone([] {
                const Signals signals;
                EndOnSignal ends(signals, kNothing);
                for (const int sent : {SIGHUP, SIGTERM}) {
                  {
                    const EndOnSignal::Span span(ends, When::patience_is_out);
                    ::kill(::getpid(), sent);
                    std::this_thread::sleep_for(200ms);
                  }
                  if (next_of(signals) != sent) std::_Exit(1);
                  if ((signals.stop_asked_ns() > 0) != (sent == SIGTERM)) std::_Exit(2);
                }
                std::_Exit(0);
              }),
              ::testing::ExitedWithCode(0), "");
}

TEST(EndOnSignal, ASpanThatTakesTooLongIsTheEnd) {
  EXPECT_EXIT(alone([] {
                const Signals signals;
                EndOnSignal ends(signals, kNothing);
                const EndOnSignal::Span span(ends, When::patience_is_out);
                ::kill(::getpid(), SIGTERM);
                std::this_thread::sleep_for(10s);
              }),
              ::testing::ExitedWithCode(1), "takes too long");
}

}  // namespace
}  // namespace iqd
