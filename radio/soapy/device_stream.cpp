// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy/device_stream.hpp"

#include <SoapySDR/Constants.h>
#include <SoapySDR/Errors.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <mutex>
#include <set>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "radio/own_values.hpp"
#include "radio/soapy/device_keys.hpp"
#include "radio/soapy/gain.hpp"
#include "radio/soapy/module_log.hpp"
#include "radio/soapy/ranges.hpp"

namespace iqd::radio::soapy {
namespace {

/// Whether a device with these arguments has been open since the process began.
bool remember(const std::string& args, bool is_open) {
  static std::mutex mutex;
  static std::set<std::string> all;
  const std::lock_guard lock(mutex);
  return is_open ? !all.insert(args).second : all.contains(args);
}

}  // namespace

std::string text_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "unknown exception";
  }
}

void UnmakeDevice::operator()(SoapySDR::Device* device) const noexcept {
  try {
    SoapySDR::Device::unmake(device);
  } catch (...) {
    log::debug("soapy: closing the device failed: {}", text_of(std::current_exception()));
  }
}

void CloseStream::operator()(SoapySDR::Stream* stream) const noexcept {
  try {
    device->deactivateStream(stream);
  } catch (...) {
    log::debug("soapy: stopping the stream failed: {}", text_of(std::current_exception()));
  }
  try {
    device->closeStream(stream);
  } catch (...) {
    log::debug("soapy: closing the stream failed: {}", text_of(std::current_exception()));
  }
}

/// Returns what `f` returns. Exceptions of `f` become a SetupError that names the step.
template <class F> auto DeviceStream::step(const char* what, F f) const {
  try {
    return f();
  } catch (const SetupError&) {
    throw;
  } catch (...) {
    throw SetupError(fmt::format("{}: cannot {}: {}", name_, what, text_of(std::current_exception())));
  }
}

DeviceStream::DeviceStream(const Settings& s, int direction, Element element)
    : name_(fmt::format("soapy '{}'", s.args)), direction_(direction), channels_(s.channels.begin(), s.channels.end()) {
  take_log();
  make(s);
  step("check the channels", [&] { check_channels(s); });
  write_settings(s);
  step("set the rate", [&] { set_rate(s); });
  step("check the settings", [&] { check_ranges(*device_, direction_, channels_, s, name_); });
  own_ = keys_of(*device_, direction_, channels_[0], {});
  own_agc_ = has_automatic_gain(*device_, direction_, channels_[0]);
  set_live(s);
  applied_ = s;
  set_clock();
  set_up_stream(s, element);
  hardware_ = OpenRadio{.driver = "soapy", .args = s.args, .facts = facts_of(*device_)}.hardware();
  shared_ = share(*device_, s.args);
}

/// A device that was open before is disconnected, not misspelt: then no search, which would disturb other radios.
void DeviceStream::make(const Settings& s) {
  std::string reason = "the module returned no device";
  try {
    device_.reset(SoapySDR::Device::make(s.args));
  } catch (...) {
    reason = text_of(std::current_exception());
  }
  const bool was_open = remember(s.args, device_ != nullptr);
  if (!device_ && was_open) throw SetupError(fmt::format("{}: cannot open: {}", name_, reason));
  if (!device_)
    throw SetupError(
        fmt::format("{}: cannot open: {}\ndevices found:{}\n{}", name_, reason, found_devices(), where_modules_are()));
}

void DeviceStream::check_channels(const Settings& s) const {
  const std::size_t there = device_->getNumChannels(direction_);
  for (const std::size_t channel : channels_)
    if (channel >= there)
      throw SetupError(fmt::format("{}: there is no {} channel {}; the radio has {}, numbered from 0", name_,
                                   direction_ == SOAPY_SDR_RX ? "receive" : "transmit", channel, there));
  check_antenna(s.antenna);
}

void DeviceStream::check_antenna(const std::string& name) const {
  if (name.empty()) return;
  const auto antennas = device_->listAntennas(direction_, channels_[0]);
  if (!antennas.empty() && std::find(antennas.begin(), antennas.end(), name) == antennas.end())
    throw SetupError(
        fmt::format("{}: there is no antenna '{}'; there are: {}", name_, name, fmt::join(antennas, ", ")));
}

/// Modules ignore unknown settings silently, and not all modules list every setting.
void DeviceStream::write_settings(const Settings& s) {
  if (s.settings.empty()) return;
  std::vector<std::string> listed;
  step("list the settings", [&] {
    for (const SoapySDR::ArgInfo& info : device_->getSettingInfo()) listed.push_back(info.key);
  });
  for (const auto& [key, value] : s.settings) {
    if (!listed.empty() && std::find(listed.begin(), listed.end(), key) == listed.end())
      log::warn("{}: the module does not list the setting '{}'; listed: {}", name_, key, fmt::join(listed, ", "));
    step("write a setting", [&, &k = key, &v = value] { device_->writeSetting(k, v); });
  }
}

void DeviceStream::set_rate(const Settings& s) {
  for (const std::size_t c : channels_) {
    device_->setSampleRate(direction_, c, s.rate_hz);
    rate_hz_ = device_->getSampleRate(direction_, c);
    if (!std::isfinite(rate_hz_) || rate_hz_ <= 0)
      throw SetupError(fmt::format("{}: the module reports {} samples a second", name_, rate_hz_));
    if (!s.accepts(rate_hz_))
      throw SetupError(fmt::format("{}: {}", name_, s.refusal(static_cast<std::int64_t>(c), rate_hz_)));
    if (const double first_hz = device_->getSampleRate(direction_, channels_[0]); rate_hz_ != first_hz)
      throw SetupError(
          fmt::format("{}: channel {} has {} samples a second and channel {} has {}: all channels of a "
                      "stream need the same rate; choose a rate that both support",
                      name_, channels_[0], first_hz, c, rate_hz_));
  }
}

