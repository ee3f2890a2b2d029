// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/backend.hpp"

namespace iqd {

/// What `backend: auto` or a name stands for on this machine, and why it was picked.
struct BackendChoice {
  std::unique_ptr<Backend> backend;
  std::string reason;
};
/// `auto`, `cpu`, `cuda`, `cuda:1`. Throws SetupError, which says what is missing, if there is no such backend.
BackendChoice choose_backend(std::string_view name);

/// The number of CUDA devices; if there is none, `why` says what is missing.
int count_cuda_devices(std::string& why);

}  // namespace iqd
