// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "config/differences.hpp"

#include <algorithm>

#include "config/values.hpp"

namespace iqd {

std::vector<Difference> differences(const FieldList& one, const FieldList& other) {
  const std::vector<KeyCopy> a = values_of(one);
  const std::vector<KeyCopy> b = values_of(other);
  std::vector<Difference> found;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (a[i].value != b[i].value) found.push_back({a[i].key, a[i].info.live});
  return found;
}

bool all_live(const std::vector<Difference>& found) noexcept {
  return std::all_of(found.begin(), found.end(), [](const Difference& d) { return d.live; });
}

}  // namespace iqd
