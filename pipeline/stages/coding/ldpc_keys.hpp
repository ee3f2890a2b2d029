// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "signal/codes/ldpc_codes.hpp"

/// The key `code` of the LDPC stages.
namespace iqd::coding {

/// Index of a code in kLdpcCodes.
enum class CodeName : std::uint8_t {};

inline constexpr auto kCodeNames = [] {
  std::array<std::string_view, std::size(kLdpcCodes)> names;
  for (std::size_t c = 0; c < names.size(); ++c) names[c] = kLdpcCodes[c].name;
  return names;
}();
inline std::span<const std::string_view> enum_names(CodeName) {
  return kCodeNames;
}
inline const LdpcCode& code_of(CodeName name) noexcept {
  return kLdpcCodes[static_cast<std::size_t>(name)];
}

}  // namespace iqd::coding
