// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/driver_sight.hpp"

#include <fmt/format.h>

#include <future>
#include <thread>
#include <tuple>
#include <utility>

namespace iqd {
namespace {

using Probed = std::pair<std::vector<FoundDevice>, std::string>;  // and the error

Probed probed(const DriverEntry& driver, const std::string& args) {
  try {
    return {driver.probe(args), ""};
  } catch (const std::exception& e) {
    return {{}, e.what()};
  } catch (...) {
    return {{}, "threw an object that is not a std::exception"};
  }
}

}  // namespace

Sight look(const DriverEntry& driver, std::chrono::milliseconds patience, const std::string& args) {
  Sight sight{&driver, {}, {}};
  if (!driver.probe) return sight;
  std::packaged_task<Probed()> task([driver, args] { return probed(driver, args); });
  std::future<Probed> answer = task.get_future();
  std::thread(std::move(task)).detach();
  if (answer.wait_for(patience) == std::future_status::ready) {
    std::tie(sight.devices, sight.error) = answer.get();
    return sight;
  }
  sight.hangs = true;
  sight.error = fmt::format("no answer within {} s; a device may hang: unplug it and plug it in again",
                            std::chrono::duration_cast<std::chrono::seconds>(patience).count());
  return sight;
}

std::string trouble_of(const Sight& sight) {
  if (!sight.error.empty()) return sight.error;
  for (const FoundDevice& device : sight.devices)
    for (const auto& [key, value] : device.facts)
      if (key == "error") return fmt::format("{}: {}", device.label, value);
  return sight.devices.empty() ? "no device found" : "";
}

}  // namespace iqd
