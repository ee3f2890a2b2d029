// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/spec/spec.hpp"

namespace iqd {

/// A radio of a pipeline, and what it needs from this machine.
struct RadioUse {
  std::string pipeline{};
  std::string driver;                       // as `source:` and `sinks:` name it
  std::map<std::string, std::string> args;  // device arguments
  std::vector<std::string> hosts{};         // its addresses or names; empty: not on the network
  double bits_per_s = 0;                    // sample traffic to and from it; 0 if unknown
  RealTime realtime{};

  /// The value of a device argument; empty if not given.
  std::string_view arg(const std::string& key) const;
  /// Whether it uses UHD, natively or through SoapySDR's module.
  bool is_uhd() const { return driver == "uhd" || arg("driver") == "uhd"; }
};

/// The radios of a file, sources and sinks.
std::vector<RadioUse> radios_in(const Spec& spec);

/// `addr=192.168.10.2, type=x300` as pairs.
std::map<std::string, std::string> device_args(std::string_view text);
/// The radio's network addresses in its device arguments.
std::vector<std::string> hosts_in(const std::map<std::string, std::string>& args);

}  // namespace iqd
