// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.hpp"

namespace iqd {

/// Ends the process without closing anything, for something in it hangs: but no file of a socket stays behind.
[[noreturn]] void end_at_once(Exit exit) noexcept;

}  // namespace iqd
