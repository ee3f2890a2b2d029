// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/block.hpp"
#include "base/pool.hpp"

/// Messages between the home of a pool and its workers: the length of the header (u32), the header (JSON), zeros up to a
/// multiple of 64 bytes, then rows.
namespace iqd::hosts {

/// Of a message, besides its rows.
inline constexpr std::size_t kMostHeadBytes = 4096;

/// The subjects and streams of a pool.
struct PoolNames {
  explicit PoolNames(const std::string& pool);
  std::string todo_stream, done_stream, plan_stream;
  std::string todo, done, plans, here, home;
  std::string plan_of(const std::string& hash) const { return plan_root + hash; }
  std::string plan_root;
};
/// The consumers of both streams of blocks.
inline constexpr const char* kWorkers = "workers";
inline constexpr const char* kHome = "home";

/// Of a block.
struct BlockHead {
  std::string run;           // this start of the home
  std::uint64_t number = 0;  // counts its blocks
  std::string plan;          // hash of the order
  SampleBlock block;
};

/// Of a block's results.
struct ResultHead {
  std::string run;
  std::uint64_t number = 0;
  std::string worker;
  std::string device;
  std::int64_t compute_ns = 0;
  std::vector<PoolPort> ports;  // data: as it lies in the message that was read
};

/// A worker's trouble if it does not find the order of a block.
inline constexpr std::string_view kNoOrder = "the order of a block is not there";

/// What a worker reports once a second.
struct HereMessage {
  std::string worker;
  std::string build;
  std::string device;
  int lanes = 0;
  int busy = 0;
  std::uint64_t done = 0;
  std::string trouble;  // why it refused a block last
};

std::string block_head(const BlockHead& head);
/// `data` of the ports is ignored; `bytes` has the size of each.
std::string result_head(const ResultHead& head, std::span<const std::size_t> bytes);
std::string here_text(const HereMessage& here);

/// Of messages from anywhere: nothing if it is none.
std::optional<BlockHead> read_block(std::string_view message, std::span<const std::byte>& samples);
std::optional<ResultHead> read_result(std::string_view message);
std::optional<HereMessage> read_here(std::string_view text);

}  // namespace iqd::hosts
