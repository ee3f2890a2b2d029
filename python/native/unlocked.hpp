// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace iqd::native {

/// While it lives, other threads of Python run. At the interpreter's end, calls that run are waited for, and later ones
/// never return: a thread that Python ends while it waits for the lock would unwind through C++.
class Unlocked {
 public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  void* thread_;  // Python's
};

/// Waits until no call runs any more. With the lock; for `atexit`.
void end_calls();

}  // namespace iqd::native
