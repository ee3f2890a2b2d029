// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "radio/soapy-modules/arguments.hpp"

namespace iqd::sim {

using soapy_module::Arguments;

[[noreturn]] inline void refuse(const std::string& key, const std::string& value, const std::string& wanted) {
  soapy_module::refuse("iqdsim", key, value, wanted);
}

}  // namespace iqd::sim
