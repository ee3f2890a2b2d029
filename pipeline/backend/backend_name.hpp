// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace iqd {

/// Whether a backend as files name it is a device: `cuda`, `cuda:1`.
inline bool is_device(std::string_view backend) {
  return backend.starts_with("cuda");
}

}  // namespace iqd
