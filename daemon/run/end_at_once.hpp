// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.hpp"

namespace iqd {

/// Exits without closing anything, since something hangs. Removes only the files of bound sockets.
[[noreturn]] void end_at_once(Exit exit) noexcept;

}  // namespace iqd
