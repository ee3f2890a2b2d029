// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <uhd/types/tune_request.hpp>
#include <uhd/usrp/multi_usrp.hpp>
#include <uhd/usrp/subdev_spec.hpp>
#include <vector>

namespace iqd::radio::usrp {

using uhd::usrp::multi_usrp;

/// libuhd's calls for one direction.
struct Calls {
  const char* name;
  bool transmits;
  void (multi_usrp::*set_subdev)(const uhd::usrp::subdev_spec_t&, std::size_t);
  std::size_t (multi_usrp::*count)();
  void (multi_usrp::*set_rate)(double, std::size_t);
  double (multi_usrp::*rate)(std::size_t);
  uhd::meta_range_t (multi_usrp::*rates)(std::size_t);
  std::vector<std::string> (multi_usrp::*antennas)(std::size_t);
  void (multi_usrp::*set_antenna)(const std::string&, std::size_t);
  std::string (multi_usrp::*antenna)(std::size_t);
  void (multi_usrp::*set_bandwidth)(double, std::size_t);
  double (multi_usrp::*bandwidth)(std::size_t);
  uhd::meta_range_t (multi_usrp::*bandwidths)(std::size_t);
  uhd::freq_range_t (multi_usrp::*frequencies)(std::size_t);
  uhd::tune_result_t (multi_usrp::*set_frequency)(const uhd::tune_request_t&, std::size_t);
  double (multi_usrp::*frequency)(std::size_t);
  uhd::gain_range_t (multi_usrp::*gains)(std::size_t);
  void (multi_usrp::*set_gain)(double, std::size_t);
  double (multi_usrp::*gain)(std::size_t);
  std::vector<std::string> (multi_usrp::*gain_profiles)(std::size_t);
  void (multi_usrp::*set_gain_profile)(const std::string&, std::size_t);
  std::vector<std::string> (multi_usrp::*sensors)(std::size_t);
  uhd::sensor_value_t (multi_usrp::*sensor)(const std::string&, std::size_t);
};

}  // namespace iqd::radio::usrp
