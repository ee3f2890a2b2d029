// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/log.hpp"
#include "daemon/command/commands.hpp"
#include "daemon/exec/exec_input.hpp"
#include "daemon/exec/exec_request.hpp"
#include "pipeline/stage/stage.hpp"
#include "radio/file/recording_names.hpp"

namespace iqd {
namespace {

bool all_arrays(const std::vector<PortFile>& files) {
  return std::ranges::all_of(files, [](const PortFile& f) { return radio::is_npy(f.file); });
}

bool takes_samples(const ExecStage& stage) {
  const std::vector<InputSpec>& inputs = find_stage(stage.entry)->inputs;
  return inputs.empty() || (iqd::takes_samples(inputs.front()) && (inputs.size() == 1 || inputs[1].optional));
}

/// Arrays for the inputs of the first stage. One stream of samples is a recording instead, in front of a chain, and in
/// front of a single stage if its rate is known: then the results have facts beside them.
bool are_inputs(const ExecRequest& request, const std::vector<ExecStage>& stages, const std::vector<PortFile>& in) {
  if (in.size() > 1 || !takes_samples(stages.front())) return true;
  const bool has_rate = !(request.rate + request.frequency).empty();
  return stages.size() == 1 && !is_stream_of_samples(in.front().file, has_rate);
}

/// Without a rate, 1 stands for it, and 1 kHz is a thousand turns a sample.
void warn_of_units(const ExecRequest& request, const std::vector<ExecStage>& stages, const std::vector<PortFile>& in) {
  const auto has_unit = [](const ExecStage& s) {
    return s.keys.find("Hz\"") != std::string::npos || s.keys.find("S/s\"") != std::string::npos;
  };
  const auto stage = std::ranges::find_if(stages, has_unit);
  const ExecHints hints{.format = request.format, .channels = request.channels};
  if (!request.rate.empty() || stage == stages.end() || says_rate(in.front().file, hints)) return;
  log::warn("{}: keys have units, but the sample rate of {} is not known, so it is 1; set --rate", stage->label,
            in.front().file);
}

void check(const ExecRequest& request, const ExecWords& words) {
  const std::string& backend = request.backend;
  if (!backend.empty() && backend != "auto" && backend != "cpu" && !backend.starts_with("cuda"))
    throw UsageError(fmt::format("--backend: '{}' is not one of auto, cpu, cuda, cuda:N", backend));
  radio_of(request);
  if (request.file.empty() && words.stages.empty())
    throw UsageError("exec: give stages, as 'fir: {taps: [1, 2, 1]}', or --file with a pipeline");
  if (!request.file.empty() && !words.stages.empty())
    throw UsageError("exec: the pipeline of --file has the stages; leave out those of the command line");
  if (!request.file.empty() && !request.config.empty())
    throw UsageError("exec: --config is for a single stage; --file has the keys of its stages");
  if (request.file.empty() && !request.pipeline.empty()) throw UsageError("exec: --pipeline needs --file");
}

Exit execute(const ExecRequest& request) {
  Problems problems;
  const ExecWords words = sort_words(request, problems);
  if (report(problems)) return Exit::configuration;
  check(request, words);
  const std::vector<PortFile> in = inputs_of(request, words), out = outputs_of(request, words);
  if (in.empty()) throw UsageError("exec: IN is missing: a recording or an array, NAME.sigmf-meta or NAME.npy");
  if (out.empty()) throw UsageError("exec: OUT is missing: the file that gets the results");
  warn_of_units(request, words.stages, in);
  const bool arrays = all_arrays(in) && all_arrays(out) && !words.stages.empty();
  if (arrays && are_inputs(request, words.stages, in)) return run_on_arrays(request, words.stages, in, out);
  return run_on_recording(request, words.stages, in, out);
}

}  // namespace

void add_exec(CommandLine& line) {
  auto r = std::make_shared<ExecRequest>();
  line.command(
          "exec", "run stages on a recording or on arrays, without a radio", [r] { return execute(*r); }, true)
      .option(
          "WORDS", &r->words,
          "STAGE… IN OUT: stages as `conjugate` or `fir: {taps: [1, 2, 1]}`, then the recording and the file for the "
          "results: NAME.npy, NAME.sigmf-meta, NAME.wav",
          {.words = {{0, 4096}}})
      .option("--config", &r->config, "of a single stage: key=value, or a YAML file with its keys")
      .option("--file", &r->file, "a pipeline file with the stages")
      .option("--pipeline", &r->pipeline, "which one, if the file has several")
      .option("--in", &r->in, "IN; for a stage with several inputs port=x.npy")
      .option("--out", &r->out, "OUT, or port=file")
      .option("--port", &r->ports, "the port for OUT, stage.output; or stage.output=file for one more")
      .option("--backend", &r->backend, "auto, cpu, cuda or cuda:N")
      .option("--rate", &r->rate, "sample rate of an input that does not say it, for keys in Hz (1)")
      .option("--frequency", &r->frequency, "its centre frequency")
      .option("--format", &r->format, "samples of a raw file: cu8, cs8, cs16, cf32 …")
      .option("--channels", &r->channels, "interleaved channels of a raw file", {.positive = true})
      .option("--block", &r->block, "cut the stream into blocks of this many samples", {.positive = true})
      .option("--whole", &r->whole, "process one block, the default for up to 4 Mi samples", {.excludes = "--block"});
}

}  // namespace iqd
