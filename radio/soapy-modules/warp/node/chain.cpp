// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/node/chain.hpp"

#include <algorithm>

#include "radio/soapy-modules/warp/node/front_end.hpp"

namespace iqd::warp {

std::vector<NodeMask> masks_of(const std::vector<Chain>& chains) {
  std::vector<NodeMask> masks;
  for (const Chain& c : chains) {
    auto at = std::find_if(masks.begin(), masks.end(), [&](const NodeMask& m) { return m.node == c.node; });
    if (at == masks.end()) at = masks.insert(at, {c.node, 0, 0});
    at->buffers |= buffer_select(c.number);
    at->rf |= rf_select(c.number);
  }
  return masks;
}

}  // namespace iqd::warp
