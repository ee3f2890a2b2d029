// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

namespace iqd {

/// The text of the exception that is being handled; drivers throw any type.
inline std::string thrown_text() {
  try {
    throw;
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "the driver threw an exception of an unknown type";
  }
}

}  // namespace iqd
