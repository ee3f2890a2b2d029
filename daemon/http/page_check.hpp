// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/spec/spec.hpp"

namespace iqd {

/// Adds what is wrong with the live page's keys of `monitor` to the file's problems.
void check_page(const Spec& spec);

}  // namespace iqd
