// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace iqd::radio::usrp {

/// Before the first call of libuhd: its log goes to ours, and its letters (O, U, L, D …) go nowhere, since what they
/// tell is counted.
void take_uhd_log();

}  // namespace iqd::radio::usrp
