// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "base/driver.hpp"

namespace iqd {
namespace radio {

#define DRIVER(name) DriverEntry name##_driver();
#include "radio/drivers.def"
#undef DRIVER

}  // namespace radio

/// All drivers, in the order of drivers.def.
std::span<const DriverEntry> all_drivers();
/// Returns null if there is no driver with this name.
const DriverEntry* find_driver(std::string_view name);

}  // namespace iqd
