// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/stage_runner.hpp"

/// For the tests of coding stages: items in, outputs as numbers.
namespace iqd::coding {

using Bytes = std::vector<std::uint8_t>;

template <class T>
StageInput items_of(const std::vector<T>& values, std::vector<Dim> item, std::string axis = "frame") {
  StageInput in;
  in.shape.element = element_of<T>;
  in.shape.axis = Axis::counted;
  in.shape.axis_name = std::move(axis);
  in.shape.item = std::move(item);
  in.length = std::ssize(values) / in.shape.item_size();
  in.data.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(in.data.data(), values.data(), in.data.size());
  return in;
}
template <class T> std::vector<T> all_of(const StageOutput& output) {
  const std::vector<std::byte> bytes = output.joined();
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}
inline std::vector<StageOutput> outputs_of(const StageEntry& stage, std::vector<StageInput> in, std::int64_t block = 0,
                                           const std::string& keys = "{}") {
  Problems problems;
  StageRunner runner(stage, keys, std::move(in), block, "cpu", problems);
  for (const Problem& p : problems) ADD_FAILURE() << p.text();
  return problems.empty() ? runner.run() : std::vector<StageOutput>();
}

}  // namespace iqd::coding
