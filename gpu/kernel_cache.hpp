// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/file_cache.hpp"
#include "gpu/compiler.hpp"

namespace iqd::gpu {

/// Machine code by what it was made of: text, headers, options, architecture, version of the compiler. In memory, and
/// in a folder that other processes share. A folder that cannot be written to is warned of, once. From any thread.
class KernelCache {
 public:
  explicit KernelCache(std::filesystem::path folder) : files_(std::move(folder)) {}
  /// As gpu::compile.
  std::vector<char> compile(const std::string& source, const std::string& name, std::span<const std::string> options,
                            const std::string& architecture, std::span<const Header> headers = {});

 private:
  void keep(const std::string& key, const std::vector<char>& code);

  FileCache files_;
  std::mutex mutex_;  // the compiler takes one program at a time anyway
  std::map<std::string, std::vector<char>> known_;
  bool has_warned_ = false;
};

/// By the process's own cache, in `cache_folder()/kernels`.
std::vector<char> compile_cached(const std::string& source, const std::string& name,
                                 std::span<const std::string> options = {},
                                 const std::string& architecture = current_architecture(),
                                 std::span<const Header> headers = {});

}  // namespace iqd::gpu
