// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy/listing.hpp"

#include <SoapySDR/Constants.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <SoapySDR/Modules.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/log.hpp"
#include "radio/soapy/device_stream.hpp"

namespace iqd::radio::soapy {
namespace {

/// Modules return raw device memory. Metrics and recordings need UTF-8 on one line.
std::string readable(const std::string& text) {
  using nlohmann::json;
  std::string whole = json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
  std::replace_if(
      whole.begin(), whole.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return whole;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string in_small_letters(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(::tolower(c)); });
  return text;
}

/// Maps a module's name of a fact to the name that all drivers use.
std::string fact_name(const std::string& key) {
  std::string name = in_small_letters(key);
  if (has(name, "serial")) return "serial";
  if (name.starts_with("fw") || has(name, "firmware")) return "firmware";
  if (has(name, "fpga") || has(name, "gateware")) return "fpga";
  return name;
}

/// Turns `node0_serial` into `node_serial`, so that boards share a name.
std::string without_digits(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isdigit(c) != 0; });
  return text;
}

/// Equal facts of several boards are merged: `7.5.0`, or `7.5.0, 7.5.1`. If different facts map to the same name, the
/// first one gets it, and each later one keeps its own.
class Facts {
 public:
  void add(const std::string& key, const std::string& value) {
    std::string name = fact_name(key);
    const std::string kind = without_digits(key);
    if (kinds_.emplace(name, kind).first->second != kind) name = in_small_letters(key);
    const auto known = std::find_if(all_.begin(), all_.end(), [&](const auto& fact) { return fact.first == name; });
    if (known == all_.end())
      all_.emplace_back(name, value);
    else if (!has(", " + known->second + ", ", ", " + value + ", "))
      known->second += ", " + value;
  }
  std::vector<std::pair<std::string, std::string>> take() { return std::move(all_); }

 private:
  std::vector<std::pair<std::string, std::string>> all_;
  std::map<std::string, std::string> kinds_;  // maps names to the keys they are used for
};

std::string lock_name(std::string_view sensor) {
  static constexpr std::array<std::array<std::string_view, 2>, 5> kNames{
      {{"ref", "reference"}, {"clock", "reference"}, {"pps", "pps"}, {"gps", "gps"}, {"lo", "lo"}}};
  for (const auto& [part, name] : kNames)
    if (sensor.starts_with(part)) return std::string(name);
  return std::string(sensor);
}

/// `clock_rate` is not a lock.
bool is_lock(std::string_view sensor) {
  return has(sensor, "locked") || sensor.ends_with("_lock") || sensor == "lock";
}

std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end != text.data() ? std::optional(value) : std::nullopt;
}

/// A sensor with "lock" in its name and a truth value is a lock; all others are numbers.
void add(RadioReadings& readings, const std::string& key, const std::string& of, const std::string& said) {
  const bool yes = said == "true" || said == "True";
  const bool no = said == "false" || said == "False";
  if (is_lock(key) && (yes || no || said == "1" || said == "0"))
    return readings.push_back({readable(lock_name(key)), of, yes || said == "1" ? 1.0 : 0.0, true});
  if (yes || no) return readings.push_back({readable(key), of, yes ? 1.0 : 0.0});
  if (const auto value = number_in(said)) readings.push_back({readable(key), of, *value});
}

/// If one sensor fails, the others are still read.
template <class F> void ask(F f) {
  try {
    f();
  } catch (...) {
    log::debug("soapy: cannot read a sensor");
  }
}

}  // namespace

std::string found_devices() {
  try {
    std::string list;
    for (const SoapySDR::Kwargs& device : SoapySDR::Device::enumerate())
      list += "\n  " + SoapySDR::KwargsToString(device);
    return list.empty() ? " none" : list;
  } catch (...) {
    return " (search failed: " + text_of(std::current_exception()) + ")";
  }
}

std::string where_modules_are() {
  const char* path = std::getenv("SOAPY_SDR_PLUGIN_PATH");
  return fmt::format("loaded modules: {}. Modules in other folders need SOAPY_SDR_PLUGIN_PATH, which is {}",
                     fmt::join(SoapySDR::listModules(), ", "), path && *path ? fmt::format("'{}'", path) : "not set");
}

std::vector<std::pair<std::string, std::string>> facts_of(const SoapySDR::Device& device) {
  Facts facts;
  ask([&] { facts.add("product", readable(device.getHardwareKey())); });
  ask([&] {
    const SoapySDR::Kwargs info = device.getHardwareInfo();
    for (const bool by_that_name : {true, false})
      for (const auto& [key, value] : info)
        if (const std::string name = fact_name(key); name != "product" && (name == key) == by_that_name)
          facts.add(readable(key), readable(value));
  });
  return facts.take();
}

RadioReadings readings_of(const SoapySDR::Device& device) {
  RadioReadings readings;
  ask([&] {
    for (const std::string& key : device.listSensors()) ask([&] { add(readings, key, "", device.readSensor(key)); });
  });
  for (const int direction : {SOAPY_SDR_RX, SOAPY_SDR_TX}) {
    const char* const name = direction == SOAPY_SDR_RX ? "rx" : "tx";
    std::size_t channels = 0;
    ask([&] { channels = device.getNumChannels(direction); });
    for (std::size_t c = 0; c < channels; ++c)
      ask([&] {
        for (const std::string& key : device.listSensors(direction, c))
          ask([&] { add(readings, key, fmt::format("{} {}", name, c), device.readSensor(direction, c, key)); });
      });
  }
  return readings;
}

std::shared_ptr<SharedRadio> share(SoapySDR::Device& device, const std::string& args) {
  static std::mutex mutex;
  static std::map<SoapySDR::Device*, std::weak_ptr<SharedRadio>> entries;
  const std::lock_guard lock(mutex);
  std::erase_if(entries, [](const auto& entry) { return entry.second.expired(); });
  if (auto entry = entries[&device].lock()) return entry;
  OpenRadio radio{.driver = "soapy", .args = args, .facts = facts_of(device)};
  static std::map<std::string, std::string> told;  // logged once, not at each opening
  if (const std::string what = radio.hardware(); !what.empty() && std::exchange(told[args], what) != what)
    log::info("soapy '{}': {}", args, what);
  std::shared_ptr<SharedRadio> entry(new SharedRadio{{std::move(radio), [&device] { return readings_of(device); }}});
  entries[&device] = entry;
  return entry;
}

}  // namespace iqd::radio::soapy
