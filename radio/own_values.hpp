// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/device_key.hpp"
#include "radio/radio_settings.hpp"

namespace iqd::radio {

/// A live key that `next` leaves out and `before` had gets the value that the device had before iqd set it: `own`, as
/// read then. A value that is unknown, or that the device reports but does not take, is left out still.
void restore_own(RadioSettings& next, const RadioSettings& before, const DeviceKeys& own);

}  // namespace iqd::radio
