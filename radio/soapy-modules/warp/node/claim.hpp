// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "radio/soapy-modules/warp/node/node.hpp"

namespace iqd::warp {

/// Exclusive control of a node on this host, for the lifetime of the object. A node obeys every sender, so two programs
/// would disturb each other unnoticed. The kernel releases the claim when the process ends, however it ends.
class Claim {
 public:
  /// Throws std::runtime_error if another device has the node.
  explicit Claim(const Node& node);
  ~Claim();
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

 private:
  int fd_;
};

}  // namespace iqd::warp
