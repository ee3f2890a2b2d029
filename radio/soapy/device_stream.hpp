// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SoapySDR/Device.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/block.hpp"
#include "base/device_key.hpp"
#include "base/element.hpp"
#include "base/open_radios.hpp"
#include "radio/soapy/listing.hpp"
#include "radio/soapy/settings.hpp"

namespace iqd::radio::soapy {

struct UnmakeDevice {
  void operator()(SoapySDR::Device* device) const noexcept;
};
struct CloseStream {
  SoapySDR::Device* device = nullptr;
  void operator()(SoapySDR::Stream* stream) const noexcept;
};

/// A device with one stream of one direction, not yet active. Exceptions of the module during opening become a
/// SetupError that names the step. Closing never throws, whatever the device's state.
class DeviceStream {
 public:
  DeviceStream(const Settings& settings, int direction, Element element);

  /// Activates the stream. Throws SetupError.
  void start();
  /// Stops the stream; it may be started again. Throws SetupError.
  void stop();
  /// Sets the lowest gain, and the requested gain again. Both throw SetupError.
  void quieten(const Settings& settings);
  void amplify(const Settings& settings);
  /// The values that a transmitter actually has. Throws SetupError.
  Emission granted(const Settings& settings, std::size_t channel) const;
  /// Applies frequency, gain, antenna and bandwidth; one that is left out now returns to the device's own value. Throws
  /// SetupError if the device refuses; then nothing has changed.
  void retune(const Settings& settings);

  /// The first channel's settings, as read when it was opened or last retuned.
  const DeviceKeys& keys() const noexcept { return keys_; }

  SoapySDR::Device& device() const noexcept { return *device_; }
  SoapySDR::Stream* stream() const noexcept { return stream_.get(); }
  double rate_hz() const noexcept { return rate_hz_; }
  double frequency_hz() const noexcept { return frequency_hz_; }
  /// Full scale of the real or imaginary part of a sample.
  double full_scale() const noexcept { return full_scale_; }
  /// Whether the stream has the device's own format, so that the module does not convert.
  bool native() const noexcept { return native_; }
  /// `e320 FA4EDE7, firmware …`, as far as the module reports it.
  const std::string& hardware() const noexcept { return hardware_; }
  /// Whether the device's clock has the time of day. A clock that counts from its own start is set to the host's time.
  TimeSource time() const noexcept { return time_; }
  /// Called when the device is found gone: idle streams then release it, so that it can be opened again.
  void give_up(bool gone) const noexcept { shared_->given_up = gone; }
  bool is_given_up() const noexcept { return shared_->given_up; }
  /// `soapy 'driver=iqdsim'`, the start of messages.
  const std::string& name() const noexcept { return name_; }

 private:
  template <class F> auto step(const char* what, F f) const;
  void make(const Settings& settings);
  void check_channels(const Settings& settings) const;
  void set_live(const Settings& settings);
  Settings as_it_is(Settings settings) const;
  Settings with_own_values(Settings next) const;
  void check_antenna(const std::string& name) const;
  void write_settings(const Settings& settings);
  void set_rate(const Settings& settings);
  void set_clock();
  void set_up_stream(const Settings& settings, Element element);

  std::string name_;
  int direction_;
  std::vector<std::size_t> channels_;
  double rate_hz_ = 0;
  double frequency_hz_ = 0;
  double full_scale_ = 1;
  DeviceKeys keys_;
  DeviceKeys own_;         // as read before any live key was set
  bool own_agc_ = false;   // the same
  RadioSettings applied_;  // the live keys as last asked for
  bool native_ = false;
  std::string hardware_;
  TimeSource time_ = TimeSource::host;
  std::unique_ptr<SoapySDR::Device, UnmakeDevice> device_;
  std::unique_ptr<SoapySDR::Stream, CloseStream> stream_;
  std::shared_ptr<SharedRadio> shared_;
};

/// Time stamps before the year 2000 do not count from the Unix epoch.
inline constexpr std::int64_t kYear2000Ns = 946'684'800'000'000'000;

/// The text of an exception thrown by a module.
std::string text_of(const std::exception_ptr& thrown);

}  // namespace iqd::radio::soapy
