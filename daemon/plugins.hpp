// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace iqd {

/// Lets SoapySDR find the modules that came with this program: `soapy` beside it, or `../lib/iqd/soapy`, is added to
/// SOAPY_SDR_PLUGIN_PATH. Call it before anything of SoapySDR, while there is one thread.
void find_own_plugins();

/// The search path with the program's own modules behind what stands there; unchanged where there are none, or where
/// they stand there already.
std::string with_own_plugins(const std::filesystem::path& program, const std::string& search_path);

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
