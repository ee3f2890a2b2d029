// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace iqd::radio::soapy {

/// What modules tell goes into the log from here on. They may write in floods, and to a terminal that nobody reads.
void take_log();

}  // namespace iqd::radio::soapy
