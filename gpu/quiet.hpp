// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace iqd::gpu {

/// While one exists, no kernel is resident on any device of this process. Some calls wait until a device has nothing to
/// do: those that load code, and those that allocate or free memory. They would wait for a resident kernel forever, so
/// the thread that makes them holds one of these. Works are launched from the host meanwhile. Any thread; they nest.
class Quiet {
 public:
  Quiet() noexcept;
  ~Quiet();
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
};

}  // namespace iqd::gpu
