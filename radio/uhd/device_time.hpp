// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <uhd/usrp/multi_usrp.hpp>

namespace iqd::radio::usrp {

bool has_sensor(uhd::usrp::multi_usrp& usrp, const char* name, std::size_t board);

/// Sets the clocks of all boards to the host's time of day, at a pulse from outside. The pulse says when a second
/// begins, the host which one it is. Throws where there is no pulse.
void set_time_at_pulse(uhd::usrp::multi_usrp& usrp);
/// The same with the second of each board's GPS. Throws where that never agrees with the pulses.
void set_time_by_gps(uhd::usrp::multi_usrp& usrp);

}  // namespace iqd::radio::usrp
