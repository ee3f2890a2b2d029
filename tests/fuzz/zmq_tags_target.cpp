// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "radio/zmq/tag_header.hpp"
#include "tests/fuzz/target.hpp"

namespace iqd::fuzz {

/// A GNU Radio message with tags before its samples.
void zmq_tags(std::string_view input) {
  std::vector<radio::zmq::TimeTag> times;
  const auto header = radio::zmq::parse_tag_header(input, times);
  expect(times.size() <= input.size(), "there are not more times than bytes");
  if (!header) return;
  expect(header->bytes <= input.size() && header->offset >= 0, "the samples begin within the message");
  expect(std::ranges::is_sorted(times, {}, &radio::zmq::TimeTag::sample), "times are in order");
  for (const radio::zmq::TimeTag& t : times) expect(t.sample >= 0, "no time is of a sample before the message");
}

}  // namespace iqd::fuzz
