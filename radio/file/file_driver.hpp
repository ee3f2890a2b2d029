// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/driver.hpp"

namespace iqd::radio {

/// `file`: plays and writes SigMF recordings.
DriverEntry file_driver();

}  // namespace iqd::radio
