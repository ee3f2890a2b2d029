// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "daemon/command/commands.hpp"
#include "net/keys.hpp"

namespace iqd {
namespace {

struct KeygenOptions {
  std::string name;
  std::string directory = ".";
  bool force = false;
};

Exit make_keys(const KeygenOptions& o) {
  const bool plain = o.name.find_first_of("/ \t\n#") == std::string::npos;
  if (!plain || o.name.empty() || o.name.front() == '.')
    throw UsageError(
        fmt::format("'{}' is not a name for keys: use letters, digits, - and _, such as basestation", o.name));
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
      .option("--force", &o->force, "replace existing keys of this name");
}

}  // namespace iqd
