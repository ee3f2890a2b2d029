// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/uhd/calls.hpp"

#include "radio/uhd/front_end.hpp"

namespace iqd::radio::usrp {

const Calls kReceive = {"receive",
                        false,
                        &multi_usrp::set_rx_subdev_spec,
                        &multi_usrp::get_rx_num_channels,
                        &multi_usrp::set_rx_rate,
                        &multi_usrp::get_rx_rate,
                        &multi_usrp::get_rx_rates,
                        &multi_usrp::get_rx_antennas,
                        &multi_usrp::set_rx_antenna,
                        &multi_usrp::get_rx_antenna,
                        &multi_usrp::set_rx_bandwidth,
                        &multi_usrp::get_rx_bandwidth,
                        &multi_usrp::get_rx_bandwidth_range,
                        &multi_usrp::get_rx_freq_range,
                        &multi_usrp::set_rx_freq,
                        &multi_usrp::get_rx_freq,
                        &multi_usrp::get_rx_gain_range,
                        &multi_usrp::set_rx_gain,
                        &multi_usrp::get_rx_gain,
                        &multi_usrp::get_rx_gain_profile_names,
                        &multi_usrp::set_rx_gain_profile,
                        &multi_usrp::get_rx_sensor_names,
                        &multi_usrp::get_rx_sensor};
const Calls kTransmit = {"transmit",
                         true,
                         &multi_usrp::set_tx_subdev_spec,
                         &multi_usrp::get_tx_num_channels,
                         &multi_usrp::set_tx_rate,
                         &multi_usrp::get_tx_rate,
                         &multi_usrp::get_tx_rates,
                         &multi_usrp::get_tx_antennas,
                         &multi_usrp::set_tx_antenna,
                         &multi_usrp::get_tx_antenna,
                         &multi_usrp::set_tx_bandwidth,
                         &multi_usrp::get_tx_bandwidth,
                         &multi_usrp::get_tx_bandwidth_range,
                         &multi_usrp::get_tx_freq_range,
                         &multi_usrp::set_tx_freq,
                         &multi_usrp::get_tx_freq,
                         &multi_usrp::get_tx_gain_range,
                         &multi_usrp::set_tx_gain,
                         &multi_usrp::get_tx_gain,
                         &multi_usrp::get_tx_gain_profile_names,
                         &multi_usrp::set_tx_gain_profile,
                         &multi_usrp::get_tx_sensor_names,
                         &multi_usrp::get_tx_sensor};

}  // namespace iqd::radio::usrp
