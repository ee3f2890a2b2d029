// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "gpu/compiler.hpp"

namespace iqd::fusion {

/// The headers that device code compiled at run time may include: those listed in the file `device_headers` here, as
/// they were when the library was built. In libiqd_cuda.
std::span<const gpu::Header> device_headers();

}  // namespace iqd::fusion
