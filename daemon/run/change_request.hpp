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

/// A request to set keys of a running pipeline's stage or `source`.
struct ChangeRequest {
  std::string stage;
  std::string keys;  // a map, as JSON or YAML
};

/// The file names a problem that has a line there; the values of a request have none.
ChangeReport refused(const Problems& problems);
ChangeReport refused_request(const Problems& problems);

/// Reads a request, adds it to `overrides`, and reads the document with it into `next`, which keeps only that pipeline.
/// Returns nothing, or why the request is refused.
std::optional<ChangeReport> read_request(const ChangeRequest& request, const Document& document, PipelineSpec& running,
                                         std::vector<Override>& overrides, Loaded& next);

}  // namespace iqd
