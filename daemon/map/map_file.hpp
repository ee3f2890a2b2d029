// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config/document.hpp"

namespace iqd {

struct MapFileSetup {
  std::string pipeline;   // its name, if the file has several
  std::string recording;  // in place of the file's source; empty: the file's own
  std::string folder;     // of the results
};

/// The pipeline file that each window runs: a pipeline between a recording and files in one folder. A topic becomes an
/// array, `STAGE.PORT.npy`; the monitor, sinks that write no file, and keys for real time are left out. Throws UsageError.
std::string map_file(const Document& document, const MapFileSetup& setup);

}  // namespace iqd
