// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/stages/telemetry/packet_estimator/packet_estimator_model.hpp"
#include "tests/support/stage_under_test.hpp"

/// For the tests: the stage, fed block by block.
namespace iqd::packet_estimator {

inline std::string keys_of(const PacketFormat& f, const std::string& more) {
  return fmt::format("{{{}, preamble: \"{}\", repeats: {}, sync_word: \"{}\", payload_bits: {}, samples_per_bit: {}}}",
                     more, f.preamble, f.repeats, f.sync_word, f.payload_bits, f.samples_per_bit);
}

inline PortShape windows_of(const PacketFormat& f, std::int64_t most) {
  PortShape s;
  s.axis = Axis::counted;
  s.axis_name = "packet";
  s.item = {{"sample", f.window()}};
  s.most = most;
  s.rate_hz = kRate;
  s.source_rate_hz = 2 * kRate;  // as if a decimator came before
  return s;
}

inline bool same(const Results& a, const Results& b) {
  return testing::same_bits(a.windows, b.windows) && testing::same_bits(a.channel, b.channel) &&
         testing::same_bits(a.noise, b.noise) && testing::same_bits(a.offset, b.offset) &&
         testing::same_bits(a.offset_hz, b.offset_hz) && testing::same_bits(a.clock, b.clock) &&
         testing::same_bits(a.clock_quality, b.clock_quality);
}

/// The stage with all of its outputs, and with the state it carries.
class Estimator {
 public:
  explicit Estimator(const std::string& keys, PacketFormat format = short_packets())
      : format_(std::move(format)), stage_(entry().make()) {
    Problems problems;
    const Document document = parse_document(keys_of(format_, keys), "test.yaml", problems);
    const Section section = read_fields(
        document.root, [&](FieldVisitor& v) { stage_->fields(v); }, problems);
    const std::vector<PortShape> in{windows_of(format_, kMost)};
    std::vector<PortShape> out(entry().outputs.size(), in[0]);
    Footprint footprint;
    ShapeContext context{.in = in, .out = out, .footprint = {&footprint, 1}, .most_new = kMost, .section = section};
    stage_->shape(context);
    for (const Problem& p : problems) ADD_FAILURE() << p.text();
    scratch_.resize(context.scratch_bytes);
    carry_.resize(context.carry_bytes, std::byte{0xff});
    run_ = stage_->make(*backend_);
    has_clock_ = out[5].axis == Axis::counted && out[5].most == kMost;
  }

  /// One block. Without `wanted`, only the outputs that cannot be omitted.
  Results run(const std::vector<cf32>& windows, bool fresh = false, bool wanted = true) {
    auto packets = static_cast<std::int32_t>(std::ssize(windows) / format_.window());
    const auto n = static_cast<std::size_t>(packets);
    Results r{std::vector<cf32>(windows.size()),
              std::vector<cf32>(n * kTaps),
              std::vector<float>(n),
              std::vector<float>(n),
              std::vector<float>(n),
              std::vector<float>(n),
              std::vector<float>(n)};
    std::vector<cf32> given = windows;  // memory of its own, for AddressSanitizer
    const PortIo in{.data = reinterpret_cast<std::byte*>(given.data()), .length = packets, .count = &packets};
    std::array<std::int32_t, 7> counts{-1, -1, -1, -1, -1, -1, -1};
    const auto port = [&](auto& memory, std::size_t o, bool always) {
      auto* const data = reinterpret_cast<std::byte*>(memory.data());
      return PortIo{.data = wanted || always ? data : nullptr, .length = packets, .count = &counts[o]};
    };
    const std::vector<PortIo> out{port(r.windows, 0, false),     port(r.channel, 1, false),  port(r.noise, 2, true),
                                  port(r.offset, 3, false),      port(r.offset_hz, 4, true), port(r.clock, 5, true),
                                  port(r.clock_quality, 6, true)};
    run_->enqueue({.in = {&in, 1},
                   .out = out,
                   .scratch = scratch_.data(),
                   .carry = carry_.empty() ? nullptr : carry_.data(),
                   .fresh = fresh},
                  {});
    for (std::size_t o = 0; o < counts.size(); ++o) EXPECT_EQ(counts[o], o < 5 || has_clock_ ? packets : 0) << o;
    if (!has_clock_) r.clock = r.clock_quality = {};
    return r;
  }

 private:
  static constexpr std::int64_t kMost = 64;
  PacketFormat format_;
  bool has_clock_ = false;
  std::unique_ptr<Stage> stage_;
  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  std::unique_ptr<StageRun> run_;
  std::vector<std::byte> scratch_, carry_;
};

}  // namespace iqd::packet_estimator
