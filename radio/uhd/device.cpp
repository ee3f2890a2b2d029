// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/uhd/device.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <map>
#include <memory>
#include <system_error>
#include <thread>
#include <uhd/exception.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "radio/uhd/device_time.hpp"
#include "radio/uhd/uhd_log.hpp"

namespace iqd::radio::usrp {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr auto kClosing = 3s;

bool is_outside(const std::string& source) {
  return source == "external" || source == "gpsdo";
}

/// On a busy host or network, libuhd may mistake a late answer for a wrong one ("No CHDR connection available").
uhd::usrp::multi_usrp::sptr make_at_the_second_try(const std::string& args) {
  try {
    return uhd::usrp::multi_usrp::make(args);
  } catch (const uhd::runtime_error&) {  // a missing device throws another exception
    log::info("uhd '{}': trying again: {}", args, text_of(std::current_exception()));
  }
  std::this_thread::sleep_for(500ms);
  return uhd::usrp::multi_usrp::make(args);
}

}  // namespace

std::shared_ptr<SharedDevice> open_device(const Settings& settings) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<SharedDevice>> open_devices;
  const std::lock_guard lock(mutex);
  auto& known = open_devices[settings.args];
  if (auto shared = known.lock(); shared && !shared->device->is_given_up()) return shared;
  auto shared = std::make_shared<SharedDevice>(SharedDevice{std::make_shared<Device>(settings)});
  known = shared;
  return shared;
}

Device::Device(const Settings& s)
    : name_(fmt::format("uhd '{}'", s.args)),
      args_(s.args),
      clock_source_(s.clock_source),
      time_source_(s.time_source),
      lock_within_s_(s.lock_within_s) {
  take_uhd_log();
  usrp_ = step("open it (`iqd probe` lists the radios)", [&] { return make_at_the_second_try(args_); });
  step("set clock and time source", [&] { set_sources(); });
  const std::size_t boards = step("count the boards", [&] { return usrp_->get_num_mboards(); });
  if (boards > 1 && !(is_outside(clock_source_) && is_outside(time_source_)))
    log::warn("{}: {} USRPs are in step only with a shared `clock_source` and `time_source`, e.g. external", name_,
              boards);
  OpenRadio radio{"uhd", args_, step("read its identity", [&] { return facts_of(*usrp_); })};
  hardware_ = radio.hardware();
  log::info("{}: {}", name_, hardware_);
  on_list_.emplace(std::move(radio), [this] { return read(); });
}

void Device::set_sources() {
  const auto check = [&](const char* key, const std::string& source, const std::vector<std::string>& there) {
    if (std::find(there.begin(), there.end(), source) == there.end())
      throw SetupError(
          fmt::format("{}: {}: there is no '{}'; there are: {}", name_, key, source, fmt::join(there, ", ")));
  };
  for (std::size_t board = 0; board < usrp_->get_num_mboards(); ++board) {
    if (!clock_source_.empty()) {
      check("clock_source", clock_source_, usrp_->get_clock_sources(board));
      usrp_->set_clock_source(clock_source_, board);
    }
    if (!time_source_.empty()) {
      check("time_source", time_source_, usrp_->get_time_sources(board));
      usrp_->set_time_source(time_source_, board);
    }
  }
  await_reference();
}

void Device::await_reference() const {
  const auto await = [&](const char* sensor, const char* why) {
    for (std::size_t board = 0; board < usrp_->get_num_mboards(); ++board)
      if (has_sensor(*usrp_, sensor, board) &&
          !comes_true(lock_within_s_, [&] { return usrp_->get_mboard_sensor(sensor, board).to_bool(); }))
        throw SetupError(fmt::format("{}: board {} {} within {} s (`lock_within`)", name_, board, why, lock_within_s_));
  };
  if (is_outside(clock_source_)) await("ref_locked", "did not lock to its 10 MHz reference (is the cable connected?)");
  if (clock_source_ == "gpsdo" || time_source_ == "gpsdo")
    await("gps_locked", "did not get a GPS fix (is the antenna connected?)");
}

void Device::set_time() {
  if (stands_ || (time_ == TimeSource::radio && is_right())) return;
  if (is_outside(time_source_)) {
    step("set the time at the pulse of `time_source`", [&] { set_time_at_pulse(); });
    time_ = TimeSource::radio;
    return;
  }
  try {
    usrp_->set_time_now(time_of(wall_ns()));
    if (is_right())
      time_ = TimeSource::radio;
    else
      log::info("{}: the radio's clock cannot be set; using host time", name_);
  } catch (...) {
    log::info("{}: using host time, since the radio's clock failed: {}", name_, text_of(std::current_exception()));
  }
  stands_ = time_ == TimeSource::host;
}

void Device::set_time_at_pulse() {
  if (time_source_ == "gpsdo" && has_sensor(*usrp_, "gps_time", 0)) return set_time_by_gps(*usrp_);
  usrp::set_time_at_pulse(*usrp_);
}

/// Some clocks cannot be set and show it only by standing still.
bool Device::is_right() const {
  constexpr std::int64_t kMostOff = 2 * kSecond;
  const std::int64_t first = ns_of(usrp_->get_time_now());
  std::this_thread::sleep_for(5ms);
  const std::int64_t then = ns_of(usrp_->get_time_now());
  return then > first && std::abs(then - wall_ns()) < kMostOff;
}

void Device::watch(bool transmits, const std::vector<std::size_t>& channels) {
  {
    const std::lock_guard lock(channels_);
    watched_[transmits].insert(channels.begin(), channels.end());
  }
  on_list_->read_soon();
}

void Device::set_on_air(bool is_on) {
  if (on_air_.exchange(is_on) != static_cast<int>(is_on)) on_list_->read_soon();
}

void close_in_time(const std::string& name, std::function<void()> close) {
  auto closed = std::make_shared<std::promise<void>>();
  auto is_closed = closed->get_future();
  const auto work = [closed, it = std::make_shared<std::function<void()>>(std::move(close))] {
    try {
      (*it)();
    } catch (...) {
      log::debug("uhd: closing failed: {}", text_of(std::current_exception()));
    }
    *it = nullptr;
    closed->set_value();
  };
  try {
    std::thread(work).detach();
  } catch (const std::system_error& e) {
    log::warn("{}: cannot start a thread to close it: {}", name, e.what());
    work();
  }
  if (is_closed.wait_for(kClosing) != std::future_status::ready)
    log::warn("{}: the device does not respond to closing; continuing without waiting", name);
}

bool comes_true(double within_s, const std::function<bool()>& holds) {
  const std::int64_t deadline = steady_ns() + std::llround(within_s * kSecond);
  while (!holds()) {
    if (steady_ns() > deadline) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

std::int64_t ns_of(const uhd::time_spec_t& time) noexcept {
  constexpr std::int64_t kMost = 4'500'000'000;
  const std::int64_t seconds = std::clamp<std::int64_t>(time.get_full_secs(), -kMost, kMost);
  return seconds * kSecond + std::llround(time.get_frac_secs() * 1e9);
}

uhd::time_spec_t time_of(std::int64_t ns) noexcept {
  return {ns / kSecond, static_cast<double>(ns % kSecond) / 1e9};
}

std::string text_of(const std::exception_ptr& thrown) {
  std::string text = "unknown exception";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    text = e.what();
  } catch (...) {
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

void rethrow_as_setup_error(const std::string& name, const char* what) {
  try {
    throw;
  } catch (const SetupError&) {
    throw;
  } catch (...) {
    throw SetupError(fmt::format("{}: cannot {}: {}", name, what, text_of(std::current_exception())));
  }
}

}  // namespace iqd::radio::usrp
