// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/command/plugins.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <SoapySDR/Modules.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <system_error>

namespace iqd {
namespace {

constexpr const char* kVariable = "SOAPY_SDR_PLUGIN_PATH";

}  // namespace

std::string own_plugins(const std::filesystem::path& program, const std::vector<std::string>& searched) {
  const std::filesystem::path folder = program.parent_path();
  for (const auto& candidate : {folder / "soapy", (folder / IQD_INSTALLED_MODULES).lexically_normal()}) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(candidate, ignored)) continue;
    const bool is_searched = std::find(searched.begin(), searched.end(), candidate.string()) != searched.end();
    return is_searched ? "" : candidate.string();
  }
  return "";
}

void find_own_plugins() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return;
  const std::string own = own_plugins(program, SoapySDR::listSearchPaths());
  if (own.empty()) return;
  const char* given = std::getenv(kVariable);
  ::setenv(kVariable, (given && *given ? given + (":" + own) : own).c_str(), 1);
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
