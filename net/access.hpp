// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "config/fields.hpp"

namespace iqd::net {

/// False for an address that other hosts have to do with.
bool is_local(std::string_view endpoint);

/// Who may talk to a socket, and how that is kept secret. The side that binds is the server of CURVE: it has a secret
/// key and a list of whom it lets in. The side that connects knows the server's public key.
struct Access {
  bool curve = false;  // the group is there
  std::string secret;
  std::string allow;
  std::string server;
  bool insecure = false;

  void fields(FieldVisitor& v);
  /// What is missing or too much, what is wrong with the files of keys, and whether `endpoint` may go without any.
  void check(const std::string& endpoint, bool bound, const Section& section) const;
  bool same_keys(const Access& other) const {
    return curve == other.curve && secret == other.secret && allow == other.allow && server == other.server;
  }
};

/// What `allow` says in place of a file.
inline constexpr std::string_view kAnybody = "any";

}  // namespace iqd::net
