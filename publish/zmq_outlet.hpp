// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/outlet.hpp"
#include "publish/publish_options.hpp"

namespace iqd::publish {

/// Room for any first frame of a topic.
std::size_t head_bytes(const Config& config, const PortFormat& format);
/// Sends a port's messages on a topic. Outlets of one pipeline with the same endpoint share a socket. `lossless`: waits
/// for slow subscribers. `most_bytes`: the largest message of the socket.
std::unique_ptr<Outlet> make_outlet(const Config& config, const PortFormat& format, bool lossless,
                                    std::int64_t most_bytes);

}  // namespace iqd::publish
