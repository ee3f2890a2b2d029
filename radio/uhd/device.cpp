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
#include <mutex>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "radio/uhd/uhd_log.hpp"

namespace iqd::radio::usrp {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr auto kClosing = 3s;
constexpr int kLockSeconds = 5;

bool is_outside(const std::string& source) {
  return source == "external" || source == "gpsdo";
}

/// `set_time_unknown_pps` waits for a pulse and sets the time at the next. So that we know which second that is, we
/// call it well within one.
void await_middle_of_second() {
  while (true) {
    const double fraction = static_cast<double>(wall_ns() % kSecond) / kSecond;
    if (fraction > 0.2 && fraction < 0.7) return;
    std::this_thread::sleep_for(20ms);
  }
}

}  // namespace

std::shared_ptr<SharedDevice> open_device(const Settings& settings) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<SharedDevice>> open_devices;
  const std::lock_guard lock(mutex);
  auto& known = open_devices[settings.args];
  if (auto shared = known.lock()) return shared;
  auto shared = std::make_shared<SharedDevice>(SharedDevice{std::make_shared<Device>(settings)});
  known = shared;
  return shared;
}

Device::Device(const Settings& s) : name_(fmt::format("uhd '{}'", s.args)) {
  take_uhd_log();
  usrp_ = step("open it; `iqd probe` shows what there is", [&] { return uhd::usrp::multi_usrp::make(s.args); });
  step("choose clock and time source", [&] { set_sources(s); });
  const std::size_t boards = step("count the boards", [&] { return usrp_->get_num_mboards(); });
  if (boards > 1 && !(is_outside(s.clock_source) && is_outside(s.time_source)))
    log::warn("{}: {} USRPs are in step only with a common `clock_source` and `time_source`, e.g. external", name_,
              boards);
  set_time(is_outside(s.time_source));
}

void Device::set_sources(const Settings& s) {
  const auto check = [&](const char* key, const std::string& source, const std::vector<std::string>& there) {
    if (std::find(there.begin(), there.end(), source) == there.end())
      throw SetupError(
          fmt::format("{}: {}: there is no '{}'; there are: {}", name_, key, source, fmt::join(there, ", ")));
  };
  for (std::size_t board = 0; board < usrp_->get_num_mboards(); ++board) {
    if (!s.clock_source.empty()) {
      check("clock_source", s.clock_source, usrp_->get_clock_sources(board));
      usrp_->set_clock_source(s.clock_source, board);
    }
    if (!s.time_source.empty()) {
      check("time_source", s.time_source, usrp_->get_time_sources(board));
      usrp_->set_time_source(s.time_source, board);
    }
  }
  if (is_outside(s.clock_source)) await_reference();
}

void Device::await_reference() const {
  const std::int64_t deadline = steady_ns() + kLockSeconds * kSecond;
  for (std::size_t board = 0; board < usrp_->get_num_mboards(); ++board) {
    const auto sensors = usrp_->get_mboard_sensor_names(board);
    if (std::find(sensors.begin(), sensors.end(), "ref_locked") == sensors.end()) continue;
    while (!usrp_->get_mboard_sensor("ref_locked", board).to_bool()) {
      if (steady_ns() > deadline)
        throw SetupError(
            fmt::format("{}: board {} does not lock to its reference; is the 10 MHz cable in place?", name_, board));
      std::this_thread::sleep_for(50ms);
    }
  }
}

/// With a pulse a second from outside the time is set at one, on all boards at once; without, as soon as it can be.
void Device::set_time(bool by_pulse) {
  if (by_pulse) {
    await_middle_of_second();
    const uhd::time_spec_t next_but_one(static_cast<std::int64_t>(wall_ns() / kSecond + 2), 0.0);
    step("set the time at the pulse of `time_source`", [&] { usrp_->set_time_unknown_pps(next_but_one); });
  }
  try {
    if (!by_pulse) usrp_->set_time_now(time_of(wall_ns()));
    if (clock_goes()) time_ = TimeSource::radio;
  } catch (...) {
    log::info("{}: the radio's clock is not used: {}", name_, text_of(std::current_exception()));
  }
}

/// A clock that cannot be set may say so by standing still.
bool Device::clock_goes() const {
  constexpr std::int64_t kMostOff = 2 * kSecond;
  const std::int64_t first = ns_of(usrp_->get_time_now());
  std::this_thread::sleep_for(5ms);
  const std::int64_t then = ns_of(usrp_->get_time_now());
  if (then > first && std::abs(then - wall_ns()) < kMostOff) return true;
  log::info("{}: the radio's clock cannot be set; times are the host's", name_);
  return false;
}

void close_in_time(const std::string& name, std::function<void()> close) {
  auto closed = std::make_shared<std::promise<void>>();
  auto is_closed = closed->get_future();
  std::thread([close = std::move(close), closed]() mutable {
    try {
      close();
    } catch (...) {
      log::debug("uhd: closing failed: {}", text_of(std::current_exception()));
    }
    close = nullptr;
    closed->set_value();
  }).detach();
  if (is_closed.wait_for(kClosing) != std::future_status::ready)
    log::warn("{}: it does not answer while it is closed; going on without waiting", name);
}

std::int64_t ns_of(const uhd::time_spec_t& time) noexcept {
  return time.get_full_secs() * kSecond + std::llround(time.get_frac_secs() * 1e9);
}

uhd::time_spec_t time_of(std::int64_t ns) noexcept {
  return {ns / kSecond, static_cast<double>(ns % kSecond) / 1e9};
}

std::string text_of(const std::exception_ptr& thrown) {
  std::string text = "an exception without a text";
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
