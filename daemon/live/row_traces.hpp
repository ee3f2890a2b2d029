// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "daemon/live/bin_axis.hpp"
#include "daemon/live/code_scale.hpp"
#include "daemon/live/sample_spectrum.hpp"
#include "daemon/live/trace.hpp"

namespace iqd::live {

/// Rows of a waterfall.
class RowTrace : public Trace {
 public:
  void succeed(const Trace& before) override;

 protected:
  RowTrace(const WatchedPort& port, std::int64_t entry, nlohmann::json description);
  Head head_of(const WatchCopy& copy, double first, double span);
  /// Codes of these levels; fits the range to them first.
  std::string codes_of(std::span<const float> largest, std::span<const float> mean, Head& head);

  const std::int64_t entry_;
  const double row_s_;

 private:
  CodeScale scale_;
};

/// The spectrum of the last samples of a block.
class SampleRow final : public RowTrace {
 public:
  /// Traces of one outlet share the transform.
  SampleRow(const WatchedPort& port, std::int64_t entry, std::shared_ptr<SampleSpectrum> spectrum);
  void show(const WatchCopy& copy, LiveHub& hub) override;

 private:
  double offset_hz() const noexcept;

  std::shared_ptr<SampleSpectrum> spectrum_;
  const bool is_radio_;  // the source, with samples that have a full scale
  std::vector<cf32> samples_;
};

/// Bins that a stage computes, folded if there are many.
class BinRow final : public RowTrace {
 public:
  BinRow(const WatchedPort& port, std::int64_t entry);
  void show(const WatchCopy& copy, LiveHub& hub) override;

 private:
  void make_db(std::span<float> values) const noexcept;

  const BinAxis axis_;
  const bool in_db_;
  std::vector<float> values_, sorted_;
};

}  // namespace iqd::live
