// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/trigger/past.hpp"

#include "radio/message_part.hpp"

namespace iqd::radio::trigger {

void Past::keep(const Message& message, std::int64_t from) {
  const std::int64_t n = message.extent - from;
  Kept& kept = kept_.emplace_back();
  if (!spare_.empty()) kept.payload = std::move(spare_.back()), spare_.pop_back();
  const Message part = part_of(message, from, n, kept.payload);
  if (part.payload.data() != kept.payload.data()) kept.payload.assign(part.payload.begin(), part.payload.end());
  kept.message = part;
  kept.message.retuned_hz = part.frequency_hz() - format_.frequency_hz;
  kept.message.was_retuned_hz = part.was_at_hz() - format_.frequency_hz;
  kept.message.respanned_hz = part.span_hz() - format_.span_hz;
  kept.message.format = &format_;
  kept.message.payload = kept.payload;
  kept.message.facts = {};
  items_ += n;
  usable_ += n;
  forget();
}

void Past::passed_on(std::int64_t left) {
  usable_ = std::clamp<std::int64_t>(left, 0, usable_);
  follows_ = true;
  forget();
}

/// Releases messages that no recording can need any more.
void Past::forget() {
  follows_ = follows_ && usable_ <= most_;
  usable_ = std::min(usable_, most_);
  while (!kept_.empty() && items_ - kept_.front().message.extent >= usable_) {
    items_ -= kept_.front().message.extent;
    spare_.push_back(std::move(kept_.front().payload));
    kept_.pop_front();
  }
}

}  // namespace iqd::radio::trigger
