// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/stages/math/kernel/culprit.hpp"
#include "pipeline/stages/math/kernel/kernel.hpp"
#include "pipeline/stages/math/kernel/messages.hpp"

namespace iqd::kernel {

/// A program as the processor runs it; loaded while it lives.
class HostCode {
 public:
  /// A shared object. Throws SetupError where it cannot be loaded.
  explicit HostCode(const std::vector<char>& object);
  ~HostCode();
  HostCode(const HostCode&) = delete;
  HostCode& operator=(const HostCode&) = delete;

  /// y(0 … n-1) of x(-past … n-1+future) of each input, with the program's values. Which bits an element gets depends
  /// on nothing but its arguments. y may be where an input of the same size is, without a halo.
  void apply(const void* const* in, void* out, std::int64_t n, const Program& program) const noexcept {
    const AtWork at_work(program.label.c_str());
    apply_(in, out, n, program.values.data());
  }

 private:
  int file_ = -1;
  void* library_ = nullptr;
  void (*apply_)(const void* const*, void*, long long, const Parameter*) = nullptr;
};

inline constexpr const char* kNoCompiler =
    "a `kernel` on the processor needs a C++ compiler: install one (`sudo apt install g++`), or name it in $CXX; on a "
    "GPU (`backend: cuda`) none is needed";

/// The host's compiler, its arguments: $CXX, or `c++` where it is not set, as $PATH has it. Empty where there is none.
std::vector<std::string> host_compiler();

/// Compiled by it, or taken from this process or the cache folder. Null, and messages, where the text is wrong. Throws
/// SetupError where there is no compiler, or it cannot be started.
std::shared_ptr<const HostCode> compile_for_host(const Program& program, std::vector<Message>& messages);

}  // namespace iqd::kernel
