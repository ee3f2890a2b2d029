// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/kernel/kernel_cpu.hpp"

#include <algorithm>
#include <cstring>

namespace iqd::kernel {
namespace {

constexpr std::int64_t kPiece = 64;  // results at a time at an end of a row, where windows are copied

std::int64_t bytes_of(Element element) noexcept {
  return static_cast<std::int64_t>(size_of(element));
}
const std::byte* at(const PortIo& port, std::int64_t row, std::int64_t position, Element element) noexcept {
  return port.data + row * port.pitch + (position - port.first) * port.item * bytes_of(element);
}
std::int64_t piece_length(const Program& p) noexcept {
  return p.past + kPiece + p.future;
}

/// Results n0 … n1-1, whose windows lie inside the row.
void run_inside(const HostProgram& host, const StageIo& io, std::int64_t row, std::int64_t n0,
                std::int64_t n1) noexcept {
  const Program& p = host.program;
  const void* in[2] = {at(io.in[0], row, n0, p.in.front()), at(io.in.back(), row, n0, p.in.back())};
  auto* const out = const_cast<std::byte*>(at(io.out[0], row, n0, p.out));
  host.code->apply(in, out, (n1 - n0) * io.out[0].item, p);
}

/// Results n0 … n1-1, whose windows extend past an end of the row: zeros there.
void run_at_end(const HostProgram& host, const StageIo& io, std::int64_t row, std::int64_t n0,
                std::int64_t n1) noexcept {
  const Program& p = host.program;
  for (; n0 < n1; n0 += kPiece) {
    const void* in[2] = {};
    const std::int64_t n = std::min(kPiece, n1 - n0);
    std::byte* room = io.scratch;
    for (std::size_t i = 0; i < p.in.size(); ++i) {
      const PortIo& x = io.in[i];
      const std::int64_t size = bytes_of(p.in[i]);
      const std::int64_t begin = std::max(n0 - p.past, x.first);
      const std::int64_t end = std::min(n0 + n + p.future, x.end());
      std::memset(room, 0, static_cast<std::size_t>(piece_length(p) * size));
      if (end > begin)
        std::memcpy(room + (begin - n0 + p.past) * size, at(x, row, begin, p.in[i]),
                    static_cast<std::size_t>((end - begin) * size));
      in[i] = room + p.past * size;
      room += piece_length(p) * size;
    }
    if (p.in.size() == 1) in[1] = in[0];
    host.code->apply(in, const_cast<std::byte*>(at(io.out[0], row, n0, p.out)), n, p);
  }
}

}  // namespace

std::size_t scratch_bytes(const Program& program) noexcept {
  std::int64_t bytes = 0;
  if (!program.element_wise())
    for (const Element e : program.in) bytes += piece_length(program) * bytes_of(e);
  return static_cast<std::size_t>(bytes);
}

void run_cpu(const HostProgram& host, const StageIo& io) noexcept {
  const Program& p = host.program;
  const PortIo& y = io.out[0];
  std::int64_t positions = y.length;
  if (host.varies)
    *y.count = static_cast<std::int32_t>(positions = std::min(*io.in.front().count, *io.in.back().count));
  const std::int64_t end = y.first + positions;
  std::int64_t begin_inside = y.first, end_inside = end;
  for (const PortIo& x : io.in) {
    if (p.element_wise()) break;
    begin_inside = std::clamp(x.first + p.past, begin_inside, end);
    end_inside = std::clamp(x.end() - p.future, y.first, end_inside);
  }
  end_inside = std::max(begin_inside, end_inside);
  for (std::int64_t row = 0; row < y.rows; ++row) {
    run_at_end(host, io, row, y.first, begin_inside);
    run_inside(host, io, row, begin_inside, end_inside);
    run_at_end(host, io, row, end_inside, end);
  }
}

}  // namespace iqd::kernel
