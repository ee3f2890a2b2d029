// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "daemon/command/commands.hpp"
#include "net/keys.hpp"
#include "net/nkey.hpp"

namespace iqd {
namespace {

struct KeygenOptions {
  bool nkey = false;
  std::string name;
  std::string directory = ".";
  bool force = false;
};

/// For a server of NATS, which lists the public keys of its users.
Exit make_nkey(const KeygenOptions& o) {
  const net::NKeyFile made = net::write_nkey(std::filesystem::absolute(o.directory), o.name, o.force);
  fmt::print(
      "{0}\n"
      "    the seed. It stays on this machine, readable by the user that runs iqd:  key: {0}\n"
      "{1}\n"
      "    the public key, for the server's configuration:  users = [{{nkey: {1}}}]\n",
      made.seed_file.lexically_normal().string(), made.public_key);
  return Exit::ok;
}

Exit make_keys(const KeygenOptions& o) {
  const bool plain = o.name.find_first_of("/ \t\n#") == std::string::npos;
  if (!plain || o.name.empty() || o.name.front() == '.')
    throw UsageError(
        fmt::format("'{}' is not a name for keys: use letters, digits, - and _, such as basestation", o.name));
  if (o.nkey) return make_nkey(o);
  const net::KeyFiles files = net::write_key_files(std::filesystem::absolute(o.directory), o.name, o.force);
  fmt::print(
      "{0}\n"
      "    the secret key. It stays on this machine, readable by the user that runs iqd:\n"
      "      publisher   curve: {{secret: {0}, allow: LIST}}\n"
      "      subscriber  iqd sub ENDPOINT TOPIC --key {0} --server PUBLISHER.pub\n"
      "{1}\n"
      "    the public key, for the other side. A publisher's goes to every subscriber; a subscriber's goes into the\n"
      "    publisher's list:  cat {2} >> LIST\n",
      files.secret_file.lexically_normal().string(), files.public_file.lexically_normal().string(),
      files.public_file.filename().string());
  return Exit::ok;
}

}  // namespace

void add_keygen(CommandLine& line) {
  auto o = std::make_shared<KeygenOptions>();
  line.command("keygen", "create a key pair for encrypted endpoints: NAME.secret and NAME.pub",
               [o] { return make_keys(*o); })
      .option("NAME", &o->name, "owner of the keys: a host or a person", {.required = true})
      .option("--directory", &o->directory, "where to write them (here)")
      .option("--nkey", &o->nkey, "a key for a NATS server instead: NAME.seed; prints the public key")
      .option("--force", &o->force, "replace existing keys of this name");
}

}  // namespace iqd
