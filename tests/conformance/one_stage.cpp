// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/one_stage.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "pipeline/backend/find_backend.hpp"

namespace iqd::conformance {

std::string no_cuda() {
  try {
    choose_backend("cuda");
    return {};
  } catch (const SetupError& e) {
    return e.what();
  }
}

StageInput input_of(const StageOutput& port) {
  StageInput in{port.shape, port.length, port.joined()};
  in.shape.most = std::max<std::int64_t>(port.length, 1);  // over all blocks
  return in;
}

StageInput input_of(const std::vector<cf32>& samples, double rate_hz, int rows) {
  StageInput in;
  in.shape.element = Element::cf32;
  in.shape.rate_hz = in.shape.source_rate_hz = rate_hz;
  if (rows > 1) in.shape.rows = {{"channel", rows}};
  in.length = std::ssize(samples) / rows;
  in.data.resize(samples.size() * sizeof(cf32));
  std::memcpy(in.data.data(), samples.data(), in.data.size());
  return in;
}

Ports run(std::string_view stage, const std::string& keys, std::vector<StageInput> inputs, const std::string& backend,
          std::int64_t block) {
  Problems problems;
  StageRunner runner(*find_stage(stage), keys, std::move(inputs), block, backend, problems);
  for (const Problem& p : problems) ADD_FAILURE() << p.text();
  Ports ports;
  if (problems.empty())
    for (StageOutput& out : runner.run()) ports[out.name] = std::move(out);
  return ports;
}

}  // namespace iqd::conformance
