// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <uhd/usrp/multi_usrp.hpp>

namespace iqd::radio::usrp {

bool has_sensor(uhd::usrp::multi_usrp& usrp, const char* name, std::size_t board);

/// Sets the clocks of all boards to the host's time of day, at an external pulse. The pulse marks the start of a
/// second, the host says which one it is. Throws if no pulse arrives.
void set_time_at_pulse(uhd::usrp::multi_usrp& usrp);
/// The same, with the second from each board's GPS. Throws if the GPS time never matches the pulses.
void set_time_by_gps(uhd::usrp::multi_usrp& usrp);

}  // namespace iqd::radio::usrp
