// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace iqd::gpu {

/// A library of the target's CUDA that is opened when it is first needed, so that what does not need it starts without
/// it, and quickly. Stays open.
class LateLibrary {
 public:
  /// `file` is looked for where the loader looks, then where CUDA is installed by default. Throws SetupError; `part`
  /// says there what is wanted: `cuBLAS`.
  LateLibrary(const char* file, const char* part);

  /// `find<decltype(&::name)>("name")`. Throws SetupError.
  template <class Function> Function find(const char* name) const { return reinterpret_cast<Function>(symbol(name)); }

 private:
  void* symbol(const char* name) const;

  const char* file_;
  void* handle_;
};

/// A member of a table of functions that are found when the table is made; `library` is the table's LateLibrary.
#define IQD_LATE_FUNCTION(name) decltype(&::name) name = library.find<decltype(&::name)>(#name)

}  // namespace iqd::gpu
