// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SoapySDR/Device.hpp>
#include <memory>
#include <string>

#include "base/open_radios.hpp"

namespace iqd::radio::soapy {

/// Puts a device on the list of open radios, with what its sensors say, for as long as the last stream of it holds the
/// result. A source and a sink of one device hold the same. Throws nothing that a module throws.
std::shared_ptr<RadioOnList> on_list(SoapySDR::Device& device, const std::string& args);

/// What a device is: product, serial, firmware, fpga, and everything else that the module says of it.
std::vector<std::pair<std::string, std::string>> facts_of(const SoapySDR::Device& device);

/// What its sensors say, and those of its channels. Those that say neither a number nor yes or no are left out.
RadioReadings readings_of(const SoapySDR::Device& device);

}  // namespace iqd::radio::soapy
