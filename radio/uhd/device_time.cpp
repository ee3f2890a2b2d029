// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/uhd/device_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "base/clock.hpp"

namespace iqd::radio::usrp {
namespace {

using namespace std::chrono_literals;
using uhd::usrp::multi_usrp;

constexpr std::int64_t kSecond = 1'000'000'000;

/// `set_time_unknown_pps` waits for a pulse and sets the time at the next. It must be called well within a second, so
/// that the number of that second is certain.
void await_middle_of_second() {
  while (true) {
    const double fraction = static_cast<double>(wall_ns() % kSecond) / kSecond;
    if (fraction > 0.2 && fraction < 0.7) return;
    std::this_thread::sleep_for(20ms);
  }
}

std::int64_t gps_second(multi_usrp& usrp, std::size_t board) {
  return usrp.get_mboard_sensor("gps_time", board).to_int();
}

/// Waits for the GPS to report the next second: it does so some time after its pulse, and before the following one.
std::int64_t next_gps_second(multi_usrp& usrp, std::size_t board) {
  constexpr std::int64_t kPatience = 5 * kSecond;  // some GPS take a second to answer
  const std::int64_t first = gps_second(usrp, board);
  for (const std::int64_t deadline = steady_ns() + kPatience; steady_ns() < deadline; std::this_thread::sleep_for(20ms))
    if (const std::int64_t now = gps_second(usrp, board); now != first) return now;
  throw std::runtime_error(fmt::format("the GPS time of board {} stands still at {}", board, first));
}

void set_time_by_gps(multi_usrp& usrp, std::size_t board) {
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i) {
    usrp.set_time_next_pps(uhd::time_spec_t(next_gps_second(usrp, board) + 1, 0.0), board);
    // The next second may still be the one at whose pulse the time was set.
    next_gps_second(usrp, board);
    const std::int64_t told = next_gps_second(usrp, board);
    if (usrp.get_time_last_pps(board).get_full_secs() == told) return;
  }
  throw std::runtime_error(fmt::format("the GPS time of board {} does not match its pulses", board));
}

}  // namespace

bool has_sensor(multi_usrp& usrp, const char* name, std::size_t board) {
  const auto there = usrp.get_mboard_sensor_names(board);
  return std::find(there.begin(), there.end(), name) != there.end();
}

void set_time_at_pulse(multi_usrp& usrp) {
  await_middle_of_second();
  usrp.set_time_unknown_pps(uhd::time_spec_t(static_cast<std::int64_t>(wall_ns() / kSecond + 2), 0.0));
  if (!usrp.get_time_synchronized())
    throw std::runtime_error("the boards have different times; does the pulse reach each board?");
}

void set_time_by_gps(multi_usrp& usrp) {
  for (std::size_t board = 0; board < usrp.get_num_mboards(); ++board) set_time_by_gps(usrp, board);
}

}  // namespace iqd::radio::usrp
