// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/plugins.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <system_error>

namespace iqd {
namespace {

constexpr const char* kVariable = "SOAPY_SDR_PLUGIN_PATH";

bool stands_in(const std::string& search_path, const std::string& folder) {
  return (":" + search_path + ":").find(":" + folder + ":") != std::string::npos;
}

}  // namespace

std::string with_own_plugins(const std::filesystem::path& program, const std::string& search_path) {
  const std::filesystem::path folder = program.parent_path();
  for (const auto& candidate : {folder / "soapy", folder.parent_path() / "lib" / "iqd" / "soapy"}) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(candidate, ignored)) continue;
    if (stands_in(search_path, candidate.string())) return search_path;
    return search_path.empty() ? candidate.string() : search_path + ":" + candidate.string();
  }
  return search_path;
}

void find_own_plugins() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return;
  const char* given = std::getenv(kVariable);
  const std::string path = with_own_plugins(program, given ? given : "");
  if (!path.empty()) ::setenv(kVariable, path.c_str(), 1);
}

StdoutGuard::StdoutGuard() {
  std::fflush(stdout);
  std::cout.flush();
  kept_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (kept_ >= 0) ::dup2(STDERR_FILENO, STDOUT_FILENO);
}

StdoutGuard::~StdoutGuard() {
  if (kept_ < 0) return;
  std::fflush(stdout);
  std::cout.flush();
  ::dup2(kept_, STDOUT_FILENO);
  ::close(kept_);
}

}  // namespace iqd
