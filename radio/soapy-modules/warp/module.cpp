// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <SoapySDR/Registry.hpp>

#include "radio/soapy-modules/warp/device.hpp"
#include "radio/soapy-modules/warp/places.hpp"

namespace {

SoapySDR::Device* make(const SoapySDR::Kwargs& args) {
  return new iqd::warp::Device(args);
}

const SoapySDR::Registry registration("warp", &iqd::warp::find_nodes, &make, SOAPY_SDR_ABI_VERSION);

}  // namespace
