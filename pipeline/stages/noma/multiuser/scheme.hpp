// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

/// How a GPU detects. All schemes give the same results; the published ones are for comparison.
namespace iqd::noma {

enum class Scheme : std::uint8_t {
  own,              // all users at once on tensor cores: detect.cuh
  one_vector,       // published, one user at a time: a thread block per data vector
  several_vectors,  // a thread block for several, so that a row of the dictionary is fetched once for them
  shared_slices,    // a thread block keeps a slice of the dictionary in shared memory; slices are summed afterwards
  balanced,         // slices sized to fill the GPU evenly, several vectors per thread
};
inline std::span<const std::string_view> enum_names(Scheme) {
  static constexpr std::string_view names[] = {"own", "one", "several", "slices", "balanced"};
  return names;
}

}  // namespace iqd::noma
