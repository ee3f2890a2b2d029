// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Names the kernel whose code raised a fatal signal.
namespace iqd::kernel {

/// While it lives, this thread runs the code with this label. The label must outlive it.
class AtWork {
 public:
  explicit AtWork(const char* label) noexcept;
  ~AtWork();
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;
};

/// From now on a SIGFPE, SIGSEGV, SIGBUS or SIGILL in such code first prints its label on standard error. Then the
/// signal ends the process as it would have. A second call does nothing.
void name_culprits() noexcept;

}  // namespace iqd::kernel
