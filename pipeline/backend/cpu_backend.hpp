// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/backend.hpp"

namespace iqd {

/// The CPU as a backend: a queue is a thread, and both sides share the same memory.
std::unique_ptr<Backend> make_cpu_backend();

}  // namespace iqd
