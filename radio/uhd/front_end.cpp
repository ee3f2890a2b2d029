// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/uhd/front_end.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.hpp"
#include "radio/own_values.hpp"
#include "radio/uhd/calls.hpp"

namespace iqd::radio::usrp {

namespace {

void require_one_of(const std::string& name, const char* what, const std::string& wanted,
                    const std::vector<std::string>& there) {
  if (std::find(there.begin(), there.end(), wanted) == there.end())
    throw SetupError(fmt::format("{}: there is no {} '{}'; there are: {}", name, what, wanted, fmt::join(there, ", ")));
}

}  // namespace

FrontEnd::FrontEnd(const Settings& s, const Calls& calls)
    : calls_(calls),
      settings_(s),
      channels_(s.channels.begin(), s.channels.end()),
      shared_(open_device(s)),
      device_(shared_->device) {
  device().step("choose the channels", [&] { choose_channels(); });
  if (calls_.transmits) device().step("switch it off", [&] { switch_off(); });
  device().step("set the rate", [&] { set_rate(); });
  device().step("set its time", [&] { device().set_time(); });
  if (!s.gain_profile.empty()) device().step("set the gain profile", [&] { set_gain_profile(); });
  device().step("tune", [&] {
    check_ranges(s);
    frequency_hz_ = (usrp().*calls_.frequency)(channels_[0]);
    own_ = read_keys(s);
    set_live(s);
    applied_ = s;
    await_locks(s.lock_within_s);
    if (calls_.transmits) require_permitted();
    keys_ = read_keys(s);
  });
  device().watch(calls_.transmits, channels_);
}

void FrontEnd::choose_channels() {
  if (!settings_.subdev.empty()) (usrp().*calls_.set_subdev)(settings_.subdev, multi_usrp::ALL_MBOARDS);
  const std::size_t there = (usrp().*calls_.count)();
  for (const std::size_t channel : channels_)
    if (channel >= there)
      throw SetupError(fmt::format("{}: there is no {} channel {}; the radio has {}, numbered from 0", name(),
                                   calls_.name, channel, there));
}

void FrontEnd::set_rate() {
  for (const std::size_t c : channels_) {
    (usrp().*calls_.set_rate)(settings_.rate_hz, c);
    rate_hz_ = (usrp().*calls_.rate)(c);
    if (!settings_.accepts(rate_hz_))
      throw SetupError(fmt::format("{}: {}", name(), settings_.refusal(static_cast<std::int64_t>(c), rate_hz_)));
  }
}

void FrontEnd::set_gain_profile() {
  for (const std::size_t c : channels_) {
    require_one_of(name(), "gain profile", settings_.gain_profile, (usrp().*calls_.gain_profiles)(c));
    (usrp().*calls_.set_gain_profile)(settings_.gain_profile, c);
  }
}

/// libuhd limits such values to the range, and only logs it.
void FrontEnd::check_ranges(const Settings& s) const {
  const auto check = [&](const char* key, std::optional<double> value, const uhd::meta_range_t& range) {
    const bool is_known = !range.empty() && range.start() < range.stop();
    if (value && is_known && (*value < range.start() || *value > range.stop()))
      throw SetupError(
          fmt::format("{}: {} {} is out of range ({} to {})", name(), key, *value, range.start(), range.stop()));
  };
  for (const std::size_t c : channels_) {
    check("frequency", s.frequency_hz, (usrp().*calls_.frequencies)(c));
    check("gain", s.gain_db, (usrp().*calls_.gains)(c));
    check("bandwidth", s.bandwidth_hz, (usrp().*calls_.bandwidths)(c));
    if (s.power_dbm && !usrp().has_tx_power_reference(c))
      throw SetupError(fmt::format("{}: not calibrated for `power`; use `gain`", name()));
  }
}

uhd::time_spec_t FrontEnd::set_live(const Settings& s) {
  if (!s.antenna.empty()) set_antenna(s.antenna);
  for (const std::size_t c : channels_)
    if (s.bandwidth_hz) (usrp().*calls_.set_bandwidth)(*s.bandwidth_hz, c);
  std::optional<uhd::time_spec_t> holds_from;
  if (s.frequency_hz) holds_from = set_frequency(*s.frequency_hz);
  if (!calls_.transmits) set_level(s);
  frequency_hz_ = (usrp().*calls_.frequency)(channels_[0]);
  return std::max(holds_from.value_or(uhd::time_spec_t()), usrp().get_time_now());
}

void FrontEnd::set_antenna(const std::string& antenna) {
  for (const std::size_t c : channels_) {
    require_one_of(name(), "antenna", antenna, (usrp().*calls_.antennas)(c));
    (usrp().*calls_.set_antenna)(antenna, c);
  }
}

/// Tunes all channels at the same time, so that their oscillators keep their phases if the hardware supports it.
uhd::time_spec_t FrontEnd::set_frequency(double hz) {
  const bool at_once = channels_.size() > 1 && device().time() == TimeSource::radio;
  const uhd::time_spec_t when = usrp().get_time_now() + uhd::time_spec_t(at_once ? 0.1 : 0.0);
  if (at_once) usrp().set_command_time(when);
  for (const std::size_t c : channels_)
    (usrp().*calls_.set_frequency)(
        settings_.lo_offset_hz != 0 ? uhd::tune_request_t(hz, settings_.lo_offset_hz) : uhd::tune_request_t(hz), c);
  if (at_once) usrp().clear_command_time();
  return when;
}

void FrontEnd::set_level(const Settings& s) {
  for (const std::size_t c : channels_) {
    if (s.power_dbm)
      usrp().set_tx_power_reference(*s.power_dbm, c);
    else if (s.gain_db)
      (usrp().*calls_.set_gain)(*s.gain_db, c);
  }
}

void FrontEnd::await_locks(double within_s) const {
  for (const std::size_t c : channels_) {
    const auto there = (usrp().*calls_.sensors)(c);
    if (std::find(there.begin(), there.end(), "lo_locked") == there.end()) continue;
    if (!comes_true(within_s, [&] { return (usrp().*calls_.sensor)("lo_locked", c).to_bool(); }))
      throw SetupError(
          fmt::format("{}: the oscillator of {} channel {} does not lock at {} MHz; use another "
                      "`frequency` or `lo_offset`",
                      name(), calls_.name, c, (usrp().*calls_.frequency)(c) / 1e6));
  }
}

/// Checks before switching on: the granted frequency, and the gain step nearest to the requested gain.
void FrontEnd::require_permitted() const {
  for (const std::size_t c : channels_) {
    Emission granted = settings_.emission(rate_hz_);
    if (granted.frequency_hz) granted.frequency_hz = (usrp().*calls_.frequency)(c);
    if (granted.gain_db) granted.gain_db = (usrp().*calls_.gains)(c).clip(*granted.gain_db, true);
    settings_.permitted.require(name(), granted);
  }
}

void FrontEnd::switch_on() {
  try {
    set_level(settings_);
    for (const std::size_t c : channels_) {
      Emission granted = settings_.emission(rate_hz_);
      granted.gain_db = (usrp().*calls_.gain)(c);
      settings_.permitted.require(name(), granted);
    }
  } catch (...) {
    switch_off();
    throw;
  }
  device().set_on_air(true);
}

/// Leaves the gain alone if the configuration does not set it.
void FrontEnd::switch_off() {
  device().set_on_air(false);
  if (!settings_.gain_db && !settings_.power_dbm) return;
  for (const std::size_t c : channels_) (usrp().*calls_.set_gain)((usrp().*calls_.gains)(c).start(), c);
}

/// The current values of the settings that are about to change.
Settings FrontEnd::before(const Settings& next) const {
  Settings now = next;
  const std::size_t c = channels_[0];
  if (next.frequency_hz) now.frequency_hz = (usrp().*calls_.frequency)(c);
  if (next.gain_db) now.gain_db = (usrp().*calls_.gain)(c);
  if (!next.antenna.empty()) now.antenna = (usrp().*calls_.antenna)(c);
  if (next.bandwidth_hz) now.bandwidth_hz = (usrp().*calls_.bandwidth)(c);
  return now;
}

uhd::time_spec_t FrontEnd::retune(const Settings& asked) {
  constexpr double kLockSeconds = 0.2;  // nobody receives meanwhile
  Settings s = asked;
  restore_own(s, applied_, own_);
  try {
    return device().step("tune", [&] {
      check_ranges(s);
      const Settings was = before(s);
      try {
        const uhd::time_spec_t holds_from = set_live(s);
        await_locks(kLockSeconds);
        keys_ = read_keys(s);
        applied_ = asked;
        return holds_from;
      } catch (...) {
        usrp().clear_command_time();
        set_live(was);
        throw;
      }
    });
  } catch (const SetupError& e) {
    // What a device does not answer, it has not refused.
    if (device().is_given_up()) throw NotNow(e.what());
    throw;
  }
}

uhd::stream_args_t FrontEnd::stream_args(Element element) const {
  const WireFormat wire = settings_.wire_format;
  uhd::stream_args_t args(element == Element::cf32 ? "fc32" : "sc16",
                          std::string(enum_names(wire)[static_cast<std::size_t>(wire)]));
  args.channels = channels_;
  for (const auto& [key, value] : settings_.stream_args) args.args[key] = value;
  return args;
}

}  // namespace iqd::radio::usrp
