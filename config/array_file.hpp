// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

namespace iqd {

/// Reads a one-dimensional .npy array (or a single number) as a list of numbers. Integer lists need an integer array;
/// complex lists also take a real one. False, with `why`, if the array does not fit or has more than 2^22 numbers
/// (2^24 integers).
bool read_array(const std::string& path, std::vector<std::int64_t>& into, std::string& why);
bool read_array(const std::string& path, std::vector<double>& into, std::string& why);
bool read_array(const std::string& path, std::vector<std::complex<double>>& into, std::string& why);

}  // namespace iqd
