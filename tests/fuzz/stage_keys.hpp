// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "pipeline/stage/stage.hpp"
#include "tests/fuzz/bytes.hpp"

namespace iqd::fuzz {

/// Keys of a stage as YAML: those of its sample, unless the input has another value.
std::string keys_from(Bytes& bytes, const StageEntry& entry);

}  // namespace iqd::fuzz
