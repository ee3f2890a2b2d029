// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/watch/watch_kind.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "pipeline/watch/watch_grid.hpp"

namespace iqd {
namespace {

/// Symbols and LLRs of these are shown apart.
constexpr std::array<std::string_view, 7> kApart{"kind", "user", "layer", "tx", "rx", "antenna", "channel"};

std::string_view output_name(const PortFormat& format) {
  const std::string_view port = format.port;
  return port.substr(port.rfind('.') + 1);
}

bool has_dim(const PortFormat& format, std::string_view name) {
  return std::ranges::find(format.dims, name, &Dim::name) != format.dims.end();
}

bool is_real(Element element) {
  return element == Element::f32 || element == Element::f16;
}

std::vector<std::size_t> all_but(const PortFormat& format, std::size_t last) {
  std::vector<std::size_t> picked;
  for (std::size_t d = 0; d < last; ++d)
    if (static_cast<int>(d) != format.varying) picked.push_back(d);
  return picked;
}

std::vector<std::size_t> shown_apart(const PortFormat& format) {
  std::vector<std::size_t> picked;
  for (std::size_t d = 0; d < format.dims.size(); ++d)
    if (static_cast<int>(d) != format.varying && std::ranges::find(kApart, format.dims[d].name) != kApart.end())
      picked.push_back(d);
  return picked;
}

}  // namespace

std::optional<Watchable> watchable(const PortFormat& format) {
  const bool is_complex = format.element == Element::cf32 || format.element == Element::sc16;
  const std::size_t dims = format.dims.size();
  if (dims == 0 || dims > WatchGrid::kMostDims) return std::nullopt;
  if (format.dims.back().name == "bin" && (is_real(format.element) || format.element == Element::cf32))
    return Watchable{WatchKind::bins, all_but(format, dims - 1)};
  const std::string_view name = output_name(format);
  if (format.element == Element::cf32 && (name == "symbols" || has_dim(format, "symbol") || has_dim(format, "t")))
    return Watchable{WatchKind::symbols, shown_apart(format)};
  if (is_complex && format.dims.back().name == "n" && format.varying == static_cast<int>(dims) - 1)
    return Watchable{WatchKind::samples, all_but(format, dims - 1)};
  if ((name == "llr" || name == "soft") && (is_real(format.element) || format.element == Element::i8))
    return Watchable{WatchKind::values, shown_apart(format)};
  return std::nullopt;
}

bool has_items(const PortFormat& format) noexcept {
  return format.facts > 0 && format.varying >= 0;
}

}  // namespace iqd
