// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/files/file_cache.hpp"
#include "gpu/compiler.hpp"

namespace iqd::gpu {

/// Caches machine code by all its inputs: text, headers, options, architecture, compiler version. In memory, and in a
/// folder that processes share. If the folder is not writable, it warns once. Thread-safe.
class KernelCache {
 public:
  explicit KernelCache(std::filesystem::path folder) : files_(std::move(folder)) {}
  /// Like gpu::compile.
  std::vector<char> compile(const std::string& source, const std::string& name, std::span<const std::string> options,
                            const std::string& architecture, std::span<const Header> headers = {});

 private:
  void keep(const std::string& key, const std::vector<char>& code);

  FileCache files_;
  std::mutex mutex_;  // the compiler takes one program at a time anyway
  std::map<std::string, std::vector<char>> known_;
  bool has_warned_ = false;
};

/// Uses the process's own cache, in `cache_folder()/kernels`.
std::vector<char> compile_cached(const std::string& source, const std::string& name,
                                 std::span<const std::string> options = {},
                                 const std::string& architecture = current_architecture(),
                                 std::span<const Header> headers = {});

}  // namespace iqd::gpu
