// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace iqd {

/// What all windows run: `iqd run FILE --window K/N`.
struct WindowRun {
  std::string iqd;     // the program
  std::string file;    // pipeline file
  std::string start;   // working directory
  std::string folder;  // of the logs, `window.K.log`
  std::int64_t windows = 1;
  std::string warm;

  std::vector<std::string> command(const std::string& window) const;
  std::string log(const std::string& window) const { return folder + "/window." + window + ".log"; }
};

/// Runs windows of a recording somewhere, as many at a time as there is room for.
class WindowJobs {
 public:
  virtual ~WindowJobs() = default;
  /// Returns when none of them runs any more, whatever became of them; false: a signal ended them.
  virtual bool run(std::span<const std::int64_t> windows) = 0;
};

/// As processes of this machine.
std::unique_ptr<WindowJobs> local_jobs(const WindowRun& run, int at_once);
/// As arrays of Slurm; `options` of sbatch; `at_once` 0: as many as it has room for. Throws UsageError if Slurm is not
/// installed.
std::unique_ptr<WindowJobs> slurm_jobs(const WindowRun& run, const std::vector<std::string>& options, int at_once);

/// `0-2,5` of ascending numbers.
std::string ranges_of(std::span<const std::int64_t> numbers);

}  // namespace iqd
