// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernel_cache.hpp"

#include "base/log.hpp"

namespace iqd::gpu {
namespace {

std::string joined(std::span<const std::string> options) {
  std::string text;
  for (const std::string& option : options) text += option + '\0';
  return text;
}
std::string joined(std::span<const Header> headers) {
  std::string text;
  for (const Header& h : headers) text += std::string(h.path) + '\0' + h.text + '\0';
  return text;
}

std::filesystem::path kernel_folder() {
  const std::filesystem::path folder = cache_folder();
  return folder.empty() ? folder : folder / "kernels";
}

}  // namespace

std::vector<char> KernelCache::compile(const std::string& source, const std::string& name,
                                       std::span<const std::string> options, const std::string& architecture,
                                       std::span<const Header> headers) {
  // The name is in the machine code's line information.
  const std::string key =
      content_key({source, name, joined(options), joined(headers), architecture, compiler_version()});
  const std::lock_guard lock(mutex_);
  if (const auto at = known_.find(key); at != known_.end()) return at->second;
  std::optional<std::vector<char>> code = files_.find(key);
  if (!code) {
    code = gpu::compile(source, name, options, architecture, headers);
    keep(key, *code);
  }
  return known_.emplace(key, std::move(*code)).first->second;
}

void KernelCache::keep(const std::string& key, const std::vector<char>& code) {
  const std::string why = files_.keep(key, code);
  if (!why.empty() && !has_warned_) log::warn("cannot store compiled kernels for the next start: {}", why);
  has_warned_ = has_warned_ || !why.empty();
}

std::vector<char> compile_cached(const std::string& source, const std::string& name,
                                 std::span<const std::string> options, const std::string& architecture,
                                 std::span<const Header> headers) {
  static KernelCache cache(kernel_folder());
  return cache.compile(source, name, options, architecture, headers);
}

}  // namespace iqd::gpu
