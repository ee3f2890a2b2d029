// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"
#include "base/files/npy.hpp"
#include "config/array_file.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"

namespace iqd::fuzz {
namespace {

/// Reads it as a list of numbers in a configuration.
template <class T> void read_list(const std::string& path) {
  std::vector<T> numbers;
  std::string why;
  expect(read_array(path, numbers, why) || !why.empty(),
         "an array that is not a list of numbers is refused with a reason");
}

}  // namespace

/// A .npy file: what is read is written, and read again.
void npy(std::string_view input) {
  const MemoryFile file(input);
  read_list<std::int64_t>(file.path());
  read_list<double>(file.path());
  read_list<std::complex<double>>(file.path());
  NpyArray array;
  try {
    array = read_npy(file.path());
  } catch (const UsageError&) {
    return;
  }
  const std::size_t item = npy_item_bytes(array.dtype);
  expect(item > 0 && array.data.size() % item == 0, "the array holds whole elements");
  expect(array.size() == static_cast<std::int64_t>(array.data.size() / item), "as many as its shape says");
  const MemoryFile copy;
  write_npy(copy.path(), array.dtype, array.shape, array.data);
  const NpyArray again = read_npy(copy.path());
  expect(again.dtype == array.dtype && again.shape == array.shape && again.data == array.data,
         "a written array is read back unchanged");
}

}  // namespace iqd::fuzz
