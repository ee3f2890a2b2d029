// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SoapySDR/Device.hpp>

#include "base/device_key.hpp"
#include "radio/soapy/settings.hpp"

namespace iqd::radio::soapy {

/// Rate, frequency, gain, antenna and bandwidth of a channel, and the elements of its gain as `gains.NAME`. What the
/// module does not report is missing.
DeviceKeys keys_of(const SoapySDR::Device& device, int direction, std::size_t channel, const Settings& settings);

}  // namespace iqd::radio::soapy
