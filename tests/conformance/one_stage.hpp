// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/stage_runner.hpp"

/// Runs single stages on arrays; one stage's output is the next one's input.
namespace iqd::conformance {

using Ports = std::map<std::string, StageOutput>;

/// Why there is no CUDA here; empty if there is.
std::string no_cuda();

StageInput input_of(const StageOutput& port);
/// Splits samples into rows of equal length.
StageInput input_of(const std::vector<cf32>& samples, double rate_hz, int rows = 1);

/// Items of a shape, counted along the axis.
template <class T>
StageInput items(const std::vector<T>& values, Element element, std::string axis, std::vector<Dim> item) {
  StageInput in;
  in.shape.element = element;
  in.shape.axis = Axis::counted;
  in.shape.axis_name = std::move(axis);
  in.shape.item = std::move(item);
  in.length = std::ssize(values) / in.shape.item_size();
  in.shape.most = in.length;
  in.data.resize(values.size() * sizeof(T));
  std::memcpy(in.data.data(), values.data(), in.data.size());
  return in;
}

/// Returns all outputs; none, with a test failure, if keys or inputs are wrong.
Ports run(std::string_view stage, const std::string& keys, std::vector<StageInput> inputs, const std::string& backend,
          std::int64_t block = 0);

template <class T> std::vector<T> values(const StageOutput& port) {
  const std::vector<std::byte> bytes = port.joined();
  std::vector<T> all(bytes.size() / sizeof(T));
  std::memcpy(all.data(), bytes.data(), all.size() * sizeof(T));
  return all;
}

}  // namespace iqd::conformance
