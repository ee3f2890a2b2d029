// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/uhd/front_end.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <uhd/types/tune_request.hpp>
#include <uhd/usrp/subdev_spec.hpp>

#include "base/error.hpp"

namespace iqd::radio::usrp {

using uhd::usrp::multi_usrp;

struct Calls {
  const char* name;
  void (multi_usrp::*set_subdev)(const uhd::usrp::subdev_spec_t&, std::size_t);
  std::size_t (multi_usrp::*count)();
  void (multi_usrp::*set_rate)(double, std::size_t);
  double (multi_usrp::*rate)(std::size_t);
  std::vector<std::string> (multi_usrp::*antennas)(std::size_t);
  void (multi_usrp::*set_antenna)(const std::string&, std::size_t);
  void (multi_usrp::*set_bandwidth)(double, std::size_t);
  uhd::freq_range_t (multi_usrp::*frequencies)(std::size_t);
  uhd::tune_result_t (multi_usrp::*set_frequency)(const uhd::tune_request_t&, std::size_t);
  double (multi_usrp::*frequency)(std::size_t);
  uhd::gain_range_t (multi_usrp::*gains)(std::size_t);
  void (multi_usrp::*set_gain)(double, std::size_t);
  double (multi_usrp::*gain)(std::size_t);
};

const Calls kReceive = {"receive",
                        &multi_usrp::set_rx_subdev_spec,
                        &multi_usrp::get_rx_num_channels,
                        &multi_usrp::set_rx_rate,
                        &multi_usrp::get_rx_rate,
                        &multi_usrp::get_rx_antennas,
                        &multi_usrp::set_rx_antenna,
                        &multi_usrp::set_rx_bandwidth,
                        &multi_usrp::get_rx_freq_range,
                        &multi_usrp::set_rx_freq,
                        &multi_usrp::get_rx_freq,
                        &multi_usrp::get_rx_gain_range,
                        &multi_usrp::set_rx_gain,
                        &multi_usrp::get_rx_gain};
const Calls kTransmit = {"transmit",
                         &multi_usrp::set_tx_subdev_spec,
                         &multi_usrp::get_tx_num_channels,
                         &multi_usrp::set_tx_rate,
                         &multi_usrp::get_tx_rate,
                         &multi_usrp::get_tx_antennas,
                         &multi_usrp::set_tx_antenna,
                         &multi_usrp::set_tx_bandwidth,
                         &multi_usrp::get_tx_freq_range,
                         &multi_usrp::set_tx_freq,
                         &multi_usrp::get_tx_freq,
                         &multi_usrp::get_tx_gain_range,
                         &multi_usrp::set_tx_gain,
                         &multi_usrp::get_tx_gain};

FrontEnd::FrontEnd(const Settings& s, const Calls& calls)
    : calls_(calls), channels_(s.channels.begin(), s.channels.end()), shared_(open_device(s)) {
  device().step("choose the channels", [&] { choose_channels(s); });
  device().step("set the rate", [&] { set_rate(s); });
  if (!s.antenna.empty()) device().step("choose the antenna", [&] { set_antenna(s.antenna); });
  if (s.bandwidth_hz)
    device().step("set the bandwidth", [&] {
      for (const std::size_t c : channels_) (usrp().*calls_.set_bandwidth)(*s.bandwidth_hz, c);
    });
  device().step("tune", [&] {
    check_ranges(s);
    set_live(s.frequency_hz, s.gain_db);
  });
}

void FrontEnd::choose_channels(const Settings& s) {
  if (!s.subdev.empty()) (usrp().*calls_.set_subdev)(s.subdev, multi_usrp::ALL_MBOARDS);
  const std::size_t there = (usrp().*calls_.count)();
  for (const std::size_t channel : channels_)
    if (channel >= there)
      throw SetupError(fmt::format("{}: there is no {} channel {}; the radio has {}, counted from 0", name(),
                                   calls_.name, channel, there));
}

void FrontEnd::set_rate(const Settings& s) {
  for (const std::size_t c : channels_) {
    (usrp().*calls_.set_rate)(s.rate_hz, c);
    rate_hz_ = (usrp().*calls_.rate)(c);
    if (!s.accepts(rate_hz_))
      throw SetupError(fmt::format("{}: {}", name(), s.refusal(static_cast<std::int64_t>(c), rate_hz_)));
  }
}

void FrontEnd::set_antenna(const std::string& antenna) {
  for (const std::size_t c : channels_) {
    const auto there = (usrp().*calls_.antennas)(c);
    if (std::find(there.begin(), there.end(), antenna) == there.end())
      throw SetupError(
          fmt::format("{}: there is no antenna '{}'; there are: {}", name(), antenna, fmt::join(there, ", ")));
    (usrp().*calls_.set_antenna)(antenna, c);
  }
}

/// libuhd brings such values into their range, and only its log says so.
void FrontEnd::check_ranges(const Settings& s) const {
  const auto check = [&](const char* key, std::optional<double> value, const uhd::meta_range_t& range) {
    if (value && (*value < range.start() || *value > range.stop()))
      throw SetupError(fmt::format("{}: {} {} is out of its range, which is {} to {}", name(), key, *value,
                                   range.start(), range.stop()));
  };
  for (const std::size_t c : channels_) {
    check("frequency", s.frequency_hz, (usrp().*calls_.frequencies)(c));
    check("gain", s.gain_db, (usrp().*calls_.gains)(c));
  }
}

void FrontEnd::set_live(std::optional<double> frequency_hz, std::optional<double> gain_db) {
  if (frequency_hz) set_frequency(*frequency_hz);
  for (const std::size_t c : channels_)
    if (gain_db) (usrp().*calls_.set_gain)(*gain_db, c);
  frequency_hz_ = (usrp().*calls_.frequency)(channels_[0]);
}

/// Several channels are tuned at one time: then their oscillators keep their phases where the hardware can do it.
void FrontEnd::set_frequency(double hz) {
  const bool at_once = channels_.size() > 1 && device().time() == TimeSource::radio;
  if (at_once) usrp().set_command_time(usrp().get_time_now() + uhd::time_spec_t(0.1));
  for (const std::size_t c : channels_) (usrp().*calls_.set_frequency)(uhd::tune_request_t(hz), c);
  if (at_once) usrp().clear_command_time();
}

void FrontEnd::retune(const Settings& s) {
  device().step("tune", [&] {
    check_ranges(s);
    const double frequency_hz = (usrp().*calls_.frequency)(channels_[0]);
    const double gain_db = (usrp().*calls_.gain)(channels_[0]);
    try {
      set_live(s.frequency_hz, s.gain_db);
    } catch (...) {
      usrp().clear_command_time();
      set_live(frequency_hz, gain_db);
      throw;
    }
  });
}

uhd::stream_args_t FrontEnd::stream_args(const Settings& s, Element element) const {
  uhd::stream_args_t args(element == Element::cf32 ? "fc32" : "sc16",
                          std::string(enum_names(s.wire_format)[static_cast<std::size_t>(s.wire_format)]));
  args.channels = channels_;
  for (const auto& [key, value] : s.stream_args) args.args[key] = value;
  return args;
}

}  // namespace iqd::radio::usrp
