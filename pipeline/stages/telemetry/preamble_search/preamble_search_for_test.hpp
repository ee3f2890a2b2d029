// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/stages/telemetry/preamble_search/preamble_search_model.hpp"
#include "tests/support/stage_under_test.hpp"

/// For the tests: the stage, fed block by block.
namespace iqd::preamble_search {

using Counts = std::vector<std::int64_t>;

/// Short packets for short tests: 1408 samples, 256 of them preamble and 128 sync word.
inline const std::string kShort = "payload_bits: 512";
inline PacketFormat short_format() {
  PacketFormat f;
  f.payload_bits = 512;
  return f;
}

/// All results of a stream, or of a block.
struct Results {
  std::vector<cf32> windows;
  Starts start;
  std::vector<float> metric;
  std::vector<float> correlation;
  std::vector<std::uint8_t> flywheel;
  std::vector<float> lock;
  Counts events = Counts(kEvents.size());

  /// Appends a block that has this many packets.
  void append(const Results& block, std::int64_t packets) {
    const auto add = [](auto& to, const auto& from, std::int64_t n) {
      to.insert(to.end(), from.begin(), from.begin() + n);
    };
    add(windows, block.windows, packets * std::ssize(block.windows) / std::ssize(block.start));
    add(start, block.start, packets);
    add(metric, block.metric, packets);
    if (!block.flywheel.empty()) add(flywheel, block.flywheel, packets);
    if (!block.lock.empty()) add(lock, block.lock, packets);
    add(correlation, block.correlation, std::ssize(block.correlation));
    for (std::size_t e = 0; e < events.size(); ++e) events[e] += block.events[e];
  }
};

inline bool same(const Results& a, const Results& b) {
  return a.start == b.start && a.events == b.events && testing::same_bits(a.windows, b.windows) &&
         testing::same_bits(a.metric, b.metric) && a.flywheel == b.flywheel && a.lock == b.lock &&
         testing::same_bits(a.correlation, b.correlation);
}

/// The stage, fed block by block. Each block has memory of its own, so that AddressSanitizer sees every stray read.
class SearchUnderTest {
 public:
  SearchUnderTest(const std::string& keys, Element element, std::int64_t most_new) {
    Problems problems;
    const Document document = parse_document("{" + keys + "}", "test.yaml", problems);
    const Section section = read_fields(
        document.root, [&](FieldVisitor& v) { stage_->fields(v); }, problems);
    const std::vector<PortShape> in{testing::stream_of(element)};
    shapes_.assign(entry().outputs.size(), in[0]);
    ShapeContext context{
        .in = in, .out = shapes_, .footprint = {&footprint_, 1}, .most_new = most_new, .section = section};
    stage_->shape(context);
    EXPECT_TRUE(problems.empty()) << problems.front().text();
    scratch_.resize(context.scratch_bytes);
    carry_.resize(context.carry_bytes, std::byte{0xff});
    flywheel_ = shapes_[5].axis == Axis::counted && shapes_[5].most == shapes_[0].most;
    run_ = stage_->make(*backend_);
  }

  /// The block with the new samples at … end - 1.
  template <class Sample> void block(const std::vector<Sample>& x, std::int64_t at, std::int64_t end, Results& all) {
    const std::int64_t first = std::max<std::int64_t>(0, at - footprint_.past);
    std::vector<Sample> samples(x.begin() + first, x.begin() + std::min(std::ssize(x), end + footprint_.future));
    const auto most = static_cast<std::size_t>(shapes_[0].most);
    Results r{std::vector<cf32>(most * static_cast<std::size_t>(shapes_[0].item_size())),
              Starts(most),
              std::vector<float>(most),
              std::vector<float>(static_cast<std::size_t>(end - at)),
              std::vector<std::uint8_t>(flywheel_ ? most : 0),
              std::vector<float>(flywheel_ ? most : 0)};
    std::int32_t counts[7] = {};
    const auto port = [&](auto& memory, std::size_t o, std::int64_t from, std::int64_t length) {
      return PortIo{.data = reinterpret_cast<std::byte*>(memory.data()),
                    .first = from,
                    .length = length,
                    .item = shapes_[o].item_size(),
                    .count = &counts[o]};
    };
    std::int32_t given = 0;
    const PortIo input{.data = reinterpret_cast<std::byte*>(samples.data()),
                       .first = first,
                       .length = std::ssize(samples),
                       .count = &given};
    const std::vector<PortIo> out{port(r.windows, 0, 0, shapes_[0].most),
                                  port(r.start, 1, 0, shapes_[1].most),
                                  port(r.metric, 2, 0, shapes_[2].most),
                                  port(r.correlation, 3, at, end - at),
                                  port(r.events, 4, 0, 1),
                                  port(r.flywheel, 5, 0, shapes_[5].most),
                                  port(r.lock, 6, 0, shapes_[6].most)};
    run_->enqueue({.in = {&input, 1},
                   .out = out,
                   .first_new = at,
                   .end_new = end,
                   .scratch = scratch_.data(),
                   .carry = carry_.empty() ? nullptr : carry_.data(),
                   .fresh = at == 0},
                  {});
    EXPECT_TRUE(counts[0] == counts[1] && counts[1] == counts[2] && counts[4] == 1);
    for (const int put : {counts[5], counts[6]}) EXPECT_EQ(put, flywheel_ ? counts[0] : 0);
    all.append(r, counts[0]);
  }

 private:
  std::unique_ptr<Stage> stage_ = entry().make();
  std::vector<PortShape> shapes_;
  Footprint footprint_;
  std::vector<std::byte> scratch_, carry_;
  bool flywheel_ = false;
  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  std::unique_ptr<StageRun> run_;
};

/// A stream in blocks with these numbers of new samples; the last one repeats.
template <class Sample>
Results search(const std::string& keys, const std::vector<Sample>& x, const std::vector<std::int64_t>& lengths) {
  const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  SearchUnderTest stage(keys, element_of<Sample>, std::min(longest, std::ssize(x)));
  Results all;
  std::size_t turn = 0;
  for (std::int64_t at = 0; at < std::ssize(x);) {
    const std::int64_t end = std::min(std::ssize(x), at + lengths[std::min(turn++, lengths.size() - 1)]);
    stage.block(x, at, end, all);
    at = end;
  }
  return all;
}
template <class Sample> Results search(const std::string& keys, const std::vector<Sample>& x) {
  return search(keys, x, {std::ssize(x)});
}

}  // namespace iqd::preamble_search
