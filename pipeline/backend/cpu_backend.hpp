// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/backend.hpp"

namespace iqd {

/// The processor as a device: a queue is a thread, both sides' memory is the same.
std::unique_ptr<Backend> make_cpu_backend();

/// What `backend: auto` or a name stands for on this machine, and why it was picked.
struct BackendChoice {
  std::unique_ptr<Backend> backend;
  std::string reason;
};
/// `auto`, `cpu`, `cuda`, `cuda:1`. Throws SetupError where there is none such, saying what is missing.
BackendChoice choose_backend(std::string_view name);

/// How many CUDA devices there are; where there is none, `why` says what is missing.
int count_cuda_devices(std::string& why);

/// Names the calling thread, gives it a real-time priority and ties it to processors, as far as the system allows.
/// What was not granted is told once for a pipeline, see real_time.hpp.
void prepare_thread(const QueueOptions& options);

}  // namespace iqd
