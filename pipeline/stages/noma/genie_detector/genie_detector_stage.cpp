// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "pipeline/stages/noma/multiuser/linear_stage.hpp"

namespace iqd::genie_detector {

StageEntry entry() {
  std::vector<InputSpec> inputs = noma::multiuser_inputs();
  inputs.push_back({.name = "h",
                    .elements = {Element::cf32},
                    .dims = "[group][antenna][user]",
                    .reread = true,
                    .example = {{"antenna", 4}, {"user", 3}}});
  inputs.push_back({.name = "noise", .elements = {Element::f32}, .dims = "[group]", .variance = true});
  return {.family = "noma",
          .name = "genie_detector",
          .summary = "linear (MMSE) detection of several users with known channel and noise",
          .inputs = std::move(inputs),
          .outputs = noma::multiuser_outputs(),
          .make = make_stage<noma::LinearStage<noma::Start::genie>>,
          .sample = "genie_detector: {modulation: 16qam}",
          .tolerance = 1e-3};
}

}  // namespace iqd::genie_detector
