// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "base/error.hpp"
#include "radio/window/manifest.hpp"
#include "radio/window/message_file.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"

namespace iqd::fuzz {
namespace {

std::optional<radio::Manifest> manifest_in(std::string_view text) {
  try {
    return radio::read_manifest(MemoryFile(text).path());
  } catch (const SetupError&) {
    return std::nullopt;
  }
}

void read_messages(std::string_view bytes, const PortFormat& format) {
  const MemoryFile memory(bytes);
  std::size_t sum = 0;
  try {
    radio::MessageFile file(memory.path(), format);
    for (Message m; file.next(m);) {
      expect(m.extent >= 0 && (format.varying < 0 ? m.extent <= 1 : m.extent <= format.most()),
             "no more than the port");
      for (const std::byte b : m.payload) sum += static_cast<std::size_t>(b);
      for (const FactColumn& fact : m.facts)
        for (std::size_t b = 0; b < static_cast<std::size_t>(m.extent) * size_of(fact.element); ++b)
          sum += static_cast<std::size_t>(fact.values[b]);
    }
  } catch (const SetupError&) {
  }
  expect(sum <= 255 * bytes.size(), "all that is read is in the file");
}

}  // namespace

/// The manifest of a window, a zero, and its results.
void window(std::string_view input) {
  const std::size_t end = input.find('\0');
  const auto manifest = manifest_in(input.substr(0, end));
  if (!manifest) return;
  const std::string text = text_of(*manifest);
  const auto again = manifest_in(text);
  expect(again && text_of(*again) == text, "a manifest that was read can be written");
  if (end != input.npos) read_messages(input.substr(end + 1), manifest->format);
}

}  // namespace iqd::fuzz
