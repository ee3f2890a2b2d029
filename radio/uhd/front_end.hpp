// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "radio/uhd/device.hpp"
#include "radio/uhd/settings.hpp"

namespace iqd::radio::usrp {

/// libuhd's calls of one direction, by what they do.
struct Calls;
extern const Calls kReceive;
extern const Calls kTransmit;

/// The channels of a device in one direction, set up as asked, their oscillators locked. Whatever libuhd throws
/// meanwhile becomes a SetupError that says at which step. A transmitter is at its lowest gain until it is switched on.
class FrontEnd {
 public:
  FrontEnd(const Settings& settings, const Calls& calls);
  /// Takes over what may change while samples flow. Throws SetupError where that is refused; then all is as before.
  /// Returns the device's time from which on it holds.
  uhd::time_spec_t retune(const Settings& settings);

  /// Gives a transmitter the gain or power that was asked for. Throws SetupError where what it then has is not
  /// permitted; then it is off.
  void switch_on();
  /// Takes it away again: the lowest gain there is.
  void switch_off();

  uhd::stream_args_t stream_args(Element element) const;
  Device& device() const noexcept { return *device_; }
  uhd::usrp::multi_usrp& usrp() const noexcept { return device_->usrp(); }
  const std::string& name() const noexcept { return device_->name(); }
  const Settings& settings() const noexcept { return settings_; }
  std::size_t channels() const noexcept { return channels_.size(); }
  double rate_hz() const noexcept { return rate_hz_; }
  double frequency_hz() const noexcept { return frequency_hz_; }
  /// From here on nobody else gets the device: it is about to be closed.
  void leave() noexcept { shared_.reset(); }
  /// Gives the device away; nothing else may be called then, but `leave`.
  std::shared_ptr<Device> release() noexcept {
    leave();
    return std::move(device_);
  }

 private:
  void choose_channels();
  void set_rate();
  void set_gain_profile();
  void check_ranges(const Settings& settings) const;
  Settings before(const Settings& next) const;
  uhd::time_spec_t set_live(const Settings& settings);
  void set_antenna(const std::string& antenna);
  uhd::time_spec_t set_frequency(double hz);
  void set_level(const Settings& settings);
  void await_locks(double within_s) const;
  void require_permitted() const;

  const Calls& calls_;
  Settings settings_;
  std::vector<std::size_t> channels_;
  double rate_hz_ = 0;
  double frequency_hz_ = 0;
  std::shared_ptr<SharedDevice> shared_;
  std::shared_ptr<Device> device_;
};

}  // namespace iqd::radio::usrp
