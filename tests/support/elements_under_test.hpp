// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/reader.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd::testing {

/// A stage's element code for inputs of one shape; `code` is null if there are problems.
struct ElementsUnderTest {
  /// `yaml`: the stage's keys.
  ElementsUnderTest(const StageEntry& entry, const std::string& yaml, const PortShape& in)
      : out(entry.outputs.size(), in) {
    const std::unique_ptr<Stage> stage = entry.make();
    const Document document = parse_document(yaml, "test.yaml", problems);
    const Section section = read_fields(
        document.root, [&](FieldVisitor& v) { stage->fields(v); }, problems);
    const std::vector<PortShape> inputs(entry.inputs.size(), in);
    std::vector<Footprint> footprint(inputs.size());
    ShapeContext context{.in = inputs, .out = out, .footprint = footprint, .section = section};
    stage->shape(context);
    if (problems.empty()) code = stage->elements();
  }

  Problems problems;
  std::vector<PortShape> out;
  std::unique_ptr<ElementCode> code;
};

}  // namespace iqd::testing
