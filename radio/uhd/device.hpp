// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <uhd/usrp/multi_usrp.hpp>

#include "base/block.hpp"
#include "radio/uhd/settings.hpp"

namespace iqd::radio::usrp {

/// One USRP, or several as one, with its reference and its time.
class Device {
 public:
  /// Throws SetupError.
  explicit Device(const Settings& settings);

  uhd::usrp::multi_usrp& usrp() const noexcept { return *usrp_; }
  /// Whether its clock was set to the time of day, and goes.
  TimeSource time() const noexcept { return time_; }
  /// `uhd 'addr=192.168.10.2'`, to begin messages with.
  const std::string& name() const noexcept { return name_; }
  /// Returns what `f` returns; what it throws becomes a SetupError that says at which step.
  template <class F> auto step(const char* what, F f) const;

 private:
  void set_sources(const Settings& settings);
  void await_reference() const;
  void set_time(bool by_pulse);
  bool clock_goes() const;

  std::string name_;
  TimeSource time_ = TimeSource::host;
  uhd::usrp::multi_usrp::sptr usrp_;
};

/// A source and a sink with the same `args` share a device: the first that is opened decides on `clock_source` and
/// `time_source`. Who closes one takes it out of here first, so that nobody else gets it meanwhile.
struct SharedDevice {
  std::shared_ptr<Device> device;
};
std::shared_ptr<SharedDevice> open_device(const Settings& settings);

/// Runs `close`, which lets go of a device, in a thread of its own, and waits 3 s for it at most: closing a device that
/// no longer answers takes libuhd through several time-outs of 10 s each.
void close_in_time(const std::string& name, std::function<void()> close);

std::int64_t ns_of(const uhd::time_spec_t& time) noexcept;
uhd::time_spec_t time_of(std::int64_t ns) noexcept;

/// The text of what was thrown, on one line.
std::string text_of(const std::exception_ptr& thrown);
[[noreturn]] void rethrow_as_setup_error(const std::string& name, const char* what);

template <class F> auto Device::step(const char* what, F f) const {
  try {
    return f();
  } catch (...) {
    rethrow_as_setup_error(name_, what);
  }
}

}  // namespace iqd::radio::usrp
