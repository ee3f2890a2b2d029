// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "daemon/command/commands.hpp"

namespace iqd {

/// Works for the pools of a file until SIGINT or SIGTERM. `seconds`: stop after this time; 0: never.
Exit run_worker(std::unique_ptr<Loaded> loaded, double seconds);

}  // namespace iqd
