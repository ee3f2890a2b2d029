// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/command/commands.hpp"
#include "daemon/http/service.hpp"
#include "pipeline/spec/spec_change.hpp"

namespace iqd {

/// Keys that somebody wants set in a stage of a pipeline that runs, or in its `source`.
struct ChangeRequest {
  std::string stage;
  std::string keys;  // a map, as JSON or YAML
};

ChangeReport refused(const Problems& problems);

/// Reads a request, and into `next` the document with what it sets, of that pipeline alone. `overrides` gets the
/// request. Nothing where that went well, or why it is refused.
std::optional<ChangeReport> read_request(const ChangeRequest& request, const Document& document, PipelineSpec& running,
                                         std::vector<Override>& overrides, Loaded& next);

}  // namespace iqd
