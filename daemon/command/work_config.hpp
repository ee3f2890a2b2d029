// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config/document.hpp"
#include "hosts/link_config.hpp"

namespace iqd {

/// The key `work` of a file: this host computes blocks for pipelines elsewhere.
struct WorkConfig {
  hosts::LinkConfig link;
  std::vector<std::string> pools;
  std::vector<std::string> backend{"auto"};
  std::int64_t lanes = 0;
  std::int64_t ahead = 1;
  std::string name;
  double hang_s = 10;

  void fields(FieldVisitor& visitor);
  void check(const Section& section) const;
};

/// Problems go to `problems`.
WorkConfig read_work(const Node& node, Problems& problems);

}  // namespace iqd
