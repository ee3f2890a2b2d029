// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/driver.hpp"

namespace iqd::radio {

/// `file`: plays SigMF recordings, and makes them.
DriverEntry file_driver();

}  // namespace iqd::radio
