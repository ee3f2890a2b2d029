// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/log.hpp"
#include "radio/uhd/device.hpp"
#include "radio/uhd/uhd_log.hpp"
#include "radio/uhd/uhd_options.hpp"

namespace iqd::radio::usrp {
namespace {

std::string ends_of(const uhd::meta_range_t& range) {
  return fmt::format("{}-{}", range.start(), range.stop());
}

/// Adds facts that discovery did not return, such as versions.
void add_versions(uhd::usrp::multi_usrp& usrp, Facts& facts) {
  for (auto& fact : facts_of(usrp))
    if (std::none_of(facts.begin(), facts.end(), [&](const auto& f) { return f.first == fact.first; }))
      facts.push_back(std::move(fact));
}

void add_channels(uhd::usrp::multi_usrp& usrp, Facts& facts) {
  facts.emplace_back("rx_channels", std::to_string(usrp.get_rx_num_channels()));
  if (usrp.get_rx_num_channels() > 0) {
    facts.emplace_back("rx_rates", ends_of(usrp.get_rx_rates()));
    facts.emplace_back("rx_frequencies", ends_of(usrp.get_rx_freq_range()));
    facts.emplace_back("rx_gains", ends_of(usrp.get_rx_gain_range()));
    facts.emplace_back("rx_antennas", fmt::format("{}", fmt::join(usrp.get_rx_antennas(), ", ")));
    facts.emplace_back("rx_gain_profiles", fmt::format("{}", fmt::join(usrp.get_rx_gain_profile_names(), ", ")));
    facts.emplace_back("rx_subdev", usrp.get_rx_subdev_spec().to_string());
  }
  facts.emplace_back("tx_channels", std::to_string(usrp.get_tx_num_channels()));
  if (usrp.get_tx_num_channels() > 0) {
    facts.emplace_back("tx_rates", ends_of(usrp.get_tx_rates()));
    facts.emplace_back("tx_frequencies", ends_of(usrp.get_tx_freq_range()));
    facts.emplace_back("tx_gains", ends_of(usrp.get_tx_gain_range()));
    facts.emplace_back("tx_antennas", fmt::format("{}", fmt::join(usrp.get_tx_antennas(), ", ")));
    facts.emplace_back("tx_gain_profiles", fmt::format("{}", fmt::join(usrp.get_tx_gain_profile_names(), ", ")));
    facts.emplace_back("tx_subdev", usrp.get_tx_subdev_spec().to_string());
  }
  facts.emplace_back("clock_sources", fmt::format("{}", fmt::join(usrp.get_clock_sources(0), ", ")));
  facts.emplace_back("time_sources", fmt::format("{}", fmt::join(usrp.get_time_sources(0), ", ")));
}

/// The result of discovery with the caller's own arguments: clock rate, transport.
uhd::device_addr_t together(uhd::device_addr_t found, const uhd::device_addr_t& asked) {
  for (const std::string& key : asked.keys())
    if (!found.has_key(key)) found[key] = asked[key];
  return found;
}

FoundDevice look_at(const uhd::device_addr_t& args) {
  FoundDevice found;
  found.label = fmt::format("{} {}", args.get("product", args.get("type", "USRP")), args.get("serial", ""));
  for (const std::string& key : args.keys())
    if (is_known(args[key])) found.facts.emplace_back(key, args[key]);
  if (args.get("claimed", "False") == "True") {
    found.facts.emplace_back("error", "in use by another program");
    return found;
  }
  try {
    auto usrp = uhd::usrp::multi_usrp::make(args);
    add_versions(*usrp, found.facts);
    add_channels(*usrp, found.facts);
    close_in_time("uhd", [usrp = std::move(usrp)]() mutable { usrp.reset(); });
  } catch (...) {
    found.facts.emplace_back("error", text_of(std::current_exception()));
  }
  return found;
}

}  // namespace

bool is_built_in() noexcept {
  return true;
}

/// A device that has to load firmware first may take half a minute.
std::vector<FoundDevice> probe(const std::string& args) {
  take_uhd_log();
  const uhd::device_addr_t asked(args);
  std::vector<FoundDevice> found;
  for (const uhd::device_addr_t& device : uhd::device::find(asked, uhd::device::USRP))
    found.push_back(look_at(together(device, asked)));
  if (found.empty() && !args.empty()) throw SetupError("no USRP found");
  return found;
}

/// Discovery marks a device in use by another program, or by a process killed a moment ago.
bool can_be_opened(const std::string& args) {
  take_uhd_log();
  try {
    const auto found = uhd::device::find(args, uhd::device::USRP);
    return std::any_of(found.begin(), found.end(), [](const auto& a) { return a.get("claimed", "False") != "True"; });
  } catch (...) {
    log::debug("uhd: looking for '{}' failed: {}", args, text_of(std::current_exception()));
    return false;
  }
}

}  // namespace iqd::radio::usrp
