// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"
#include "daemon/http/http_access.hpp"
#include "net/keys.hpp"
#include "pipeline/spec/calibration_table.hpp"
#include "pipeline/stages/math/kernel/declaration.hpp"
#include "pipeline/stages/math/kernel/messages.hpp"
#include "tests/fuzz/bytes.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"

namespace iqd::fuzz {
namespace {

/// A written table is read back unchanged.
void read_calibration(std::string_view text) {
  Problems problems;
  const auto table = load_calibration(MemoryFile(text).path(), problems);
  expect(table.has_value() || !problems.empty(), "a table is read, or something is wrong with it");
  if (!table || !problems.empty()) return;
  const auto again = load_calibration(MemoryFile(table->yaml()).path(), problems);
  expect(again.has_value() && problems.empty(), "a written table can be read");
  table->mismatches({});
}

void read_keys(std::string_view text) {
  const MemoryFile file(text);
  for (const auto read : {net::read_secret_key, net::read_public_key}) try {
      expect(!read(file.path()).empty(), "a key is not empty");
    } catch (const SetupError&) {
    }
  try {
    net::read_public_keys(file.path());
  } catch (const SetupError&) {
  }
}

void read_kernel(std::string_view text) {
  for (const kernel::Declaration& d : kernel::find_functions(text)) expect(d.line >= 1, "a function has a line");
  kernel::unclosed_brace(text);
}

void read_errors(std::string_view text) {
  expect(kernel::errors_in(text).size() <= 10, "no more errors than anybody reads");
}

void read_secret(std::string_view text) {
  try {
    const std::string token = read_token(MemoryFile(text).path());
    expect(token.size() >= 16 && is_secret(token, token), "a token is long enough");
  } catch (const UsageError&) {
  }
}

}  // namespace

/// A file named in a pipeline definition; the first byte selects its kind.
void named_file(std::string_view input) {
  constexpr void (*kKinds[])(std::string_view) = {read_calibration, read_keys, read_kernel, read_errors, read_secret};
  Bytes bytes(input);
  const auto read = bytes.pick(kKinds);
  read(bytes.rest());
}

}  // namespace iqd::fuzz
