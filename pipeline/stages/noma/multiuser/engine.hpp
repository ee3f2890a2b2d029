// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "pipeline/stages/noma/multiuser/multiuser.hpp"

namespace iqd::noma {

/// Training and detection on the CPU. One Engine serves all lanes; a run uses one thread, allocates nothing and never
/// waits. There is no output if `frames` is not a multiple of `starts` (or of `noises`), or if an input that the start
/// needs has no items.
class Engine {
 public:
  explicit Engine(const Method& method) : method_(method) {}

  std::size_t scratch_bytes() const;
  std::size_t carry_bytes() const { return method_.carry_bytes(); }

  /// `fresh`: the content of the carry is invalid. `carry` is read only if the method is online.
  void run(const Job& job, bool fresh, std::byte* carry, std::byte* scratch) const noexcept;

 private:
  Method method_;
};

}  // namespace iqd::noma
