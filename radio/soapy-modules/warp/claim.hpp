// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "radio/soapy-modules/warp/node.hpp"

namespace iqd::warp {

/// A node that nobody else of this host may set, as long as this lives. A node obeys whoever speaks to it, so two would
/// disturb each other without a word. The kernel gives it back when the process ends, however it does.
class Claim {
 public:
  /// Throws std::runtime_error where somebody has it.
  explicit Claim(const Node& node);
  ~Claim();
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

 private:
  int fd_;
};

}  // namespace iqd::warp
