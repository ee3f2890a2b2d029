// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Whose code it was that a fatal signal came from.
namespace iqd::kernel {

/// While it lives, this thread is in the code with this label: a text that outlives it.
class AtWork {
 public:
  explicit AtWork(const char* label) noexcept;
  ~AtWork();
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;
};

/// From now on a SIGFPE, SIGSEGV, SIGBUS or SIGILL in such code says its label on standard error before it has its way:
/// the process ends by the signal, as it would have. A second call does nothing.
void name_culprits() noexcept;

}  // namespace iqd::kernel
