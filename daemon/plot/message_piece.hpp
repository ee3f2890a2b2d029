// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "daemon/plot/plot_data.hpp"
#include "daemon/sub/message_view.hpp"

namespace iqd::plot {

/// What a message holds, as its header describes it: a stream of samples, symbols, a spectrum (a dimension `bin`), or
/// just values. Bins have the frequencies of the header's `axes`; without, they are derived from the sample rate.
Piece piece_of(const MessageView& message);

}  // namespace iqd::plot
