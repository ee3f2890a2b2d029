// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace iqd {

/// A hash of the sources and of the build type that decide how long stages take: times that another build has measured
/// hold if it has the same mark.
std::string_view kernel_mark();

}  // namespace iqd
