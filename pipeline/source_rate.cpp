// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/source_rate.hpp"

#include <fmt/format.h>

#include <cmath>

#include "config/reader.hpp"

namespace iqd {
namespace {

/// The two keys of a source that say which rate its stream shall have.
class WantedRate final : public FieldVisitor {
 public:
  bool resample = false;
  double rate_hz = 0;

  void visit(std::string_view key, FieldRef field, const FieldInfo&) override {
    if (const auto* const flag = std::get_if<bool*>(&field); flag && key == "resample") resample = **flag;
    if (const auto* const rate = std::get_if<double*>(&field); rate && key == "rate") rate_hz = **rate;
  }
};

}  // namespace

void add_resampler(Planner& planner, const PipelineSpec& spec, const StreamInfo& stream,
                   std::span<const StageEntry> stages) {
  if (!spec.source) return;
  WantedRate wanted;
  spec.source->fields(wanted);
  if (!wanted.resample || std::fabs(stream.rate_hz - wanted.rate_hz) <= 1e-6 * wanted.rate_hz) return;
  const StageEntry* const entry = find_stage("resampler", stages);
  if (!entry) return spec.section.problem("source", "`resample: true` needs the stage `resampler`, which is not there");
  std::unique_ptr<Stage> stage = entry->make();
  Problems& problems = spec.section.problems();
  const Document keys = parse_document(fmt::format("{{rate: {:.17g}}}", wanted.rate_hz), "resample", problems);
  read_fields(
      keys.root, [&](FieldVisitor& v) { stage->fields(v); }, problems);
  planner.add_stage(*entry, "source_resampler", std::move(stage), {}, spec.section);
}

}  // namespace iqd
