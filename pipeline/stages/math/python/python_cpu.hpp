// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/math/python/crew.hpp"
#include "pipeline/stages/math/python/setup.hpp"

namespace iqd::python {

/// Processes that are ready, and what they compute for one stage.
struct Prepared {
  std::shared_ptr<Crew> crew;
  Setup setup;
};

/// Computes one block, or fails.
void run_cpu(const Prepared& prepared, const StageIo& io) noexcept;

}  // namespace iqd::python
