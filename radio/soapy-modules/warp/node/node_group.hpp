// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SoapySDR/Types.hpp>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "radio/soapy-modules/warp/node/claim.hpp"
#include "radio/soapy-modules/warp/node/node.hpp"

namespace iqd::warp {

/// The nodes of a device, and what the device asks of all of them; a node without an answer makes it throw NodeSilent.
/// One thread at a time. The exchange with a single node has a lock of its own.
class NodeGroup {
 public:
  struct Member {
    std::unique_ptr<Node> node;
    Info info;  // when it was added
  };
  /// Asks the node what it is.
  const Member& add(const NodeOptions& options);

  /// Claims all nodes or none. Throws std::runtime_error if another device has one of them. Repeated calls change
  /// nothing.
  void claim();
  struct Setup {
    bool initialise = true;
    std::uint32_t trigger = 1;  // one bit
    std::uint32_t tx_delay = 0;
  };
  void set_up(const Setup& setup);
  void identify();
  /// Sends a command and its words. Returns the answers as text: "0: 0x1 0x2; 1: 0x1 0x2".
  std::string ask(std::span<const std::uint32_t> command);

  /// Of the hottest node.
  double celsius() const;
  std::uint64_t sum(std::atomic<std::uint64_t> NodeCounts::*count) const;
  /// The least of what the nodes reported.
  std::uint32_t least(std::uint32_t Info::*field) const;
  SoapySDR::Kwargs hardware_info() const;

 private:
  std::vector<Member> members_;
  std::vector<std::unique_ptr<Claim>> claims_;
};

}  // namespace iqd::warp
