// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/stages.hpp"

namespace iqd {

std::span<const StageEntry> all_stages() {
  static const std::vector<StageEntry> table = [] {
    std::vector<StageEntry> t;
#define STAGE(family, name) t.push_back(name::entry());
#define STAGE_SET(family, name) \
  for (StageEntry & e : name::entries()) t.push_back(std::move(e));
#define STAGE_PART(family, name)
#include "pipeline/stages/stages.def"
#undef STAGE
#undef STAGE_SET
#undef STAGE_PART
    return t;
  }();
  return table;
}

}  // namespace iqd
