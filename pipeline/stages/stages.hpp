// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "pipeline/stage/stage.hpp"

/// The registrations of all stages in stages.def. Each `_stage.cpp` defines its own.
#define STAGE(family, name) \
  namespace iqd::name {     \
  StageEntry entry();       \
  }
#define STAGE_SET(family, name)      \
  namespace iqd::name {              \
  std::vector<StageEntry> entries(); \
  }
#define STAGE_PART(family, name)
#include "pipeline/stages/stages.def"
#undef STAGE
#undef STAGE_SET
#undef STAGE_PART
