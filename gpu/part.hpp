// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "gpu/device.hpp"
#include "gpu/owned.hpp"

namespace iqd::gpu {

/// As Backend::take_part: a green context of the driver. Such a context takes 2 ms and 4 MB, which the driver never gives
/// back (H200), so those with the same multiprocessors are one, which the process keeps.
std::shared_ptr<const DevicePart> take_part(const Device& device, const DeviceShare& share);

/// A stream whose kernels run in this part, wherever their graphs are launched. The device's current context may be the
/// usual one. Throws SetupError.
Stream make_stream(const DevicePart& part, int priority);

}  // namespace iqd::gpu
