// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config/fields.hpp"

namespace iqd::hosts {

/// The default port of a NATS server.
inline constexpr int kNatsPort = 4222;

/// Which servers to connect to, and how.
struct LinkConfig {
  std::vector<std::string> servers;
  std::string key;
  std::string ca;
  bool insecure = false;

  void fields(FieldVisitor& visitor);
  void check(const Section& section) const;
  bool has_tls() const noexcept;
};

/// Whether it can be the name of a pool: a part of subjects and of names of streams.
bool is_pool_name(const std::string& name);

}  // namespace iqd::hosts
