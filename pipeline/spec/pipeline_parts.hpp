// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/describe.hpp"
#include "pipeline/spec/spec.hpp"

namespace iqd {

/// A part of a pipeline that has keys: the source, a stage, or an entry of `publish`, `sinks` or `apply`.
struct PipelinePart {
  enum class Kind : std::uint8_t { source, stage, publish, sink, apply };
  Kind kind = Kind::stage;
  std::string name;           // `source`, the stage's name, or list and number: `publish.0`
  std::string_view type;      // which driver or stage: `soapy`, `fir`; empty for publish and apply
  FieldList set;              // the keys as set; refers to the spec
  FieldList made;             // the same keys with their defaults
  std::size_t route = kNone;  // its number in `routes_of`

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
};
std::string_view name_of(PipelinePart::Kind kind);

/// All parts: the source, stages, then routes as `routes_of` orders them.
std::vector<PipelinePart> parts_of(const PipelineSpec& spec, const Catalogue& catalogue);

}  // namespace iqd
