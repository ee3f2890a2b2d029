// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/sample_encoder.hpp"

#include "radio/file/sample_conversion.hpp"
#include "radio/file/staging.hpp"
#include "signal/filters/interleave.hpp"

namespace iqd::radio {
namespace {

/// Whether the file has the samples as memory has them.
bool is_same(const DiskFormat& format, Element element) {
  return !format.big_endian && format.name == traits(element).sigmf;
}

}  // namespace

SampleEncoder::SampleEncoder(const PortFormat& port, const DiskFormat* format)
    : element_(port.element),
      channels_(port.dims.size() == 2 ? port.dims.front().extent : 1),
      format_(format && !is_same(*format, port.element) ? format : nullptr),
      frame_bytes_(channels_ * (format ? format->bytes : static_cast<std::int64_t>(size_of(port.element)))) {
  if (channels_ > 1 || format_) staging_.resize(radio::staging_bytes(static_cast<std::size_t>(frame_bytes_)));
}

void SampleEncoder::stage(const Message& message, std::int64_t first, std::int64_t count) {
  const std::size_t size = size_of(element_);
  const std::byte* const from = message.payload.data() + static_cast<std::size_t>(first) * size;
  if (!format_) return interleave(from, size, channels_, message.extent, count, staging_.data());
  for (std::int64_t c = 0; c < channels_; ++c)
    clipped_ += write_samples(*format_, element_, from + c * message.extent * static_cast<std::int64_t>(size), count,
                              staging_.data() + c * format_->bytes, frame_bytes_);
}

}  // namespace iqd::radio
