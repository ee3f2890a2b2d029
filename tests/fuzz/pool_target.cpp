// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"
#include "base/files/sha256.hpp"
#include "daemon/command/commands.hpp"
#include "hosts/pool_messages.hpp"
#include "pipeline/spec/work_order.hpp"
#include "tests/fuzz/target.hpp"

namespace iqd::fuzz {
namespace {

void read_as_block(std::string_view input) {
  std::span<const std::byte> samples;
  const auto block = hosts::read_block(input, samples);
  if (!block) return;
  const std::string head = hosts::block_head(*block);
  const auto again = hosts::read_block(head, samples);
  expect(again && hosts::block_head(*again) == head, "a block that was read can be written");
}

void read_as_result(std::string_view input) {
  const auto result = hosts::read_result(input);
  if (!result) return;
  std::size_t sum = 0;
  std::vector<std::size_t> bytes;
  for (const PoolPort& port : result->ports) {
    bytes.push_back(port.data.size());
    sum += port.data.size();
  }
  expect(sum <= input.size(), "all rows are in the message");
  std::string message = hosts::result_head(*result, bytes);
  message.resize(message.size() + sum);
  const auto again = hosts::read_result(message);
  expect(again && again->ports.size() == result->ports.size(), "a result that was read can be written");
}

void read_as_order(std::string_view input) {
  Sha256 hash;
  hash.add(input);
  try {
    const OrderedWork work = read_order({std::string(input), hash.hex()}, catalogue());
    for (const ReturnedPort& port : work.returns)
      expect(port.reach.past >= 0 && port.reach.future >= 0, "a reach is not negative");
  } catch (const SetupError&) {
  }
}

}  // namespace

/// What comes from a server of NATS: blocks, results, orders, and what workers report.
void pool(std::string_view input) {
  read_as_block(input);
  read_as_result(input);
  read_as_order(input);
  if (const auto here = hosts::read_here(input)) {
    const auto again = hosts::read_here(hosts::here_text(*here));
    expect(again && again->worker == here->worker && again->lanes == here->lanes, "a report can be written");
  }
}

}  // namespace iqd::fuzz
