// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "radio/recall/ring.hpp"

namespace iqd::radio::recall {

/// A ring that sinks fill and sources read, found by its name in all of the process. It is there as long as one of them
/// holds it. Any thread; a lock is held while samples are copied.
class Memory {
 public:
  static std::shared_ptr<Memory> named(const std::string& name);
  explicit Memory(std::string name) : name_(std::move(name)) {}
  const std::string& name() const noexcept { return name_; }

  /// A pipeline fills it: another must not at the same time, and is told so by a SetupError. One may have two sinks for
  /// a while, when a reload puts another in the place of the first.
  void open(const std::string& pipeline);
  void close() noexcept;

  /// From here on the samples are this writer's. What was kept goes on where it is of this kind; else the ring takes
  /// its place, or a new one where there is none.
  void begin(const void* writer, const Kept& kept, std::unique_ptr<Ring> ring);
  /// False where another writer has begun.
  bool write(const void* writer, std::int64_t time_ns, const std::byte* from, std::int64_t n);

  struct Look {
    std::optional<Kept> kept;
    std::optional<std::int64_t> end_ns;  // behind the newest sample; nothing where there is none
    std::int64_t touched_ns = 0;         // steady clock, when that came
  };
  Look look() const;
  /// As the ring's, where it has this format; else nothing is held.
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
