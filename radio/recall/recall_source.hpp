// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/driver.hpp"
#include "config/fields.hpp"
#include "radio/radio_settings.hpp"
#include "radio/recall/memory.hpp"

namespace iqd::radio::recall {

struct SourceSettings {
  std::vector<std::string> names;
  std::vector<std::int64_t> channels;  // per name; empty: 1
  double rate_hz = 0;
  Format format = Format::cf32;
  std::int64_t samples = 65536;
  std::optional<double> every_s = 1;
  std::int64_t again = 0;
  double patience_s = 1;

  Element element() const { return format == Format::cf32 ? Element::cf32 : Element::sc16; }
  StreamInfo info() const;
};

/// Captures: samples of the same time from several memories, stacked as channels, as a stream of pieces. The next one
/// is due `every` after the previous one, or when `again` changes. It is the newest stretch that all memories hold,
/// without overlap with the previous one.
/// The source does not wait for a memory without new samples for `patience`, or with another format: its samples are
/// zeros. If no stretch is complete for `patience`, missing samples are zeros, too. If no memory is left to wait for,
/// there is no capture.
class RecallSource final : public Source {
 public:
  explicit RecallSource(const SourceSettings& settings);
  StreamInfo info() const override { return settings_.info(); }
  Received receive(std::span<std::byte* const> into, std::int64_t most) override;
  std::optional<std::int64_t> retune(const SourceOptions& options) override;

 private:
  enum class Trouble : std::uint8_t { none, silent, unfit, gaps };
  struct Row {
    std::shared_ptr<Memory> memory;
    std::int64_t channels;
    Trouble told = Trouble::none;
    Memory::Look look{};
    std::int64_t held = 0;  // samples of the stretch
    Trouble trouble = Trouble::none;
  };

  bool due(std::int64_t now) const;
  bool take(std::int64_t now);
  bool choose(std::int64_t now);
  void look_at(Row& row, std::int64_t now) const;
  bool fits(const Row& row) const;
  void copy();
  void tell(Row& row) const;
  Received give(std::span<std::byte* const> into, std::int64_t most);
  std::size_t row_bytes() const;

  SourceSettings settings_;
  std::int64_t patience_ns_;
  std::int64_t length_ns_;  // of a capture
  std::vector<Row> rows_;
  std::vector<std::byte> capture_;  // [channel][samples]
  std::int64_t rest_ = 0;           // samples of it not yet returned
  std::int64_t start_ns_ = 0;       // the time of its first sample
  bool some_ = false;               // there was a capture
  bool asked_ = false;              // by `again`
  std::int64_t opened_ns_;          // steady clock, like the following
  std::int64_t taken_ns_ = 0;
  std::int64_t waits_since_ns_ = 0;  // for a due capture; 0: none is due
};

class RecallSourceOptions final : public SourceOptions {
 public:
  void fields(FieldVisitor& visitor) override;
  StreamInfo describe(const Section& section) const override;
  std::unique_ptr<Source> open() const override;
  Needs needs(const StreamInfo& stream) const override;
  const SourceSettings& settings() const noexcept { return settings_; }

 private:
  SourceSettings settings_;
};

}  // namespace iqd::radio::recall
