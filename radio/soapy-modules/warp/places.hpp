// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SoapySDR/Types.hpp>
#include <string>
#include <vector>

#include "radio/soapy-modules/arguments.hpp"
#include "radio/soapy-modules/warp/node.hpp"
#include "radio/soapy-modules/warp/trigger.hpp"

namespace iqd::warp {

using soapy_module::Arguments;

/// Which nodes the device arguments mean, and how they are reached.
struct Places {
  std::vector<NodeOptions> nodes;
  sockaddr_in broadcast{};  // of commands and triggers for all
  Trigger::Options trigger;
};
/// Throws std::invalid_argument.
Places places_of(const Arguments& args);
/// The nodes that answer: as the arguments say, or in the network of this host that WARP nodes have.
SoapySDR::KwargsList find_nodes(const SoapySDR::Kwargs& args);

}  // namespace iqd::warp
