// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/driver.hpp"

namespace iqd {

/// A source whose samples without a time get one that counts from 0, instead of the time at which they are read.
std::unique_ptr<SourceOptions> counted_time(std::unique_ptr<SourceOptions> source);

}  // namespace iqd
