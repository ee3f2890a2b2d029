// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stage/stage.hpp"

#define STAGE(family, name) \
  namespace iqd::name {     \
  StageEntry entry();       \
  }
#define STAGE_SET(family, name)      \
  namespace iqd::name {              \
  std::vector<StageEntry> entries(); \
  }
#include "pipeline/stages/stages.def"
#undef STAGE
#undef STAGE_SET

namespace iqd {

std::span<const StageEntry> all_stages() {
  static const std::vector<StageEntry> table = [] {
    std::vector<StageEntry> t;
#define STAGE(family, name) t.push_back(name::entry());
#define STAGE_SET(family, name) \
  for (StageEntry & e : name::entries()) t.push_back(std::move(e));
#include "pipeline/stages/stages.def"
#undef STAGE
#undef STAGE_SET
    return t;
  }();
  return table;
}

}  // namespace iqd
