// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace iqd {

struct JoinOptions {
  std::string folder;
  std::int64_t windows = 0;
  bool missing = false;
  bool lossy = false;
  bool overwrite = false;
};

/// The windows whose results are not whole, ascending; `lossy`: unless they only lost samples. Says which manifests
/// cannot be read. Throws SetupError if the folder cannot be read.
std::vector<std::int64_t> missing_windows(const JoinOptions& options);

/// Gives each sink the results of all windows. Throws SetupError if some are missing.
Exit join_windows(const JoinOptions& options);

}  // namespace iqd
