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

/// libuhd's calls for one direction.
struct Calls;
extern const Calls kReceive;
extern const Calls kTransmit;

/// The channels of a device in one direction, configured and with locked oscillators. Exceptions of libuhd become a
/// SetupError that names the step. A transmitter has its lowest gain until it is switched on.
class FrontEnd {
 public:
  FrontEnd(const Settings& settings, const Calls& calls);
  /// Applies settings that may change while samples flow, and returns the device time from which they hold. One that
  /// is left out now returns to the device's own value. Throws SetupError if the device refuses; then nothing has
  /// changed.
  uhd::time_spec_t retune(const Settings& settings);

  /// Sets the requested gain or power of a transmitter. Throws SetupError if the resulting gain is not permitted; then
  /// the transmitter is off.
  void switch_on();
  /// Sets the lowest gain.
  void switch_off();

  uhd::stream_args_t stream_args(Element element) const;
  Device& device() const noexcept { return *device_; }
  uhd::usrp::multi_usrp& usrp() const noexcept { return device_->usrp(); }
  const std::string& name() const noexcept { return device_->name(); }
  const Settings& settings() const noexcept { return settings_; }
  std::size_t channels() const noexcept { return channels_.size(); }
  /// The first channel's settings, as read when it was opened or last retuned.
  const DeviceKeys& keys() const noexcept { return keys_; }
  double rate_hz() const noexcept { return rate_hz_; }
  double frequency_hz() const noexcept { return frequency_hz_; }
  /// Call before closing the device: from now on, nobody else gets it.
  void leave() noexcept { shared_.reset(); }
  /// Moves the device out; only `leave` may be called afterwards.
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
  DeviceKeys read_keys(const Settings& settings) const;

  const Calls& calls_;
  Settings settings_;
  std::vector<std::size_t> channels_;
  double rate_hz_ = 0;
  double frequency_hz_ = 0;
  DeviceKeys keys_;
  DeviceKeys own_;         // as read before any live key was set
  RadioSettings applied_;  // the live keys as last asked for
  std::shared_ptr<SharedDevice> shared_;
  std::shared_ptr<Device> device_;
};

}  // namespace iqd::radio::usrp
