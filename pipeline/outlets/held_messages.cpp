// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/outlets/held_messages.hpp"

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "base/slot_mask.hpp"

namespace iqd {
namespace {

constexpr std::size_t kMostCopies = 4096;

/// The capacity of the queue.
std::size_t most_waiting(std::size_t copied_bytes) noexcept {
  return copied_bytes > 0 ? kMostCopies : SlotMask::kMost;
}

/// Each part of a copy begins at an address for any type.
std::size_t padded(std::size_t bytes) noexcept {
  constexpr std::size_t kUnit = alignof(std::max_align_t);
  return (bytes + kUnit - 1) / kUnit * kUnit;
}

std::size_t value_bytes(const Message& m, const FactColumn& column) noexcept {
  return static_cast<std::size_t>(m.extent) * size_of(column.element);
}

/// The payload, then the columns of facts, then the values and the key of each.
std::size_t bytes_of_copy(const Message& m) noexcept {
  if (m.facts.empty()) return m.payload.size();
  std::size_t bytes = padded(m.payload.size()) + padded(m.facts.size_bytes());
  for (const FactColumn& c : m.facts) bytes += padded(value_bytes(m, c)) + padded(c.key.size());
  return bytes;
}

/// Makes the message refer to a copy of its payload and facts.
void move_to(std::byte* at, Message& m) noexcept {
  const auto put = [&at](const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(at, from, bytes);
    return std::exchange(at, at + padded(bytes));
  };
  m.payload = {put(m.payload.data(), m.payload.size()), m.payload.size()};
  if (m.facts.empty()) return;
  const std::size_t count = m.facts.size();
  auto* const columns = reinterpret_cast<FactColumn*>(at);
  std::uninitialized_copy(m.facts.begin(), m.facts.end(), columns);
  at += padded(m.facts.size_bytes());
  m.facts = {columns, count};
  for (FactColumn& c : std::span(columns, count)) {
    c.values = put(c.values, value_bytes(m, c));
    c.key = {reinterpret_cast<const char*>(put(c.key.data(), c.key.size())), c.key.size()};
  }
}

}  // namespace

HeldMessages::HeldMessages(std::string name, const SinkHold& most)
    : name_(std::move(name)),
      queue_(most_waiting(most.copied_bytes)),
      most_leased_(most.messages),
      most_copied_(most.copied_bytes) {}

std::size_t HeldMessages::bytes(std::size_t copied_bytes) noexcept {
  return most_waiting(copied_bytes) * sizeof(HeldMessage);
}

bool HeldMessages::put(const Message& message, Lease lease) {
  if (queue_.size() == queue_.capacity()) return false;
  HeldMessage held{message, {}};
  if (may_keep_slot()) {
    held.lease = std::move(lease);
    leased_.fetch_add(1);
  } else if (!copy(held)) {
    return false;
  }
  queue_.try_push(std::move(held));
  return true;
}

/// Frees the slot; the engine may be replaced before the message's turn comes.
bool HeldMessages::copy(HeldMessage& held) {
  Message& m = held.message;
  held.copied_bytes = bytes_of_copy(m);
  const std::size_t waiting = copied_ + held.copied_bytes;
  if (most_copied_ == 0 || waiting > most_copied_) return false;
  held.copy.reset(new (std::nothrow) std::byte[held.copied_bytes]);
  if (!held.copy) return false;
  move_to(held.copy.get(), m);
  if (!copied_format_ || *copied_format_ != *m.format) copied_format_ = std::make_shared<const PortFormat>(*m.format);
  held.format = copied_format_;
  m.format = held.format.get();
  copied_.fetch_add(held.copied_bytes);
  if (waiting == held.copied_bytes) is_behind_ = false;
  if (std::uint64_t more = 0;
      waiting > most_copied_ / 2 && !std::exchange(is_behind_, true) && behind_lines_.allow(more))
    log::warn("{}: falling behind: {:.0f} MB queued; data is dropped at {:.0f} MB", name_,
              static_cast<double>(waiting) / 1e6, static_cast<double>(most_copied_) / 1e6);
  return true;
}

bool HeldMessages::take(HeldMessage& held) noexcept {
  if (!queue_.try_pop(held)) return false;
  if (held.copy)
    copied_.fetch_sub(held.copied_bytes);
  else
    leased_.fetch_sub(1);
  return true;
}

}  // namespace iqd
