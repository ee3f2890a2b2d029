// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "daemon/run/pipeline_set.hpp"

namespace iqd {

/// Looks for what hangs in the running pipelines, and stops the rest of them when the process must end. The main
/// thread.
class HangWatch {
 public:
  explicit HangWatch(PipelineSet& pipelines) : pipelines_(pipelines) {}
  /// Logs each stage once that spends long on one block: a user-written stage may contain an endless loop, or just be
  /// slow.
  void warn_of_slow_stages();
  /// Notices sources that are silent since a call into their driver does not return.
  void look_for_silence();
  /// What hangs, so that only a restart helps; empty: nothing.
  std::string hung() const;
  /// Stops pipelines that do not hang: transmitters are switched off, received samples are recorded and published.
  void stop_others();
  /// Gives up what did not stop in time. Returns whether anything but a radio failed to.
  bool abandon_late();

 private:
  PipelineSet& pipelines_;
  std::set<std::string> slow_;  // pipelines with a stage that was warned of
};

}  // namespace iqd
