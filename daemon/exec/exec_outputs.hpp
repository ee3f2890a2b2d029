// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/exec/array_result.hpp"
#include "daemon/exec/exec_request.hpp"
#include "daemon/record/recording.hpp"
#include "pipeline/spec/spec.hpp"

namespace iqd {

/// A port of the pipeline, and the file that gets its results.
struct ExecOutput {
  std::string port;
  std::string file;
  std::string label;                         // for problems
  std::shared_ptr<RecordingLimit> counts{};  // of what came
  std::shared_ptr<ArrayResult> array{};      // if the file is NAME.npy
};

/// The ports that OUT may be if the command line does not say so: the only one that the pipeline publishes or records,
/// or else the last stage's output `out`, or all its outputs.
std::vector<std::string> result_ports(const PipelineSpec& spec);

/// The outputs with the whole names of their ports. Throws UsageError.
std::vector<ExecOutput> name_outputs(const std::vector<PortFile>& out, const PipelineSpec& spec,
                                     const std::vector<std::string>& results);

/// Throws UsageError if a recording would be written that is being read.
void refuse_own_input(const std::string& in, const std::vector<ExecOutput>& outputs);

/// Adds the sink that writes the output.
void add_output(PipelineSpec& spec, ExecOutput& output, bool one_row, Problems& problems);

/// After the run: writes arrays, and prints what each file has. `exit`: of the run.
Exit finish_outputs(const std::vector<ExecOutput>& outputs, Exit exit);

}  // namespace iqd
