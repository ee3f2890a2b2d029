// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "pipeline/stages/noma/multiuser/multiuser.hpp"

namespace iqd::noma {

/// What a method does on the processor, training and detection. One serves all lanes; a run takes one thread, allocates
/// nothing and waits for nothing. Where `frames` is not a multiple of `starts` (or of `noises`), or there are none of
/// those that the start needs, nothing comes out.
class Engine {
 public:
  explicit Engine(const Method& method) : method_(method) {}

  std::size_t scratch_bytes() const;
  std::size_t carry_bytes() const { return method_.carry_bytes(); }

  /// `fresh`: what is in the carry is of no use. `carry` is read where the method is online, and only there.
  void run(const Job& job, bool fresh, std::byte* carry, std::byte* scratch) const noexcept;

 private:
  Method method_;
};

}  // namespace iqd::noma
