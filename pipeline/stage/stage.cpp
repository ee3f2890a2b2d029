// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stage/stage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "config/reader.hpp"
#include "pipeline/stage/cuda_half.hpp"

namespace iqd {
bool InputSpec::takes(Element e) const noexcept {
  return std::find(elements.begin(), elements.end(), e) != elements.end();
}

std::string_view InputSpec::axis_name() const noexcept {
  return dims.starts_with('[') ? dims.substr(1, dims.find_first_of(" ]") - 1) : dims;
}

bool InputSpec::items() const noexcept {
  constexpr std::string_view kItems[] = {"packet", "frame", "vector", "group", "word", "retry"};
  return std::find(std::begin(kItems), std::end(kItems), axis_name()) != std::end(kItems);
}

bool InputSpec::has_axis() const noexcept {
  return items() || axis_name() == "n" || axis_name() == "t" || axis_name() == "symbol";
}

PortShape InputSpec::example_shape(Element element, std::int64_t length) const {
  PortShape shape;
  shape.element = element;
  shape.rate_hz = shape.source_rate_hz = 1e6;
  if (!items()) return shape;
  shape.axis = Axis::counted;
  shape.axis_name = axis_name();
  shape.item = example;
  shape.most = std::max<std::int64_t>(length, 1);
  return shape;
}

std::vector<InputSpec> Stage::inputs(const StageEntry& entry) const {
  return entry.inputs;
}

StageEntry configured(const StageEntry& entry, const std::string& keys, Problems& problems) {
  StageEntry own = entry;
  const std::unique_ptr<Stage> stage = entry.make();
  if (!stage->has_program()) return own;
  const std::size_t before = problems.size();
  const Document document = parse_document(keys.empty() ? "{}" : keys, std::string(entry.name), problems);
  const Section section = read_fields(
      document.root, [&](FieldVisitor& v) { stage->fields(v); }, problems);
  if (problems.size() == before && stage->load(section)) own.inputs = stage->inputs(entry);
  return own;
}

const void* find_device_half(const Backend& backend, std::string_view stage) {
  if (backend.kind() == BackendKind::cpu) return nullptr;
  const void* half = backend.stage_half(stage);
  if (!half) throw SetupError(fmt::format("{} has no code for {}: give it `backend: cpu`", stage, backend.name()));
  return half;
}

void require_cpu(const Backend& backend, const char* message) {
  if (backend.kind() != BackendKind::cpu) throw SetupError(message);
}

const StageEntry* find_stage(std::string_view name, std::span<const StageEntry> stages) {
  const auto at = std::find_if(stages.begin(), stages.end(), [name](const StageEntry& e) { return e.name == name; });
  return at == stages.end() ? nullptr : &*at;
}

}  // namespace iqd
