// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SoapySDR/Types.hpp>
#include <string>
#include <vector>

#include "radio/soapy-modules/arguments.hpp"
#include "radio/soapy-modules/warp/node/node.hpp"
#include "radio/soapy-modules/warp/node/trigger.hpp"

namespace iqd::warp {

using soapy_module::Arguments;

/// The nodes that the device arguments name, and their addresses.
struct Places {
  std::vector<NodeOptions> nodes;
  sockaddr_in broadcast{};  // for commands and triggers to all nodes
  Trigger::Options trigger;
};
/// Throws std::invalid_argument.
Places places_of(const Arguments& args);
/// Returns the nodes that answer: those in the arguments, or those in the WARP nodes' default network.
SoapySDR::KwargsList find_nodes(const SoapySDR::Kwargs& args);

}  // namespace iqd::warp
