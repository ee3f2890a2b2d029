// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace iqd {

/// Adds the folder of this program's own SoapySDR modules to SOAPY_SDR_PLUGIN_PATH. Call it before anything else of
/// SoapySDR, while there is one thread.
void find_own_plugins();

/// That folder: `soapy` next to the program in a build, or where it is installed. Empty if there is none, or if it is
/// already searched.
std::string own_plugins(const std::filesystem::path& program, const std::vector<std::string>& searched);

/// Redirects standard output to standard error during its lifetime, since third-party modules print banners when they
/// are loaded, which would spoil a command's output.
class StdoutGuard {
 public:
  StdoutGuard();
  ~StdoutGuard();
  StdoutGuard(const StdoutGuard&) = delete;
  StdoutGuard& operator=(const StdoutGuard&) = delete;

 private:
  int kept_;
};

}  // namespace iqd
