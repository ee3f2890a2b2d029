// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/driver.hpp"

#include "base/error.hpp"

namespace iqd {

void Source::retune(const SourceOptions&) {
  throw SetupError("this source takes no change while it runs");
}

}  // namespace iqd
