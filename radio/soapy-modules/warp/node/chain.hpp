// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "radio/soapy-modules/warp/node/node.hpp"

namespace iqd::warp {

/// One RF chain of one node.
struct Chain {
  Node* node = nullptr;
  std::size_t number = 0;
};
/// The chains of one node as masks; nodes keep their order.
struct NodeMask {
  Node* node;
  std::uint32_t buffers;
  std::uint32_t rf;
};
std::vector<NodeMask> masks_of(const std::vector<Chain>& chains);

}  // namespace iqd::warp
