// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/radio_args.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "radio/drivers.hpp"

namespace iqd {

void RadioArgs::add_to(Command& command) {
  command.option("--args", &args,
                 "this radio only, found by itself or not: device arguments as in `source`, e.g. "
                 "addr=192.168.10.2, or driver=remote,remote=tcp://radio-host:55132");
  command.option("--driver", &driver,
                 "soapy or uhd: who takes them (soapy where they have driver=, else uhd); alone: its radios only");
}

const DriverEntry& RadioArgs::taker() const {
  if (const std::string why = malformed(args); !why.empty()) throw UsageError(fmt::format("--args {}: {}", args, why));
  const std::string name = !driver.empty() ? driver : device_args(args).contains("driver") ? "soapy" : "uhd";
  const DriverEntry* const found = find_driver(name);
  if (found && found->probe) return *found;
  if (!driver.empty() && !(found && name == "uhd"))
    throw UsageError(fmt::format("--driver {}: no driver of radios has this name; soapy and uhd are some", driver));
  throw UsageError(
      "this iqd was built without UHD: with --driver soapy and its module, driver=uhd,… finds the same radios");
}

RadioUse RadioArgs::use() const {
  RadioUse use{.driver = std::string(taker().name), .args = device_args(args)};
  use.hosts = hosts_in(use.args);
  return use;
}

std::string malformed(std::string_view args) {
  std::set<std::string, std::less<>> keys;
  for (std::size_t at = 0; at <= args.size() && !args.empty();) {
    const std::size_t end = std::min(args.find(',', at), args.size());
    const std::string_view part = args.substr(at, end - at);
    at = end + 1;
    const std::size_t equals = part.find('=');
    if (part.find_first_not_of(' ') == part.npos) return "there is nothing between two commas, or behind the last";
    if (equals == part.npos) return fmt::format("'{}' is no key=value, such as addr={}", part, part);
    const std::string key(part.substr(0, equals));
    if (key.find_first_not_of(' ') == key.npos) return fmt::format("'{}' has no key before its =", part);
    if (equals + 1 == part.size()) return fmt::format("'{}' has no value behind its =", part);
    if (!keys.insert(key).second) return fmt::format("'{}' is there twice", key);
  }
  return {};
}

}  // namespace iqd
