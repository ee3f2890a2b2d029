// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <SoapySDR/Registry.hpp>

#include "radio/soapy-modules/sim/device/device.hpp"

namespace {

/// The radio always exists. The caller's arguments are part of its description, since Soapy hands out one device for
/// equal descriptions.
SoapySDR::KwargsList find(const SoapySDR::Kwargs& args) {
  SoapySDR::Kwargs found = args;
  found["driver"] = "iqdsim";
  found.emplace("serial", "SIM0");
  found.emplace("label", "iqd simulated radio");
  return {found};
}

SoapySDR::Device* make(const SoapySDR::Kwargs& args) {
  return new iqd::sim::Device(args);
}

const SoapySDR::Registry registration("iqdsim", &find, &make, SOAPY_SDR_ABI_VERSION);

}  // namespace
