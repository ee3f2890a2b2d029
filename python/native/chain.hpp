// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "python/native/binding.hpp"
#include "python/native/given_arrays.hpp"
#include "python/native/program.hpp"
#include "python/native/results.hpp"

namespace iqd::native {

/// A stage as Python names it.
struct StageText {
  std::string entry;
  std::string keys;  // YAML
  std::optional<Connections> from;
  std::string name;
};

/// What is known of the input arrays, and how they are cut.
struct CallOptions {
  double rate = 1;
  double frequency = 0;
  std::int64_t block = 0;  // 0: one block
};

/// A program for arrays of one layout, with its results' formats.
struct Prepared {
  std::shared_ptr<Program> program;
  std::vector<Element> elements;  // that the arrays have to have
  std::vector<std::size_t> rows;  // how many of their dimensions are rows that may be apart
  std::vector<std::int64_t> row_bytes;
  std::size_t axis = 0;  // of the first: which of its dimensions is the stream, or counts items
  bool one_item = false;
  std::shared_ptr<const ResultFormats> formats;
};

using PreparedPtr = std::shared_ptr<const Prepared>;

/// Stages in a row: a call runs them on arrays. Plans are kept for the layouts that were used last.
class Chain {
 public:
  /// Raises ConfigError.
  Chain(std::vector<StageText> stages, std::vector<std::string> ports, std::string backend);

  /// The results of one block, or a list with those of each. `arrays` are in the order of the first stage's inputs.
  /// Raises ConfigError with all problems, and Error if a device fails.
  py::object run(std::vector<InputArray> arrays, const CallOptions& options);
  /// The program for these arrays, which are converted if it needs that.
  PreparedPtr prepare(std::vector<InputArray>& arrays, const CallOptions& options);
  /// A program for blocks of `options.block` of a stream of arrays like this one.
  PreparedPtr prepare_stream(const InputArray& samples, const CallOptions& options);

  const StageEntry& first() const noexcept { return spec_->first; }

 private:
  /// The dtypes, shapes and options of a call.
  static std::string key_of(const std::vector<InputArray>& arrays, const CallOptions& options);
  std::vector<std::string> names() const;
  std::string_view name_of_input(std::size_t i) const noexcept { return spec_->first.inputs[i].name; }
  void check_number(std::size_t arrays) const;
  PreparedPtr find(const std::vector<InputArray>& arrays, const CallOptions& options);
  void keep(std::string key, const PreparedPtr& made);
  PreparedPtr plan(const std::vector<GivenArray>& given, std::vector<StageInput> inputs,
                   const std::vector<InputSpec>& specs, std::optional<int> device, const CallOptions& options);
  static py::object run_in_blocks(const Prepared& prepared, std::span<const CallInput> inputs);

  std::shared_ptr<ChainSpec> spec_;
  std::list<std::pair<std::string, PreparedPtr>> kept_;  // the last used first; the GIL protects it
};

}  // namespace iqd::native
