// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "config/fields.hpp"

namespace iqd::net {

/// Returns false for an address that other hosts can reach, or that is on another host.
bool is_local(std::string_view endpoint);

/// Encryption and access control of a socket. The side that binds is the CURVE server: it has a secret key and a list
/// of permitted keys. The side that connects knows the server's public key.
struct Access {
  bool curve = false;  // whether the group is given
  std::string secret;
  std::string allow;
  std::string server;
  bool insecure = false;

  void fields(FieldVisitor& v);
  /// Reports missing and excess keys, invalid key files, and an `endpoint` that needs encryption.
  void check(const std::string& endpoint, bool bound, const Section& section) const;
  bool same_keys(const Access& other) const {
    return curve == other.curve && secret == other.secret && allow == other.allow && server == other.server;
  }
};

/// The value of `allow` that permits every key.
inline constexpr std::string_view kAnybody = "any";

}  // namespace iqd::net
