// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/backend.hpp"

namespace iqd {

/// Names the calling thread, gives it a real-time priority and pins it to CPUs, as far as the system allows. A refusal
/// is reported once per pipeline, see real_time.hpp.
void prepare_thread(const QueueOptions& options);

}  // namespace iqd
