// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/run/pipeline_set.hpp"

namespace iqd {

/// What a reload changes in a pipeline.
struct PipelineSet::Reload {
  std::vector<std::string> keys;
  std::vector<std::string> undone;  // as `undone_by`
};

/// A pipeline whose source changes.
struct PipelineSet::Renewal {
  std::shared_ptr<Pipeline> running;
  PipelineSpec spec;
  std::vector<std::string> keys;
  std::optional<Reload> reload;
};

/// A pipeline that changes while it runs.
struct PipelineSet::Exchange {
  std::shared_ptr<Pipeline> running;
  Pipeline::Change change;
  std::optional<Reload> reload;
};

/// The steps from the running file to another one.
struct PipelineSet::Steps {
  std::vector<Exchange> changes{};
  std::vector<Renewal> renewals{};
  std::vector<std::shared_ptr<Pipeline>> ends{};    // pipelines that are no longer in the file
  std::vector<PipelineSpec> additions{};            // pipelines that are new in the file
  std::vector<std::shared_ptr<Pipeline>> opened{};  // the new ones that are already open
  bool monitor = false;
};

/// What was done so far.
struct PipelineSet::Done {
  std::vector<std::string> changed{};  // pipelines with other settings
  std::vector<std::string> lines{};    // for the answer
  std::vector<std::pair<std::string, Reload>> reloads{};

  void add(const std::string& pipeline, std::string line, std::optional<Reload>&& reload);
};

}  // namespace iqd
