// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/spec/spec.hpp"

/// The entries of a pipeline that name a driver: its source and its sinks. Problems go to `problems`.
namespace iqd {

/// Without a known driver, the source stays null.
void read_source(const Node& node, PipelineSpec& spec, const Catalogue& catalogue, std::span<const Override> overrides,
                 Problems& problems);
/// Adds the sink if it has a known driver and a port.
void read_sink(const Node& item, PipelineSpec& spec, const Catalogue& catalogue, Problems& problems);

}  // namespace iqd
