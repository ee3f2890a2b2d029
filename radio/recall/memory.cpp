// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/recall/memory.hpp"

#include <fmt/format.h>

#include <map>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace iqd::radio::recall {

std::shared_ptr<Memory> Memory::named(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<Memory>> all;
  const std::lock_guard lock(mutex);
  std::erase_if(all, [](const auto& entry) { return entry.second.expired(); });
  std::shared_ptr<Memory> memory = all[name].lock();
  if (!memory) all[name] = memory = std::make_shared<Memory>(name);
  return memory;
}

void Memory::open(const std::string& pipeline) {
  const std::lock_guard lock(mutex_);
  if (sinks_ > 0 && pipeline_ != pipeline)
    throw SetupError(
        fmt::format("recall: name: '{}' is already filled by pipeline '{}'; choose another name", name_, pipeline_));
  pipeline_ = pipeline;
  ++sinks_;
}

void Memory::close() noexcept {
  const std::lock_guard lock(mutex_);
  --sinks_;
}

void Memory::begin(const void* writer, const Kept& kept, std::unique_ptr<Ring> ring) {
  const std::lock_guard lock(mutex_);
  if (!ring_ || ring_->kept() != kept) {
    if (!ring) ring = std::make_unique<Ring>(kept);
    ring_.swap(ring);  // the old one is freed after the lock is released
  }
  writer_ = writer;
}

bool Memory::write(const void* writer, std::int64_t time_ns, const std::byte* from, std::int64_t n) {
  const std::lock_guard lock(mutex_);
  if (writer_ != writer) return false;
  ring_->write(time_ns, from, n);
  touched_ns_ = steady_ns();
  return true;
}

Memory::Look Memory::look() const {
  const std::lock_guard lock(mutex_);
  if (!ring_) return {};
  Look look{ring_->kept(), {}, touched_ns_};
  if (!ring_->empty()) look.end_ns = ring_->end_ns();
  return look;
}

std::int64_t Memory::held(const Kept& as, std::int64_t start_ns, std::int64_t n) const {
  const std::lock_guard lock(mutex_);
  return ring_ && ring_->kept() == as ? ring_->held(start_ns, n) : 0;
}

void Memory::copy(const Kept& as, std::int64_t start_ns, std::int64_t n, std::span<std::byte* const> rows) const {
  const std::lock_guard lock(mutex_);
  if (ring_ && ring_->kept() == as) ring_->copy(start_ns, n, rows);
}

}  // namespace iqd::radio::recall