void DeviceStream::set_live(const Settings& s) {
  for (const std::size_t c : channels_) {
    if (!s.antenna.empty()) step("set the antenna", [&] { device_->setAntenna(direction_, c, s.antenna); });
    if (s.bandwidth_hz) step("set the bandwidth", [&] { device_->setBandwidth(direction_, c, *s.bandwidth_hz); });
    step("set the gain mode", [&] { choose_gain_mode(*device_, direction_, c, s); });
    if (s.frequency_hz) step("set the frequency", [&] { device_->setFrequency(direction_, c, *s.frequency_hz); });
    step("set the gain", [&] { set_gain(*device_, direction_, c, s); });
  }
  try {
    frequency_hz_ = device_->getFrequency(direction_, channels_[0]);
  } catch (...) {
    frequency_hz_ = s.frequency_hz.value_or(frequency_hz_);
  }
  keys_ = keys_of(*device_, direction_, channels_[0], s);
}

/// The settings, with the device's current values of the live keys.
Settings DeviceStream::as_it_is(Settings now) const {
  const std::size_t first = channels_[0];
  now.frequency_hz = device_->getFrequency(direction_, first);
  if (!now.agc) now.gain_db = device_->getGain(direction_, first);
  now.antenna = device_->getAntenna(direction_, first);
  const double bandwidth_hz = device_->getBandwidth(direction_, first);
  now.bandwidth_hz = bandwidth_hz > 0 ? std::optional(bandwidth_hz) : std::nullopt;
  return now;
}

Settings DeviceStream::with_own_values(Settings next) const {
  const bool leaves_gain = applied_.gain_db && !next.gain_db;
  restore_own(next, applied_, own_);
  if (leaves_gain && own_agc_) {
    next.agc = true;
    next.gain_db.reset();
  }
  return next;
}

/// A device that does not take a value, but can still be asked, has refused it.
void DeviceStream::retune(const Settings& asked) {
  const Settings s = with_own_values(asked);
  const auto ask = [&] {
    try {
      return as_it_is(s);
    } catch (...) {
      throw NotNow(fmt::format("{}: the radio does not answer: {}", name_, text_of(std::current_exception())));
    }
  };
  const Settings before = ask();
  step("check the new settings", [&] {
    check_ranges(*device_, direction_, channels_, s, name_);
    check_antenna(s.antenna);
  });
  try {
    set_live(s);
  } catch (const SetupError&) {
    try {
      set_live(before);
    } catch (const SetupError& e) {
      log::debug("{}", e.what());
    }
    ask();
    throw;
  }
  applied_ = asked;
}

void DeviceStream::set_clock() {
  try {
    if (!device_->hasHardwareTime()) return;
    if (device_->getHardwareTime() < kYear2000Ns) device_->setHardwareTime(wall_ns());
    if (device_->getHardwareTime() >= kYear2000Ns) time_ = TimeSource::radio;
  } catch (...) {
    log::info("{}: using host time, since the radio's clock failed: {}", name_, text_of(std::current_exception()));
  }
}

void DeviceStream::set_up_stream(const Settings& s, Element element) {
  const std::string format = element == Element::cf32 ? "CF32" : "CS16";
  std::string native;
  double full_scale = 32768;
  step("check the formats", [&] {
    const auto offered = device_->getStreamFormats(direction_, channels_[0]);
    if (!offered.empty() && std::find(offered.begin(), offered.end(), format) == offered.end())
      throw SetupError(fmt::format("{}: the module does not offer {} ({}); it offers {}", name_, format,
                                   name_of(element), fmt::join(offered, ", ")));
    native = device_->getNativeStreamFormat(direction_, channels_[0], full_scale);
    if (native != format) full_scale = 32768;
  });
  // Some modules return the values of a converter with fewer bits unscaled.
  if (format == "CS16" && full_scale < 32767)
    log::warn("{}: the module's 16-bit samples have full scale {}, not 32768; the module scales `format: cf32`", name_,
              full_scale);
  if (format == "CS16") full_scale_ = full_scale >= 2 && full_scale <= 32768 ? full_scale : 32768;
  stream_ = {step("set up the stream",
                  [&] {
                    const SoapySDR::Kwargs args(s.stream_args.begin(), s.stream_args.end());
                    return device_->setupStream(direction_, format, channels_, args);
                  }),
             CloseStream{device_.get()}};
  if (!stream_) throw SetupError(fmt::format("{}: cannot set up the stream: the module returned none", name_));
  native_ = native == format;
}

void DeviceStream::start() {
  const int code = step("start the stream", [&] { return device_->activateStream(stream_.get()); });
  if (code != 0) throw SetupError(fmt::format("{}: cannot start the stream: {}", name_, SoapySDR_errToStr(code)));
}

void DeviceStream::quieten(const Settings& s) {
  for (const std::size_t c : channels_) step("reduce the gain", [&] { set_lowest_gain(*device_, direction_, c, s); });
}

void DeviceStream::amplify(const Settings& s) {
  for (const std::size_t c : channels_) step("set the gain", [&] { set_gain(*device_, direction_, c, s); });
}

void DeviceStream::stop() {
  step("stop the stream", [&] { device_->deactivateStream(stream_.get()); });
}

Emission DeviceStream::granted(const Settings& s, std::size_t channel) const {
  return step("read frequency and gain", [&] {
    Emission emission = s.emission(rate_hz_);
    if (emission.frequency_hz) emission.frequency_hz = device_->getFrequency(direction_, channel);
    if (emission.gain_db) emission.gain_db = device_->getGain(direction_, channel);
    return emission;
  });
}

}  // namespace iqd::radio::soapy
