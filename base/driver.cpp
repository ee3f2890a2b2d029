// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/driver.hpp"

#include "base/error.hpp"

namespace iqd {

std::optional<std::int64_t> Source::retune(const SourceOptions&) {
  throw SetupError("this source cannot change while it runs");
}

}  // namespace iqd
