// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/pool.hpp"
#include "pipeline/spec/spec.hpp"

namespace iqd {

/// A port that comes back from other hosts.
struct ReturnedPort {
  std::string port;   // as files name it
  std::string dtype;  // as it is converted to
  Reach reach;        // beyond the new part
};

/// What a worker reads of an order.
struct OrderedWork {
  std::string build;  // of the home: a hash of the code of its stages
  StreamInfo stream;
  PipelineSpec spec;  // name, block and stages
  std::vector<ReturnedPort> returns;
  Problems problems{};  // of its sections
};

/// The order for the hosts that compute the first part of this plan. It has no keys of access and no addresses.
WorkOrder make_order(const PipelineSpec& spec, const StreamInfo& stream, const Plan& plan);

/// Reads an order from anywhere. Throws SetupError if it is not one, has another hash, names what this build lacks, or
/// would run a program or read a file here.
OrderedWork read_order(const WorkOrder& order, const Catalogue& catalogue);

/// A hash of the code that decides what stages compute.
std::string build_mark();

}  // namespace iqd
