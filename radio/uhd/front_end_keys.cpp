// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
// What an open device has really set, and which values it takes.
#include <exception>
#include <functional>
#include <utility>

#include "base/log.hpp"
#include "radio/uhd/calls.hpp"
#include "radio/uhd/front_end.hpp"

namespace iqd::radio::usrp {
namespace {

/// What a device does not have is left out.
void ask_for(const std::string& key, const std::function<void()>& ask) {
  try {
    ask();
  } catch (...) {
    log::debug("uhd: {}: {}", key, text_of(std::current_exception()));
  }
}

void add_number(DeviceKeys& keys, const char* name, const std::function<double()>& value,
                const std::function<uhd::meta_range_t()>& ranges) {
  DeviceKey key{name};
  ask_for(name, [&] { key.value = value(); });
  ask_for(name, [&] {
    for (const uhd::range_t& r : ranges()) key.ranges.push_back({r.start(), r.stop(), r.step()});
  });
  keys.push_back(std::move(key));
}

void add_name(DeviceKeys& keys, const char* name, const std::function<std::string()>& value,
              const std::function<std::vector<std::string>()>& choices) {
  DeviceKey key{name};
  ask_for(name, [&] { key.value = value(); });
  ask_for(name, [&] { key.choices = choices(); });
  keys.push_back(std::move(key));
}

}  // namespace

/// A transmitter that is off has its lowest gain, so the granted one is computed.
DeviceKeys FrontEnd::read_keys(const Settings& s) const {
  const std::size_t c = channels_[0];
  const auto gain = [&] {
    return calls_.transmits && s.gain_db ? (usrp().*calls_.gains)(c).clip(*s.gain_db, true) : (usrp().*calls_.gain)(c);
  };
  DeviceKeys keys;
  add_number(
      keys, "rate", [&] { return rate_hz_; }, [&] { return (usrp().*calls_.rates)(c); });
  add_number(
      keys, "frequency", [&] { return frequency_hz_; }, [&] { return (usrp().*calls_.frequencies)(c); });
  add_number(keys, "gain", gain, [&] { return (usrp().*calls_.gains)(c); });
  add_number(
      keys, "bandwidth", [&] { return (usrp().*calls_.bandwidth)(c); }, [&] { return (usrp().*calls_.bandwidths)(c); });
  add_name(
      keys, "antenna", [&] { return (usrp().*calls_.antenna)(c); }, [&] { return (usrp().*calls_.antennas)(c); });
  add_name(
      keys, "clock_source", [&] { return usrp().get_clock_source(0); }, [&] { return usrp().get_clock_sources(0); });
  add_name(
      keys, "time_source", [&] { return usrp().get_time_source(0); }, [&] { return usrp().get_time_sources(0); });
  return keys;
}

}  // namespace iqd::radio::usrp
