// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "python/native/binding.hpp"
#include "python/native/chain.hpp"

namespace iqd::native {

/// A stream that arrives in arrays of any lengths, and is computed in blocks, as in the daemon: each block sees the
/// samples before it, and state continues. For one thread.
class Stream {
 public:
  Stream(std::shared_ptr<Chain> chain, const CallOptions& options) : chain_(std::move(chain)), options_(options) {}

  /// Takes samples, [n] or [channel][n]. Returns the results of each block that is complete with them.
  py::list push(const py::array& samples);
  /// Returns those of the last blocks.
  py::list finish();

 private:
  void open(const InputArray& samples);
  void check(const InputArray& samples) const;
  void append(const InputArray& samples, std::int64_t first, std::int64_t positions);
  void make_room(std::int64_t positions);
  py::tuple run_block(std::int64_t samples);

  std::shared_ptr<Chain> chain_;
  CallOptions options_;
  PreparedPtr prepared_;
  std::unique_ptr<ResultMemory> run_;
  std::vector<std::int64_t> shape_;  // of the first array
  std::size_t rows_ = 1;
  std::vector<std::byte> memory_;  // rows of `capacity_` positions, which begin at `there_.first`
  std::int64_t capacity_ = 0;
  Positions there_;
  SampleIndex next_ = 0;  // the first sample of the next block
};

}  // namespace iqd::native
