// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/pool.hpp"
#include "hosts/link_config.hpp"

namespace iqd::hosts {

enum class Storage : std::uint8_t { memory, file };
inline std::span<const std::string_view> enum_names(Storage) {
  static constexpr std::string_view names[] = {"memory", "file"};
  return names;
}

/// A pipeline's pool, as written.
struct PoolConfig {
  LinkConfig link;
  std::string name;
  std::int64_t window = 256 << 20;  // bytes
  double patience_s = 2;
  double ack_wait_s = 0.6;
  std::int64_t tries = 3;
  Storage storage = Storage::memory;
  std::int64_t replicas = 1;
  bool same = true;

  void fields(FieldVisitor& visitor);
  void check(const Section& section) const;
  /// How many blocks may be out.
  int most_out(const PoolNeeds& needs) const noexcept;
};

/// The keys of options that `make_pool_options` has made; its name may be empty.
const PoolConfig& config_of(const PoolOptions& options);

/// For the catalogue.
std::unique_ptr<PoolOptions> make_pool_options();

/// Connects, and makes the pool's streams. Throws SetupError, also if this build has no libnats.
std::shared_ptr<Pool> open_pool(const PoolConfig& config, const PoolNeeds& needs);

}  // namespace iqd::hosts
