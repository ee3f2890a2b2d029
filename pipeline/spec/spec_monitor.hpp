// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/spec/spec.hpp"

namespace iqd {

/// Reads `monitor`, and gives each pipeline the ports that the live page watches there. After the pipelines are read.
void read_monitor(const Node& node, Spec& spec, Problems& problems);

/// Whether the HTTP port is set alike. What the page watches is not part of it.
bool same_port(const Spec& one, const Spec& other);
/// The HTTP port stays as it is until iqd is restarted.
void keep_port(const Spec& running, Spec& next);

}  // namespace iqd
