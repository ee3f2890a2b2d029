// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pipeline/stage/element_code.hpp"
#include "pipeline/stages/math/kernel/kernel.hpp"

/// The text that compilers get: the user's text and the code that calls its function.
namespace iqd::kernel {

/// The file name of our own part of a text, in messages.
inline constexpr std::string_view kOwnPart = "iqd-adapter";

/// For the host's compiler: a shared object with `iqd_kernel_apply`.
std::string host_text(const Program& program);
/// For NVRTC: the kernels `iqd_elements` and `iqd_windows`.
std::string device_text(const Program& program);
/// For a generated kernel of several stages. None for a function with a halo, or if the text has preprocessor
/// directives, which would affect the other stages of the kernel.
std::optional<ElementCode::DeviceCode> shared_text(const Program& program);

}  // namespace iqd::kernel
