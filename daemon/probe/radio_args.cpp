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
                 "this radio only, even one that discovery does not find: device arguments as in `source`, e.g. "
                 "addr=192.168.10.2, or driver=remote,remote=tcp://radio-host:55132");
  command.option("--driver", &driver,
                 "soapy or uhd: the driver for --args (soapy if they have driver=, else uhd); alone: its radios only");
}

const DriverEntry& RadioArgs::taker() const {
  if (const std::string why = malformed(args); !why.empty()) throw UsageError(fmt::format("--args {}: {}", args, why));
  const std::string name = !driver.empty() ? driver : device_args(args).contains("driver") ? "soapy" : "uhd";
  const DriverEntry* const found = find_driver(name);
  if (found && found->probe) return *found;
  if (!driver.empty() && !(found && name == "uhd"))
    throw UsageError(fmt::format("--driver {}: no such radio driver; use soapy or uhd", driver));
  throw UsageError("this iqd was built without UHD: use --driver soapy with its UHD module and driver=uhd,…");
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
    if (part.find_first_not_of(' ') == part.npos) return "nothing between two commas, or after the last";
    if (equals == part.npos) return fmt::format("'{}' is not key=value, such as addr={}", part, part);
    const std::string key(part.substr(0, equals));
    if (key.find_first_not_of(' ') == key.npos) return fmt::format("'{}' has no key before its =", part);
    if (equals + 1 == part.size()) return fmt::format("'{}' has no value after its =", part);
    if (!keys.insert(key).second) return fmt::format("'{}' appears twice", key);
  }
  return {};
}

}  // namespace iqd
