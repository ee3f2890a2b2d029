// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy/device_keys.hpp"

#include <cmath>
#include <exception>
#include <utility>

#include "base/log.hpp"
#include "radio/soapy/device_stream.hpp"

namespace iqd::radio::soapy {
namespace {

/// Calls that a module does not support may throw.
template <class Ask> void ask_for(const DeviceKey& key, Ask ask) {
  try {
    ask();
  } catch (...) {
    log::debug("soapy: {}: {}", key.key, text_of(std::current_exception()));
  }
}

DeviceKey number(std::string name, auto value, auto ranges) {
  DeviceKey key{std::move(name)};
  ask_for(key, [&] {
    if (const double x = value(); std::isfinite(x)) key.value = x;
  });
  ask_for(key, [&] {
    for (const SoapySDR::Range& r : ranges()) key.ranges.push_back({r.minimum(), r.maximum(), r.step()});
  });
  return key;
}

}  // namespace

DeviceKeys keys_of(const SoapySDR::Device& device, int direction, std::size_t channel, const Settings& settings) {
  using Ranges = SoapySDR::RangeList;
  DeviceKeys keys{number(
                      "rate", [&] { return device.getSampleRate(direction, channel); },
                      [&] { return device.getSampleRateRange(direction, channel); }),
                  number(
                      "frequency", [&] { return device.getFrequency(direction, channel); },
                      [&] { return device.getFrequencyRange(direction, channel); }),
                  // Modules report a bandwidth of 0 if they cannot read it.
                  number(
                      "bandwidth",
                      [&] {
                        const double hz = device.getBandwidth(direction, channel);
                        return hz > 0 ? hz : std::nan("");
                      },
                      [&] { return device.getBandwidthRange(direction, channel); })};
  // With `agc`, gains change on their own.
  const auto unless_automatic = [&](double db) { return settings.agc ? std::nan("") : db; };
  keys.push_back(number(
      "gain", [&] { return unless_automatic(device.getGain(direction, channel)); },
      [&] { return Ranges{device.getGainRange(direction, channel)}; }));
  DeviceKey antenna{"antenna"};
  ask_for(antenna, [&] { antenna.value = device.getAntenna(direction, channel); });
  ask_for(antenna, [&] { antenna.choices = device.listAntennas(direction, channel); });
  keys.push_back(std::move(antenna));
  ask_for({"gains"}, [&] {
    for (const std::string& element : device.listGains(direction, channel))
      keys.push_back(number(
          "gains." + element, [&] { return unless_automatic(device.getGain(direction, channel, element)); },
          [&] { return Ranges{device.getGainRange(direction, channel, element)}; }));
  });
  return keys;
}

}  // namespace iqd::radio::soapy
