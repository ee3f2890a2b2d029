// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "gpu/compiler.hpp"

namespace iqd::fusion {

/// The headers that device code may include which is compiled at run time: those of the list `device_headers` beside
/// this file, as they were when the library was built. In libiqd_cuda.
std::span<const gpu::Header> device_headers();

}  // namespace iqd::fusion
