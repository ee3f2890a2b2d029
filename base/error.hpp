// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace iqd {

/// Exit codes; systemd's unit relies on them.
enum class Exit : int { ok = 0, failed = 1, configuration = 2, threshold = 3 };

/// Something that iqd needs could not be set up: a device, memory, a socket. The text says what to do; exit code 1.
class SetupError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// It cannot be done at present. Nothing has changed, and the same request may succeed later.
class NotNow : public SetupError {
 public:
  using SetupError::SetupError;
};

/// The operator requested something impossible; exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace iqd
