// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace iqd {

/// Resource usage of this process as the kernel counts it; 0 if unknown.
struct ProcessFigures {
  double cpu_s = 0;
  double started_s = 0;  // since the epoch
  double resident_bytes = 0;
  double virtual_bytes = 0;
  double threads = 0;
  double open_files = 0;
  double most_files = 0;
  double refused = 0;  // connections, because peers used all descriptors allowed to them
};
ProcessFigures process_figures();

}  // namespace iqd
