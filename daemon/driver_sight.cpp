// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/driver_sight.hpp"

#include <fmt/format.h>

#include <future>
#include <thread>
#include <tuple>
#include <utility>

namespace iqd {
namespace {

using Probed = std::pair<std::vector<FoundDevice>, std::string>;  // and the error

Probed probed(const DriverEntry& driver) {
  try {
    return {driver.probe(), ""};
  } catch (const std::exception& e) {
    return {{}, e.what()};
  } catch (...) {
    return {{}, "threw something that is no exception"};
  }
}

}  // namespace

Sight look(const DriverEntry& driver, std::chrono::milliseconds patience) {
  Sight sight{&driver, {}, {}};
  if (!driver.probe) return sight;
  std::packaged_task<Probed()> task([driver] { return probed(driver); });
  std::future<Probed> answer = task.get_future();
  std::thread(std::move(task)).detach();
  if (answer.wait_for(patience) == std::future_status::ready) {
    std::tie(sight.devices, sight.error) = answer.get();
    return sight;
  }
  sight.hangs = true;
  sight.error = fmt::format("it does not answer within {} s; a device may hang: plug it in anew",
                            std::chrono::duration_cast<std::chrono::seconds>(patience).count());
  return sight;
}

}  // namespace iqd
