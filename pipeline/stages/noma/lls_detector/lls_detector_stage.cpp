// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/noma/multiuser/linear_stage.hpp"

namespace iqd::lls_detector {

StageEntry entry() {
  return {.family = "noma",
          .name = "lls_detector",
          .summary = "linear detection of several users by least squares over their pilots",
          .inputs = noma::multiuser_inputs(),
          .outputs = noma::multiuser_outputs(),
          .make = make_stage<noma::LinearStage<noma::Start::lls>>,
          .sample = "lls_detector: {modulation: 16qam}",
          .tolerance = 1e-3};
}

}  // namespace iqd::lls_detector
