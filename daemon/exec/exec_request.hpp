// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "config/fields.hpp"

namespace iqd {

struct StageEntry;  // pipeline/stage/stage.hpp

/// The command line of `iqd exec`.
struct ExecRequest {
  std::vector<std::string> words;  // STAGE… [IN [OUT]]
  std::vector<std::string> config;
  std::vector<std::string> in;     // `port=file`, or a file
  std::vector<std::string> out;    // the same
  std::vector<std::string> ports;  // `port=file`, or the port for OUT
  std::string file;                // of a pipeline, in place of the stages
  std::string pipeline;
  std::string backend;
  std::string rate;
  std::string frequency;
  std::string format;
  std::int64_t channels = 0;
  std::int64_t block = 0;
  bool whole = false;
};

/// A stage of the command line.
struct ExecStage {
  std::string entry;  // `fir`
  std::string name;   // as the keys say, or else the entry's; a second one is fir_2
  std::string keys;   // a map, as JSON, without the name
  std::string label;  // for problems: stage 2 `fir`
};

/// The words of the command line, sorted.
struct ExecWords {
  std::vector<ExecStage> stages;
  std::vector<std::string> files;  // at most IN and OUT
};

/// Leading words that are stages, `fir: {taps: [1]}` or `conjugate`, and then files. `--config` completes the only
/// stage. Problems of the YAML go to `problems`. Throws UsageError.
ExecWords sort_words(const ExecRequest& request, Problems& problems);

/// A port and the file that it is read from or written to. Without a port it is the only one that there can be.
struct PortFile {
  std::string port;
  std::string file;
  std::string label{};  // for problems: how the command line says it
};
std::vector<PortFile> inputs_of(const ExecRequest& request, const ExecWords& words);
/// Throws UsageError if a port has no file, or if several files have no port.
std::vector<PortFile> outputs_of(const ExecRequest& request, const ExecWords& words);
/// Throws UsageError if two ports have one file.
void refuse_twice(const std::vector<PortFile>& out);

/// The sample rate and the frequency that the request gives; 0: none. Throws UsageError.
std::pair<double, double> radio_of(const ExecRequest& request);

/// The whole name of a port: of the last stage, an output's name is enough, and `out` is its only one.
std::string whole_name(const std::string& port, const std::vector<std::string>& stages, const StageEntry& last);

/// Replaces the places of problems in a composed text `document` by what the operator wrote: the label of a stage, or
/// the option. Problems of files and ports have their labels already.
void name_places(Problems& problems, const std::string& document, const std::vector<ExecStage>& stages);

/// One stage on arrays of any shape, or a chain that begins with it; in one call or in blocks.
Exit run_on_arrays(const ExecRequest& request, const std::vector<ExecStage>& stages, const std::vector<PortFile>& in,
                   const std::vector<PortFile>& out);

/// Stages, or a pipeline of a file, on a recording, as the daemon runs them.
Exit run_on_recording(const ExecRequest& request, const std::vector<ExecStage>& stages, const std::vector<PortFile>& in,
                      const std::vector<PortFile>& out);

}  // namespace iqd
