// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/spec/spec.hpp"

namespace iqd {

/// A radio as a pipeline names it: what its keys tell of what it needs from this machine.
struct RadioUse {
  std::string pipeline{};
  std::string driver;                       // as `source:` and `sinks:` name it
  std::map<std::string, std::string> args;  // the device's
  std::vector<std::string> hosts{};         // addresses or names that it is reached at; none: it is not on the network
  double bits_per_s = 0;                    // of samples between it and this machine; 0: not known
  RealTime realtime{};

  /// The value of a device argument; empty where it is not given.
  std::string_view arg(const std::string& key) const;
  /// Whether UHD is behind it, natively or as a SoapySDR module.
  bool is_uhd() const { return driver == "uhd" || arg("driver") == "uhd"; }
};

/// The radios of a file, sources and sinks.
std::vector<RadioUse> radios_in(const Spec& spec);

/// `addr=192.168.10.2, type=x300` as pairs.
std::map<std::string, std::string> device_args(std::string_view text);
/// Where device arguments say that the radio is on the network.
std::vector<std::string> hosts_in(const std::map<std::string, std::string>& args);

}  // namespace iqd
