// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace iqd {

/// Lets SoapySDR find the modules that came with this program: their folder is added to SOAPY_SDR_PLUGIN_PATH. Call it
/// before anything else of SoapySDR, while there is one thread.
void find_own_plugins();

/// That folder: `soapy` beside the program, as it is built, or where it is installed. Empty where there is none, and
/// where it is among those that are searched already.
std::string own_plugins(const std::filesystem::path& program, const std::vector<std::string>& searched);

/// While it lives, what is written to standard output comes out of standard error: modules of others print banners
/// there when they are loaded, and the output of a command has to stay what it is.
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
