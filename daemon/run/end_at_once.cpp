// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/end_at_once.hpp"

#include <cstdlib>

#include "net/binding.hpp"

namespace iqd {

void end_at_once(Exit exit) noexcept {
  net::remove_bound_files();
  std::_Exit(static_cast<int>(exit));
}

}  // namespace iqd
