// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SoapySDR/Device.hpp>
#include <span>
#include <string>

#include "radio/soapy/settings.hpp"

namespace iqd::radio::soapy {

/// Throws SetupError if frequency, gain or bandwidth are beyond what the device reports for one of these channels; it
/// names the range, and begins with `name`. Modules limit such values silently.
void check_ranges(const SoapySDR::Device& device, int direction, std::span<const std::size_t> channels,
                  const Settings& settings, const std::string& name);

}  // namespace iqd::radio::soapy
