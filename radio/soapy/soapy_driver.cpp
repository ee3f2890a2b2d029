// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <SoapySDR/Constants.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <exception>

#include "base/log.hpp"
#include "radio/drivers.hpp"
#include "radio/soapy/open_radio.hpp"
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

void add_direction(SoapySDR::Device& device, int direction, const std::string& prefix, Facts& facts) {
  const std::size_t channels = device.getNumChannels(direction);
  facts.emplace_back(prefix + "channels", std::to_string(channels));
  if (channels == 0) return;
  facts.emplace_back(prefix + "rates", text_of(device.getSampleRateRange(direction, 0)));
  facts.emplace_back(prefix + "antennas", fmt::format("{}", fmt::join(device.listAntennas(direction, 0), ", ")));
  facts.emplace_back(prefix + "formats", fmt::format("{}", fmt::join(device.getStreamFormats(direction, 0), ", ")));
}

FoundDevice look_at(const SoapySDR::Kwargs& args) {
  FoundDevice found;
  found.facts.assign(args.begin(), args.end());
  found.label = args.count("label") ? args.at("label") : SoapySDR::KwargsToString(args);
  SoapySDR::Device* device = nullptr;
  try {
    device = SoapySDR::Device::make(args);
    add_direction(*device, SOAPY_SDR_RX, "rx_", found.facts);
    add_direction(*device, SOAPY_SDR_TX, "tx_", found.facts);
    found.facts.emplace_back("hardware_time", device->hasHardwareTime() ? "yes" : "no");
  } catch (...) {
    found.facts.emplace_back("error", soapy::text_of(std::current_exception()));
  }
  try {
    if (device) SoapySDR::Device::unmake(device);
  } catch (...) {
    log::debug("soapy: closing {} failed: {}", found.label, soapy::text_of(std::current_exception()));
  }
  return found;
}

std::vector<FoundDevice> probe() {
  std::vector<FoundDevice> found;
  try {
    for (const SoapySDR::Kwargs& args : SoapySDR::Device::enumerate()) found.push_back(look_at(args));
  } catch (...) {
    log::warn("soapy: looking for devices failed: {}", soapy::text_of(std::current_exception()));
  }
  return found;
}

}  // namespace

DriverEntry soapy_driver() {
  DriverEntry entry;
  entry.name = "soapy";
  entry.summary = "any radio that has a SoapySDR module, the simulated one included";
  entry.make_source = [] { return std::unique_ptr<SourceOptions>(std::make_unique<soapy::SoapySourceOptions>()); };
  entry.make_sink = [] { return std::unique_ptr<SinkOptions>(std::make_unique<soapy::SoapySinkOptions>()); };
  entry.probe = &probe;
  return entry;
}

}  // namespace iqd::radio
