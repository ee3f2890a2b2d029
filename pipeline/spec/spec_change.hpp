// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pipeline/spec/spec.hpp"

namespace iqd {

/// What one pipeline as written has that another has not, and what it takes to go over.
struct SpecChange {
  bool source = false;                  // another source: the stream ends and another begins
  bool retunes = false;                 // live keys of the source
  bool plan = false;                    // something that a plan is made of
  bool live = false;                    // live keys of stages
  std::vector<std::string> keys{};      // of all that: `block`, `fir.taps`, `source.gain`, `publish`
  std::vector<std::string> not_live{};  // of these: what is no live key

  bool none() const noexcept { return keys.empty(); }
};
/// The last one holds. Drops those whose keys are all said again later, so that there are no more than keys.
void add_override(std::vector<Override>& overrides, Override added);

/// Whether a sink of one can go on as that of the other.
bool same_sink(const SinkSpec& one, const SinkSpec& other);
SpecChange compare(PipelineSpec& running, PipelineSpec& next);

/// Before programs are read, where `next` has the stages of `running`: it goes by the users' code as it was read for
/// that, whatever has become of the files, and no file is opened.
void keep_programs(const PipelineSpec& running, PipelineSpec& next);

}  // namespace iqd
