// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "radio/file/recording.hpp"

namespace iqd::radio {

/// Which samples of a recording become results, as written: a number of samples, or a time at its rate.
struct PartKeys {
  std::string start{};
  std::string samples{};
};

/// The same in samples, counted from the recording's first, with those that are missing in it. It delivers none around
/// them. `report` gets each problem, with its key.
Excerpt played_part(const PartKeys& keys, const Recording& recording,
                    const std::function<void(std::string_view key, std::string what)>& report);

}  // namespace iqd::radio
