// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/outlet.hpp"
#include "config/fields.hpp"
#include "net/access.hpp"

namespace iqd::publish {

enum class Kind : int { pub, push };
inline std::span<const std::string_view> enum_names(Kind) {
  static constexpr std::string_view names[] = {"pub", "push"};
  return names;
}

enum class Framing : int { json, compact, gnuradio_tags };
inline std::span<const std::string_view> enum_names(Framing) {
  static constexpr std::string_view names[] = {"json", "struct", "gnuradio-tags"};
  return names;
}

struct Config {
  std::string topic;
  std::string bind;
  std::string connect;
  Kind kind = Kind::pub;
  std::int64_t hwm_bytes = 64 << 20;
  Framing framing = Framing::json;
  net::Access access;

  void fields(FieldVisitor& v);
  const std::string& endpoint() const noexcept { return bind.empty() ? connect : bind; }
};

/// The key in which two entries with the same endpoint differ; empty if they can share a socket.
std::string_view difference(const Config& a, const Config& b);

/// `publish: - {port: …, topic: …, bind: …}` over ZeroMQ. Entries of one pipeline with the same endpoint share a
/// socket.
std::unique_ptr<OutletOptions> make_options();

}  // namespace iqd::publish
