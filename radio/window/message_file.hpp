// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "base/driver.hpp"
#include "base/files/sha256.hpp"

namespace iqd::radio {

/// Puts a message and its facts into bytes, which MessageFile reads.
void put_message(const Message& message, std::vector<std::byte>& into);

/// Reads messages of one format from a file.
class MessageFile {
 public:
  /// Throws SetupError if the file cannot be read. `format` must outlive it.
  MessageFile(std::string path, const PortFormat& format);

  /// The next message, valid until the next call; false at the end. Throws SetupError if the file is damaged.
  bool next(Message& message);
  /// The hash of all that was read.
  std::string hash() { return hash_.hex(); }

 private:
  void read(void* into, std::size_t bytes);

  std::string path_;
  const PortFormat& format_;
  std::ifstream in_;
  std::uint64_t left_;
  Sha256 hash_;
  std::vector<std::byte> bytes_;
  std::vector<FactColumn> facts_;
};

}  // namespace iqd::radio
