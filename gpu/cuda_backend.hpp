// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/backend.hpp"

namespace iqd::gpu {

/// Throws SetupError.
std::unique_ptr<Backend> make_backend(int device);

}  // namespace iqd::gpu
