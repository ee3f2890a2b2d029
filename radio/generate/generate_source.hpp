// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "base/driver.hpp"
#include "config/fields.hpp"

namespace iqd::radio::generate {

/// What to generate: zeros, which the first stage turns into a signal.
struct Settings {
  double rate_hz = 0;
  std::optional<std::int64_t> samples;  // empty: without end
  bool pace = false;
  int channels = 1;
};

/// Time and zeros. With pace, samples come as from a radio. Otherwise they come as fast as they are read, though their
/// time stamps still follow the rate. The first sample has the time of the first read, so that slow opening of later
/// stages does not make samples late.
class GenerateSource final : public Source {
 public:
  explicit GenerateSource(const Settings& settings);
  StreamInfo info() const override;
  Received receive(std::span<std::byte* const> into, std::int64_t most) override;
  void interrupt() noexcept override { interrupted_ = true; }

 private:
  void begin();
  std::int64_t due_ns(std::int64_t sample) const;
  std::int64_t wait_for_some(std::int64_t wanted) const;

  Settings settings_;
  std::int64_t next_ = 0;
  bool begun_ = false;
  std::int64_t began_ns_ = 0;  // steady clock
  std::int64_t began_wall_ns_ = 0;
  std::atomic<bool> interrupted_{false};
};

class GenerateOptions final : public SourceOptions {
 public:
  void fields(FieldVisitor& visitor) override;
  StreamInfo describe(const Section& section) const override;
  std::unique_ptr<Source> open() const override;

 private:
  double rate_hz_ = 0;
  std::string samples_ = "unlimited";
  bool pace_ = false;
  std::int64_t channels_ = 1;
};

}  // namespace iqd::radio::generate
