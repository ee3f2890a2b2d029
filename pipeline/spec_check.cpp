// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "config/reader.hpp"
#include "pipeline/calibration.hpp"
#include "pipeline/shared_claims.hpp"
#include "pipeline/sizing.hpp"
#include "pipeline/spec_plan.hpp"

namespace iqd {
namespace {

/// Which keys of a source decide what.
class SourceKeys final : public FieldVisitor {
 public:
  void visit(std::string_view key, FieldRef, const FieldInfo& info) override {
    names_.push_back(key);
    if (info.shapes) shape_.push_back(key);
    if (info.unit == Unit::rate) rates_.push_back(key);
  }
  /// What is known of the stream after this key was wrong. A key that does not exist may be meant as its neighbour.
  StreamInfo::Known after(const std::string& wrong) const {
    const auto is_one_of = [&](const std::vector<std::string_view>& keys) {
      return std::ranges::find(keys, nearest_of(wrong)) != keys.end();
    };
    return is_one_of(shape_)   ? StreamInfo::Known::nothing
           : is_one_of(rates_) ? StreamInfo::Known::type
                               : StreamInfo::Known::whole;
  }

 private:
  std::string_view nearest_of(const std::string& key) const {
    return std::ranges::find(names_, key) != names_.end() ? std::string_view(key) : nearest(key, names_);
  }
  std::vector<std::string_view> names_, shape_, rates_;
};

/// The stream as the source describes it, and how much of that can be believed after the problems of its keys.
StreamInfo stream_of(const PipelineSpec& pipeline) {
  StreamInfo stream;
  stream.known = StreamInfo::Known::nothing;
  if (!pipeline.source) return stream;
  stream = pipeline.source->describe(*pipeline.source_section);
  SourceKeys keys;
  pipeline.source->fields(keys);
  for (const std::string& wrong : pipeline.source_section->wrong_keys())
    stream.known = std::max(stream.known, keys.after(wrong));
  return stream;
}

/// Whether a stage's numbers are shown to the operator.
bool shows_numbers(const StageSpec& stage) {
  return std::ranges::any_of(stage.entry->outputs, [](const OutputSpec& o) { return !o.tally.empty() || o.levels; });
}

/// Warns of what is computed for nobody.
void warn_of_unread(const PipelineSpec& spec, const StreamInfo& stream, const Plan& plan) {
  if (routes_of(spec).empty() && std::ranges::none_of(spec.stages, shows_numbers))
    return spec.section.warning("", "nothing leaves this pipeline: it has no `publish`, `sinks` or `apply`");
  if (stream.known != StreamInfo::Known::whole) return;  // the plan may lack readers
  for (const StageSpec& stage : spec.stages) {
    if (std::ranges::find(plan.unread, stage.name) == plan.unread.end()) continue;
    std::string names;
    for (const OutputSpec& o : stage.entry->outputs)
      names += fmt::format("{}{}.{}", names.empty() ? "" : ", ", stage.name, o.name);
    stage.section.warning("", fmt::format("nothing reads {}: publish it, or leave the stage out", names));
  }
}

}  // namespace

std::vector<Plan> check_spec(const Spec& spec, const Catalogue& catalogue, Problems& problems) {
  return check_spec(spec, catalogue, problems, {});
}

std::vector<Plan> check_spec(const Spec& spec, const Catalogue& catalogue, Problems& problems,
                             const Allowance& allowance) {
  std::vector<Plan> plans;
  Allowance left = allowance;
  for (const PipelineSpec& pipeline : spec.pipelines) {
    const std::size_t before = problems.size();
    const StreamInfo stream = stream_of(pipeline);
    if (pipeline.source && pipeline.overrun == Overrun::wait && !stream.can_wait)
      pipeline.section.problem("overrun", "a radio cannot wait: `wait` is for file, zmq, generate and recall");
    std::vector<OutputIndex> outputs;
    plans.push_back(make_plan(pipeline, stream, catalogue, target_of(pipeline), outputs, problems));
    if (problems.size() > before || !pipeline.section.wrong_keys().empty()) continue;
    warn_of_unread(pipeline, stream, plans.back());
    if (stream.known != StreamInfo::Known::whole) continue;  // sizes are checked when the source is open
    const bool locked = pipeline.realtime.lock_memory && left.left.locked.has_value();
    const Sizing sizing = size_up(pipeline, plans.back(), stream, outputs, {.locked = locked});
    check_limits(pipeline, sizing, left);
    left.promise(sizing);
  }
  refuse_shared_claims(spec, plans);
  sort_by_place(problems);
  return plans;
}

void check_calibrations(const Spec& spec) {
  for (const PipelineSpec& pipeline : spec.pipelines) {
    if (!pipeline.source || !pipeline.source_section->wrong_keys().empty()) continue;
    check_calibration(pipeline, pipeline.source->describe(*pipeline.source_section));
  }
}

}  // namespace iqd
