// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SoapySDR/Device.hpp>

#include "radio/soapy/settings.hpp"

namespace iqd::radio::soapy {

/// Whether the radio or the configuration decides on a channel's gain; nothing changes where it says neither. Throws
/// where the radio cannot.
void choose_gain_mode(SoapySDR::Device& device, int direction, std::size_t channel, const Settings& settings);

/// Sets `gain`, or the elements of `gains`. Throws where one is not there, or out of its range.
void set_gain(SoapySDR::Device& device, int direction, std::size_t channel, const Settings& settings);

/// Sets what the configuration sets to the lowest that there is.
void set_lowest_gain(SoapySDR::Device& device, int direction, std::size_t channel, const Settings& settings);

}  // namespace iqd::radio::soapy
