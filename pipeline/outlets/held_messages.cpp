// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/outlets/held_messages.hpp"

#include <cstring>
#include <new>
#include <utility>

#include "base/slot_mask.hpp"

namespace iqd {
namespace {

constexpr std::size_t kMostCopies = 4096;

/// The capacity of the queue.
std::size_t most_waiting(std::size_t copied_bytes) noexcept {
  return copied_bytes > 0 ? kMostCopies : SlotMask::kMost;
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
  held.message.facts = {};
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
  const std::size_t waiting = copied_ + m.payload.size();
  if (most_copied_ == 0 || waiting > most_copied_) return false;
  held.payload.reset(new (std::nothrow) std::byte[m.payload.size()]);
  if (!held.payload) return false;
  std::memcpy(held.payload.get(), m.payload.data(), m.payload.size());
  m.payload = {held.payload.get(), m.payload.size()};
  if (!copied_format_ || *copied_format_ != *m.format) copied_format_ = std::make_shared<const PortFormat>(*m.format);
  held.format = copied_format_;
  m.format = held.format.get();
  copied_.fetch_add(m.payload.size());
  if (waiting == m.payload.size()) is_behind_ = false;
  if (std::uint64_t more = 0;
      waiting > most_copied_ / 2 && !std::exchange(is_behind_, true) && behind_lines_.allow(more))
    log::warn("{}: falling behind: {:.0f} MB queued; data is dropped at {:.0f} MB", name_,
              static_cast<double>(waiting) / 1e6, static_cast<double>(most_copied_) / 1e6);
  return true;
}

bool HeldMessages::take(HeldMessage& held) noexcept {
  if (!queue_.try_pop(held)) return false;
  if (held.payload)
    copied_.fetch_sub(held.message.payload.size());
  else
    leased_.fetch_sub(1);
  return true;
}

}  // namespace iqd
