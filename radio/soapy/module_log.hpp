// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace iqd::radio::soapy {

/// Redirects the log of modules to iqd's. They may flood it, and would write to a terminal that nobody reads.
void take_log();

}  // namespace iqd::radio::soapy
