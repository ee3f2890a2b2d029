// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "daemon/command/commands.hpp"

namespace iqd {

struct RunOptions {
  std::string status;                 // json, table or none; empty: a table if standard output is a terminal
  std::int64_t wait_subscribers = 0;  // readers to wait for before the first sample is read
  double seconds = 0;                 // stop after this time; 0: never
};

/// Runs the pipelines of a file until they end, or until SIGINT or SIGTERM; at a second signal it exits immediately.
Exit run_pipelines(std::unique_ptr<Loaded> loaded, const RunOptions& options);

}  // namespace iqd
