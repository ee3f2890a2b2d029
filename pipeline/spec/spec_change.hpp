// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pipeline/spec/spec.hpp"

namespace iqd {

/// How two written pipelines differ, and what changing from one to the other takes.
struct SpecChange {
  bool source = false;                  // another source: the stream ends and another begins
  bool retunes = false;                 // live keys of the source
  bool plan = false;                    // something that needs a new plan
  bool live = false;                    // live keys of stages
  std::vector<std::string> keys{};      // all that differ: `block`, `fir.taps`, `source.gain`, `publish`
  std::vector<std::string> not_live{};  // those that are not live keys
  std::size_t by_others = 0;            // how many keys mean something else since other pipelines of the file differ

  bool none() const noexcept { return keys.empty(); }
  bool is_by_others() const noexcept { return by_others == keys.size(); }
};
/// Adds an override; later ones win. Drops those whose keys are all overridden later, so that there are never more
/// overrides than keys.
void add_override(std::vector<Override>& overrides, Override added);

/// Whether an open sink of one can continue as the sink of the other.
bool same_sink(const SinkSpec& one, const SinkSpec& other);
SpecChange compare(PipelineSpec& running, PipelineSpec& next);

/// Called before programs are read, if `next` has the stages of `running`: `next` uses the users' code that was read
/// for `running`, even if the files have changed since, and opens no file.
void keep_programs(const PipelineSpec& running, PipelineSpec& next);

}  // namespace iqd
