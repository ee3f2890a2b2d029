// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace iqd::gpu {

/// A CUDA library that is opened when it is first needed, so that programs that do not need it start without it, and
/// quickly. Stays open.
class LateLibrary {
 public:
  /// Searches `file` where the loader looks, then in CUDA's default folder. Throws SetupError, whose message names
  /// `part`, for example `cuBLAS`.
  LateLibrary(const char* file, const char* part);

  /// `find<decltype(&::name)>("name")`. Throws SetupError.
  template <class Function> Function find(const char* name) const { return reinterpret_cast<Function>(symbol(name)); }

 private:
  void* symbol(const char* name) const;

  const char* file_;
  void* handle_;
};

/// A member of a table of functions, looked up when the table is made; `library` is the table's LateLibrary.
#define IQD_LATE_FUNCTION(name) decltype(&::name) name = library.find<decltype(&::name)>(#name)

}  // namespace iqd::gpu
