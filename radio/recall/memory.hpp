// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "radio/recall/ring.hpp"

namespace iqd::radio::recall {

/// A ring that sinks fill and sources read, found by its name within the process. It exists as long as one of them
/// holds it. Any thread; samples are copied under a lock.
class Memory {
 public:
  static std::shared_ptr<Memory> named(const std::string& name);
  explicit Memory(std::string name) : name_(std::move(name)) {}
  const std::string& name() const noexcept { return name_; }

  /// Registers the pipeline that fills it; throws SetupError if another one does already. A pipeline may have two sinks
  /// for a while, when a reload replaces the first.
  void open(const std::string& pipeline);
  void close() noexcept;

  /// Makes this the current writer. If the memory already has this format, its samples are kept; otherwise the ring
  /// replaces it, or a new one if the ring is null.
  void begin(const void* writer, const Kept& kept, std::unique_ptr<Ring> ring);
  /// Returns false if another writer has begun.
  bool write(const void* writer, std::int64_t time_ns, const std::byte* from, std::int64_t n);

  struct Look {
    std::optional<Kept> kept;
    std::optional<std::int64_t> end_ns;  // after the newest sample; nothing if the ring is empty
    std::int64_t touched_ns = 0;         // steady clock, time of the last write
  };
  Look look() const;
  /// As in Ring, if the memory has this format; otherwise 0.
  std::int64_t held(const Kept& as, std::int64_t start_ns, std::int64_t n) const;
  void copy(const Kept& as, std::int64_t start_ns, std::int64_t n, std::span<std::byte* const> rows) const;

 private:
  const std::string name_;
  mutable std::mutex mutex_;
  std::unique_ptr<Ring> ring_;
  const void* writer_ = nullptr;
  std::int64_t touched_ns_ = 0;
  std::string pipeline_;
  int sinks_ = 0;
};

}  // namespace iqd::radio::recall
