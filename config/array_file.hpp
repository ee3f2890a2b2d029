// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

namespace iqd {

/// Reads a one-dimensional .npy array (or a single number) for a list of numbers: whole numbers where they are asked
/// for, real ones where complex ones are. False, and `why`, where the file is not of that kind, or has more than 2^22
/// numbers (whole ones: 2^24).
bool read_array(const std::string& path, std::vector<std::int64_t>& into, std::string& why);
bool read_array(const std::string& path, std::vector<double>& into, std::string& why);
bool read_array(const std::string& path, std::vector<std::complex<double>>& into, std::string& why);

}  // namespace iqd
