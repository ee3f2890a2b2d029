// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <SoapySDR/Constants.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>

#include "base/error.hpp"
#include "base/log.hpp"
#include "radio/drivers.hpp"
#include "radio/soapy/device_stream.hpp"
#include "radio/soapy/soapy_sink.hpp"
#include "radio/soapy/soapy_source.hpp"

namespace iqd::radio {
namespace {

using Facts = std::vector<std::pair<std::string, std::string>>;

std::string text_of(const SoapySDR::RangeList& ranges) {
  std::string text;
  for (const SoapySDR::Range& r : ranges) {
    if (!text.empty()) text += ", ";
    text +=
        r.minimum() == r.maximum() ? fmt::format("{}", r.minimum()) : fmt::format("{}-{}", r.minimum(), r.maximum());
  }
  return text;
}

/// Skips facts that are empty, and those whose query fails.
template <class F> void add(Facts& facts, std::string name, F ask) {
  try {
    std::string text = ask();
    if (!text.empty()) facts.emplace_back(std::move(name), std::move(text));
  } catch (...) {
    log::debug("soapy: {}: {}", name, soapy::text_of(std::current_exception()));
  }
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

/// Facts of the first channel; on nearly all radios the others are the same.
void add_direction(SoapySDR::Device& device, int direction, const std::string& prefix, Facts& facts) {
  const std::size_t channels = device.getNumChannels(direction);
  facts.emplace_back(prefix + "channels", std::to_string(channels));
  if (channels == 0) return;
  const auto fact = [&](const char* name, auto ask) { add(facts, prefix + name, ask); };
  fact("rates", [&] { return text_of(device.getSampleRateRange(direction, 0)); });
  fact("frequencies", [&] { return text_of(device.getFrequencyRange(direction, 0)); });
  fact("gains", [&] { return text_of({device.getGainRange(direction, 0)}); });
  for (const std::string& element : device.listGains(direction, 0))
    fact(("gain_" + element).c_str(), [&] { return text_of({device.getGainRange(direction, 0, element)}); });
  fact("bandwidths", [&] { return text_of(device.getBandwidthRange(direction, 0)); });
  fact("antennas", [&] { return joined(device.listAntennas(direction, 0)); });
  fact("formats", [&] { return joined(device.getStreamFormats(direction, 0)); });
  fact("native_format", [&] {
    double full_scale = 0;
    const std::string format = device.getNativeStreamFormat(direction, 0, full_scale);
    return fmt::format("{}, full scale {}", format, full_scale);
  });
  fact("sensors", [&] { return joined(device.listSensors(direction, 0)); });
}

/// Includes the versions of firmware and FPGA, if the module reports them, under names of its own.
void add_hardware(SoapySDR::Device& device, Facts& facts) {
  add(facts, "product", [&] { return device.getHardwareKey(); });
  const auto is_there = [&](const std::string& key) {
    return std::ranges::any_of(facts, [&](const auto& fact) { return fact.first == key; });
  };
  for (const auto& [key, value] : device.getHardwareInfo())
    if (!is_there(key)) facts.emplace_back(key, value);
  add(facts, "clock_sources", [&] { return joined(device.listClockSources()); });
  add(facts, "time_sources", [&] { return joined(device.listTimeSources()); });
  add(facts, "sensors", [&] { return joined(device.listSensors()); });
  facts.emplace_back("hardware_time", device.hasHardwareTime() ? "yes" : "no");
}

FoundDevice look_at(const SoapySDR::Kwargs& args) {
  FoundDevice found;
  found.facts.assign(args.begin(), args.end());
  found.label = args.count("label") ? args.at("label") : SoapySDR::KwargsToString(args);
  SoapySDR::Device* device = nullptr;
  try {
    device = SoapySDR::Device::make(args);
    add_hardware(*device, found.facts);
    add_direction(*device, SOAPY_SDR_RX, "rx_", found.facts);
    add_direction(*device, SOAPY_SDR_TX, "tx_", found.facts);
  } catch (...) {
    found.facts.emplace_back("error", soapy::text_of(std::current_exception()));
  }
  try {
    if (device) SoapySDR::Device::unmake(device);
  } catch (...) {
    log::debug("soapy: cannot close {}: {}", found.label, soapy::text_of(std::current_exception()));
  }
  return found;
}

/// The result of discovery with the caller's own arguments: scenario, rate.
SoapySDR::Kwargs together(SoapySDR::Kwargs found, const SoapySDR::Kwargs& asked) {
  found.insert(asked.begin(), asked.end());
  return found;
}

/// The devices that the arguments match. A module may be able to open a device that it cannot find.
std::vector<FoundDevice> probe_at(const SoapySDR::Kwargs& asked) {
  SoapySDR::KwargsList list;
  try {
    list = SoapySDR::Device::enumerate(asked);
  } catch (...) {
    log::debug("soapy: device search failed: {}", soapy::text_of(std::current_exception()));
  }
  std::vector<FoundDevice> found;
  if (list.empty()) {
    found.push_back(look_at(asked));
    for (const auto& [key, value] : found.front().facts)
      if (key == "error") throw SetupError(value);
  }
  for (const SoapySDR::Kwargs& args : list) found.push_back(look_at(together(args, asked)));
  return found;
}

std::vector<FoundDevice> probe(const std::string& args) {
  if (!args.empty()) return probe_at(SoapySDR::KwargsFromString(args));
  std::vector<FoundDevice> found;
  try {
    for (const SoapySDR::Kwargs& device : SoapySDR::Device::enumerate()) found.push_back(look_at(device));
  } catch (...) {
    log::warn("soapy: device search failed: {}", soapy::text_of(std::current_exception()));
  }
  return found;
}

}  // namespace

DriverEntry soapy_driver() {
  DriverEntry entry;
  entry.name = "soapy";
  entry.summary = "any radio with a SoapySDR module, including the simulated radio";
  entry.other_names =
      "soapysdr sdr radio rtlsdr rtl_sdr hackrf airspy limesdr lime bladerf plutosdr pluto sdrplay iqdsim sim";
  entry.make_source = [] { return std::unique_ptr<SourceOptions>(std::make_unique<soapy::SoapySourceOptions>()); };
  entry.make_sink = [] { return std::unique_ptr<SinkOptions>(std::make_unique<soapy::SoapySinkOptions>()); };
  entry.probe = &probe;
  return entry;
}

}  // namespace iqd::radio
