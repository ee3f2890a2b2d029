// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/spec_pool.hpp"

#include <algorithm>

#include "base/pool.hpp"
#include "config/reader.hpp"

namespace iqd {
namespace {

constexpr std::string_view kPool = "pool";

/// Takes `pool` from the list. Returns whether it was there.
bool take_pool(std::vector<std::string>& backend) {
  return std::erase(backend, kPool) > 0;
}

}  // namespace

void read_pool(const Node& pipeline, PipelineSpec& spec, const Catalogue& catalogue, Problems& problems) {
  const auto named = static_cast<std::size_t>(std::ranges::count(spec.backend, kPool));
  const bool wanted = take_pool(spec.backend);
  const Node node = pipeline[kPool];
  for (StageSpec& stage : spec.stages)
    if (take_pool(stage.backend))
      stage.section.problem("backend", "'pool' is a backend of the whole pipeline: iqd finds the stages that go there");
  if (!wanted) {
    if (node) spec.section.problem(kPool, "is not used: add `pool` to `backend`, as in `backend: [cpu, pool]`");
    return;
  }
  if (!catalogue.make_pool) return spec.section.problem("backend", "'pool' is not in this build, which lacks libnats");
  if (named > 1) spec.section.problem("backend", "'pool' is named twice");
  if (!node) return spec.section.problem("backend", "'pool' needs the key `pool:` with `servers:`");
  spec.only_pool = spec.backend.empty();
  // Where steps run that have a state, and those behind them.
  if (spec.only_pool || spec.backend == std::vector<std::string>{"auto"}) spec.backend = {"cpu"};
  spec.pool = catalogue.make_pool();
  spec.pool_section = read_fields(
      node, [&](FieldVisitor& v) { spec.pool->fields(v); }, problems);
  spec.pool->check(*spec.pool_section);
}

}  // namespace iqd
