// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace iqd::radio::usrp {

/// Call before any other call of libuhd: redirects its log to iqd's, and suppresses its letters (O, U, L, D …), since
/// iqd counts these events.
void take_uhd_log();

}  // namespace iqd::radio::usrp
