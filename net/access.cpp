// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/access.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "net/keys.hpp"

namespace iqd::net {
namespace {

constexpr std::string_view kTcp = "tcp://";

/// Reads a key file, and reports what is wrong with it.
template <class Read> void try_file(const Section& section, const char* key, const std::string& path, Read read) {
  if (path.empty()) return;
  try {
    read(path);
  } catch (const SetupError& e) {
    section.problem(key, e.what());
  }
}

}  // namespace

bool is_local(std::string_view endpoint) {
  if (!endpoint.starts_with(kTcp)) return true;
  const std::string_view host = endpoint.substr(kTcp.size(), endpoint.rfind(':') - kTcp.size());
  const bool number = host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos;
  return number || host == "localhost" || host == "[::1]";
}

void Access::fields(FieldVisitor& v) {
  v.group("curve", curve, {.help = "encryption, and access by key; docs/security.md"}, [this](FieldVisitor& g) {
    g.field("secret", secret, {.help = "file of this side's secret key, from `iqd keygen`", .file = true});
    g.field("allow", allow,
            {.help = "with bind: file with the public keys of permitted peers, one per line; `any`: every peer that "
                     "has this side's public key",
             .file = true});
    g.field("server", server, {.help = "with connect: file with the public key of the side that binds", .file = true});
  });
  v.field("insecure", insecure, {.help = "permit other hosts without `curve`: no encryption, no access control"});
}

void Access::check(const std::string& endpoint, bool bound, const Section& section) const {
  if (!curve && !insecure && !is_local(endpoint))
    section.problem(bound ? "bind" : "connect",
                    fmt::format("{} leads to other hosts, and nothing is encrypted: use 127.0.0.1, or give both sides "
                                "keys (`curve:`; `iqd keygen` makes them), or set `insecure: true`",
                                endpoint));
  if (!curve) return;
  if (endpoint.starts_with("inproc://"))
    section.problem("curve", "inproc:// never leaves this process and takes no keys: remove `curve`");
  if (bound && secret.empty()) section.problem("curve", "needs `secret:`, the file of this side's secret key");
  if (bound && allow.empty())
    section.problem("curve", "needs `allow:`, a file with the public keys of permitted peers, or `any`");
  if (bound && !server.empty())
    section.problem("curve.server", "is for a socket with `connect:`; this one is the server and needs `allow:`");
  if (!bound && server.empty())
    section.problem("curve", "needs `server:`, the file with the public key of the side that binds");
  if (!bound && !allow.empty())
    section.problem("curve.allow", "is for a socket with `bind:`; this one connects and needs `server:`");
  try_file(section, "curve.secret", secret, read_secret_key);
  if (bound && allow != kAnybody) try_file(section, "curve.allow", allow, read_public_keys);
  if (!bound) try_file(section, "curve.server", server, read_public_key);
}

}  // namespace iqd::net
