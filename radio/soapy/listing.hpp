// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SoapySDR/Device.hpp>
#include <atomic>
#include <memory>
#include <string>

#include "base/open_radios.hpp"

namespace iqd::radio::soapy {

/// What all streams of one device hold: its place on the list of open radios, with what its sensors say, and whether
/// one of them has found it gone.
struct SharedRadio {
  RadioOnList listed;
  std::atomic<bool> given_up{false};
};

/// The same for all who have the device open. Throws nothing that a module throws.
std::shared_ptr<SharedRadio> share(SoapySDR::Device& device, const std::string& args);

/// What a device is: product, serial, firmware, fpga, and everything else that the module says of it.
std::vector<std::pair<std::string, std::string>> facts_of(const SoapySDR::Device& device);

/// What its sensors say, and those of its channels. Those that say neither a number nor yes or no are left out.
RadioReadings readings_of(const SoapySDR::Device& device);

}  // namespace iqd::radio::soapy
