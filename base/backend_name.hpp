// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace iqd {

/// Whether a backend as files name it is a device: `cuda`, `cuda:1`.
inline bool is_device(std::string_view backend) {
  return backend.starts_with("cuda");
}

/// Its number; nothing if it is none.
inline std::optional<int> device_number(std::string_view backend) {
  if (backend == "cuda") return 0;  // the first one
  constexpr std::string_view kNumbered = "cuda:";
  if (!backend.starts_with(kNumbered)) return {};
  const std::string_view digits = backend.substr(kNumbered.size());
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.starts_with('-')) return {};
  return number;
}

}  // namespace iqd
