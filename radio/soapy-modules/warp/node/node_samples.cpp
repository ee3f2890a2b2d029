// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Transfers samples from and to a node.
#include <algorithm>
#include <cmath>

#include "base/clock.hpp"
#include "radio/soapy-modules/warp/node/node.hpp"

namespace iqd::warp {
namespace {

constexpr std::int64_t kLeastWaitNs = 100'000;
constexpr std::int64_t kMostWaitNs = 50'000'000;

}  // namespace

Node::Read Node::read(Piece& piece, std::optional<std::uint8_t>& capture, std::int64_t deadline_ns) {
  const std::lock_guard lock(mutex_);
  const std::uint16_t since = sequence_ + 1;
  for (;;) {
    request(piece);
    const Read got = collect(piece, capture, since, deadline_ns);
    if (got.outcome != Read::Outcome::later) return got;
    ++counts_.asked_again;
    if (steady_ns() >= deadline_ns) return got;
  }
}

/// Requests from the first missing sample up to the next that has arrived.
void Node::request(Piece& piece) {
  const std::uint32_t first = piece.coverage.first_missing();
  const std::uint32_t count = piece.coverage.missing_up_to() - first;
  asked_up_to_ = first + count;
  packets_asked_ = (count + packet_samples_ - 1) / packet_samples_;
  // Always the maximum, not packet_samples_: a node that subtracts its headers would subtract them again each time.
  send(encode(header(Command::read_iq), {piece.buffer, first, count, 4 * options_.samples_a_packet, packets_asked_}));
}

/// Takes the packets of the last request until the piece is whole. If all of them came and samples are still missing,
/// or no more packets come, returns `later`: the samples have to be requested again.
Node::Read Node::collect(Piece& piece, std::optional<std::uint8_t>& capture, std::uint16_t since,
                         std::int64_t deadline_ns) {
  using Outcome = Read::Outcome;
  for (std::uint32_t came = 0; came < packets_asked_;) {
    const auto packet = expect(since, deadline_ns);
    if (!packet) return {Outcome::later};
    SampleHeader said;
    switch (piece.take(*packet, capture, said)) {
      case Piece::Taken::fresh: break;
      case Piece::Taken::again: continue;
      case Piece::Taken::unfit:
        ++counts_.ignored;
        ++came;
        continue;
      case Piece::Taken::not_ready: return wait_for(said, piece.coverage.end());
      case Piece::Taken::failed: return {Outcome::failed};
      case Piece::Taken::other_capture: return {Outcome::other_capture};
    }
    if (piece.coverage.whole()) return {Outcome::whole};
    ++came;
    // A node may put fewer samples into a packet than fit, so more packets are needed. The last one has the remainder.
    if (said.first + said.count < asked_up_to_) packet_samples_ = std::min(packet_samples_, said.count);
  }
  return {Outcome::later};
}

/// The header says how far the capture has got, and how long it is.
Node::Read Node::wait_for(const SampleHeader& h, std::uint32_t end) {
  ++counts_.not_ready;
  const std::uint32_t length = h.count ? h.count : end;
  const std::uint32_t left = length > h.first ? length - h.first : 0;
  const auto wait = static_cast<std::int64_t>(left / options_.rate_hz * 1e9);
  return {Read::Outcome::not_ready, std::clamp(wait, kLeastWaitNs, kMostWaitNs)};
}

Node::Write Node::write(std::uint32_t buffer, std::uint32_t first, std::uint32_t count, const std::int16_t* iq,
                        std::int64_t deadline_ns, Part part) {
  const std::lock_guard lock(mutex_);
  for (;;) {
    const Write wrote = send_samples(buffer, first, count, iq, part, deadline_ns);
    if (wrote == Write::done || wrote == Write::not_ready) return wrote;
    ++counts_.written_again;
    part.begins = true;  // what the node kept of the rest is unknown, so this part gets a checksum of its own
    if (steady_ns() >= deadline_ns) return wrote;
  }
}

Node::Write Node::send_samples(std::uint32_t buffer, std::uint32_t first, std::uint32_t count, const std::int16_t* iq,
                               Part part, std::int64_t deadline_ns) {
  if (part.begins) {
    ++write_;
    each_ = once_ = {};
    once_.add(first);
  }
  for (std::uint32_t done = 0; done < count;) {
    const std::uint32_t n = std::min(options_.samples_a_packet, count - done);
    const bool ends = done + n == count;
    SampleHeader s{static_cast<std::uint16_t>(buffer), 0, write_, first + done, n};
    s.flags = static_cast<std::uint8_t>((done == 0 && part.begins ? kFirstOfWrite : 0) |
                                        (ends && part.ends ? kLastOfWrite : 0));
    const std::int16_t* x = iq + std::size_t{2} * done;
    send(encode_samples(header(Command::write_iq, ends ? kReplyWanted : 0), s, x));
    const std::uint32_t word = word_of(x[2 * n - 2], x[2 * n - 1]);
    each_.add(first + done);
    each_.add(word);
    once_.add(word);
    done += n;
  }
  const auto packet = expect(sequence_, deadline_ns);
  if (!packet) return Write::later;
  const Words said = words_of(*packet);
  if ((packet->header.flags & kNodeNotReady) || (!said.empty() && said[0] == kSamplesNotReady)) {
    ++counts_.not_ready;
    return Write::not_ready;
  }
  if (said.size() < 3 || said[0] != 0 || (said[1] & 0xFF) != write_) return Write::failed;
  return said[2] == each_.value() || said[2] == once_.value() ? Write::done : Write::failed;
}

}  // namespace iqd::warp
