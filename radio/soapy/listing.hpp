// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SoapySDR/Device.hpp>
#include <atomic>
#include <memory>
#include <string>

#include "base/open_radios.hpp"

namespace iqd::radio::soapy {

/// Shared by all streams of one device: its entry in the list of open radios, with its sensors, and whether one of the
/// streams has found it gone.
struct SharedRadio {
  RadioOnList listed;
  std::atomic<bool> given_up{false};
};

/// Returns the same object to all who have the device open. Module exceptions do not escape.
std::shared_ptr<SharedRadio> share(SoapySDR::Device& device, const std::string& args);

/// The identity of a device: product, serial, firmware, fpga, and all other facts that the module reports.
std::vector<std::pair<std::string, std::string>> facts_of(const SoapySDR::Device& device);

/// The devices that SoapySDR finds, one a line, for messages.
std::string found_devices();
/// The loaded modules, and where others are looked for, for messages.
std::string where_modules_are();

/// The sensors of the device and of its channels. Sensors that are neither a number nor a truth value are left out.
RadioReadings readings_of(const SoapySDR::Device& device);

}  // namespace iqd::radio::soapy
