// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

namespace iqd {

/// Of what is being handled: drivers throw what they like.
inline std::string thrown_text() {
  try {
    throw;
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "the driver threw something that is no exception of the standard library";
  }
}

}  // namespace iqd
