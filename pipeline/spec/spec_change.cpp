// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/spec_change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/pool.hpp"
#include "config/differences.hpp"
#include "pipeline/spec/calibration_table.hpp"
#include "pipeline/spec/spec_shares.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd {
namespace {

template <class Options> FieldList fields_of(Options& options) {
  return [&options](FieldVisitor& v) { options.fields(v); };
}

bool same_publish(PublishSpec& one, PublishSpec& other) {
  const auto fields = [](PublishSpec& p) {
    return [&p](FieldVisitor& v) {
      publish_fields(p, v);
      p.options->fields(v);
    };
  };
  return differences(fields(one), fields(other)).empty();
}

bool same_apply(const ApplySpec& one, const ApplySpec& other) {
  return one.port == other.port && one.key == other.key;
}

/// Adds the keys to `later`. Returns whether all were there already; keys of groups count one by one.
bool covered(const Node& keys, const std::string& prefix, std::set<std::string>& later) {
  bool all = true;
  for (const auto& [key, value] : keys.entries()) {
    const std::string name = fmt::format("{}.{}", prefix, key);
    all = (value.kind() == Node::Kind::map ? covered(value, name, later) : !later.insert(name).second) && all;
  }
  return all;
}

class Comparison {
 public:
  SpecChange found;

  void pipeline(PipelineSpec& a, PipelineSpec& b) {
    const auto fields = [](PipelineSpec& spec) { return [&spec](FieldVisitor& v) { pipeline_fields(spec, v); }; };
    for (const Difference& d : differences(fields(a), fields(b))) plan(d.key);
    if (a.overrun != b.overrun) plan("overrun");
    pool(a, b);
    if (a.gpu_share == b.gpu_share && !same_part(a, b)) by_others("gpu.share");
    if (a.realtime.priority == b.realtime.priority && a.urgency != b.urgency) by_others("realtime.priority");
  }
  void source(PipelineSpec& a, PipelineSpec& b) {
    if (a.driver != b.driver) {
      found.source = true;
      return fixed("source");
    }
    for (const Difference& d : differences(fields_of(*a.source), fields_of(*b.source))) {
      found.source = found.source || !d.live;
      found.retunes = found.retunes || d.live;
      note("source." + d.key, d.live);
    }
    // The file that the key names may have been rewritten.
    if (!found.source && a.calibration && b.calibration && *a.calibration != *b.calibration) plan("source.calibration");
  }
  void stages(PipelineSpec& a, PipelineSpec& b) {
    const auto same_place = [](const StageSpec& x, const StageSpec& y) {
      return x.entry == y.entry && x.name == y.name && x.from == y.from && x.backend == y.backend;
    };
    if (!std::equal(a.stages.begin(), a.stages.end(), b.stages.begin(), b.stages.end(), same_place))
      return plan("stages");
    for (std::size_t s = 0; s < a.stages.size(); ++s) {
      bool same_code = true;
      for (const Difference& d : differences(fields_of(*a.stages[s].as_read), fields_of(*b.stages[s].as_read))) {
        (d.live ? found.live : found.plan) = true;
        same_code = same_code && d.live;
        note(a.stages[s].name + "." + d.key, d.live);
      }
      // The keys are the same, so the file that they name has changed.
      if (same_code && a.stages[s].as_read->program() != b.stages[s].as_read->program())
        plan(a.stages[s].name + ".file");
    }
  }
  void outputs(PipelineSpec& a, PipelineSpec& b) {
    if (!std::equal(a.publish.begin(), a.publish.end(), b.publish.begin(), b.publish.end(), same_publish))
      plan("publish");
    if (!std::equal(a.sinks.begin(), a.sinks.end(), b.sinks.begin(), b.sinks.end(), same_sink)) plan("sinks");
    if (!std::equal(a.apply.begin(), a.apply.end(), b.apply.begin(), b.apply.end(), same_apply)) plan("apply");
    if (a.watch != b.watch) plan("monitor.watch");
  }

 private:
  /// Another pool begins with another stream: blocks that are out belong to this one.
  void pool(PipelineSpec& a, PipelineSpec& b) {
    const bool both = a.pool && b.pool;
    const bool same = both ? differences(fields_of(*a.pool), fields_of(*b.pool)).empty() : !a.pool && !b.pool;
    if (same && a.only_pool == b.only_pool) return;
    found.source = true;
    fixed("pool");
  }
  void note(std::string key, bool live) {
    if (!live) found.not_live.push_back(key);
    found.keys.push_back(std::move(key));
  }
  void fixed(std::string key) { note(std::move(key), false); }
  void plan(std::string key) {
    found.plan = true;
    fixed(std::move(key));
  }
  void by_others(std::string key) {
    plan(std::move(key));
    ++found.by_others;
  }
};

}  // namespace

void add_override(std::vector<Override>& overrides, Override added) {
  overrides.push_back(std::move(added));
  std::map<std::pair<std::string, std::string>, std::set<std::string>> later;  // by pipeline and stage
  for (std::size_t i = overrides.size(); i-- > 0;)
    if (const Override& o = overrides[i]; covered(o.keys, "", later[{o.pipeline, o.stage}]))
      overrides.erase(overrides.begin() + static_cast<std::ptrdiff_t>(i));
}

bool same_sink(const SinkSpec& one, const SinkSpec& other) {
  return one.port == other.port && one.driver == other.driver &&
         differences(fields_of(*one.options), fields_of(*other.options)).empty();
}

SpecChange compare(PipelineSpec& running, PipelineSpec& next) {
  Comparison c;
  c.pipeline(running, next);
  c.source(running, next);
  c.stages(running, next);
  c.outputs(running, next);
  return std::move(c.found);
}

void keep_programs(const PipelineSpec& running, PipelineSpec& next) {
  for (std::size_t s = 0; s < std::min(running.stages.size(), next.stages.size()); ++s)
    next.stages[s].as_read->keep_program(*running.stages[s].as_read);
}

}  // namespace iqd
