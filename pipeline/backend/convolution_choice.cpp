// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/backend/convolution_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/log.hpp"
#include "pipeline/backend/tuning.hpp"
#include "signal/filters/convolution.hpp"

namespace iqd {

const ConvolutionTable& convolutions_of(const Backend& backend) {
  if (backend.kind() == BackendKind::cpu) return cpu_convolution();
  const ConvolutionTable* const table = backend.convolution();
  if (!table) throw SetupError(fmt::format("{} has no convolution; reinstall iqd and its backend", backend.name()));
  return *table;
}

ConvolutionChoice choose_convolution(const Backend& backend, const ConvolutionShape& shape) {
  const ConvolutionTable& table = convolutions_of(backend);
  if (const auto tuned = tuned_convolution(backend.device(), shape)) {
    const auto choices = table.choices(shape);
    if (std::find(choices.begin(), choices.end(), *tuned) != choices.end()) return *tuned;
    log::warn("{}: convolution `{}` no longer exists; `iqd tune --convolution {}` finds another",
              tuning_file(backend.device()).string(), text_of(*tuned), text_of(shape));
  }
  return table.rule(shape);
}

}  // namespace iqd
