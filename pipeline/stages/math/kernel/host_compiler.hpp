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

/// A program compiled for the CPU; unloaded by the destructor.
class HostCode {
 public:
  /// `object` is a shared object's bytes. Throws SetupError if it cannot be loaded.
  explicit HostCode(const std::vector<char>& object);
  ~HostCode();
  HostCode(const HostCode&) = delete;
  HostCode& operator=(const HostCode&) = delete;

  /// y(0 … n-1) from x(-past … n-1+future) of each input, with the program's values. An element's bits depend on its
  /// arguments alone. Without a halo y may be an input of the same element size.
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
    "a `kernel` on the CPU needs a C++ compiler: install one (`sudo apt install g++`), or name it in $CXX; a GPU "
    "(`backend: cuda`) does not need it";

/// The host's compiler and its arguments: $CXX, or `c++` if that is not set, found in $PATH. Empty if there is none.
std::vector<std::string> host_compiler();

/// Compiles the program, or takes it from this process or the cache folder. If the text is wrong, returns null and adds
/// messages. Throws SetupError if there is no compiler, or it cannot be started.
std::shared_ptr<const HostCode> compile_for_host(const Program& program, std::vector<Message>& messages);

}  // namespace iqd::kernel
