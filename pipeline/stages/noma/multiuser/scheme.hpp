// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

/// How a device detects. All give the same results; what was published is there to be measured beside our own.
namespace iqd::noma {

enum class Scheme : std::uint8_t {
  own,              // all users at once on tensor cores: apsm_detector/detect.cuh
  one_vector,       // published, a user at a time: a block for each data vector
  several_vectors,  // a block for several, so that a row of the dictionary is fetched once for them
  shared_slices,    // a block keeps a slice of the dictionary in shared memory; the slices' sums are added afterwards
  balanced,         // slices of a size that fills the device evenly, several vectors a thread
};
inline std::span<const std::string_view> enum_names(Scheme) {
  static constexpr std::string_view names[] = {"own", "one", "several", "slices", "balanced"};
  return names;
}

}  // namespace iqd::noma
