// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pipeline/stage/element_code.hpp"
#include "pipeline/stages/math/kernel/kernel.hpp"

/// The user's text with what calls its function, as compilers get it.
namespace iqd::kernel {

/// What our own part of a text is called in messages.
inline constexpr std::string_view kOwnPart = "iqd-adapter";

/// For the host's compiler: a shared object with `iqd_kernel_apply`.
std::string host_text(const Program& program);
/// For NVRTC: the kernels `iqd_elements` and `iqd_windows`.
std::string device_text(const Program& program);
/// For a generated kernel of several stages. None of a function with a halo, nor where the text has lines of the
/// preprocessor that would be seen by the others in the kernel.
std::optional<ElementCode::DeviceCode> shared_text(const Program& program);

}  // namespace iqd::kernel
