// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SoapySDR/Device.hpp>

#include "radio/soapy/settings.hpp"

namespace iqd::radio::soapy {

/// Sets automatic or manual gain for a channel; changes nothing if the configuration has neither. Throws if the radio
/// has no automatic gain.
void choose_gain_mode(SoapySDR::Device& device, int direction, std::size_t channel, const Settings& settings);

/// Whether the radio sets the gain itself at present; false if the module cannot say.
bool has_automatic_gain(const SoapySDR::Device& device, int direction, std::size_t channel);

/// Sets `gain`, or the elements of `gains`. Throws if an element does not exist, or its value is out of range.
void set_gain(SoapySDR::Device& device, int direction, std::size_t channel, const Settings& settings);

/// Sets the lowest value of each gain that the configuration sets.
void set_lowest_gain(SoapySDR::Device& device, int direction, std::size_t channel, const Settings& settings);

}  // namespace iqd::radio::soapy
