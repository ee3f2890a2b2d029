// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <png.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/error.hpp"
#include "daemon/plot/raster_painter.hpp"

namespace iqd::plot {

std::vector<std::uint8_t> png_of(const Pixels& pixels) {
  static_assert(sizeof(Rgb) == 3);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(pixels.width);
  image.height = static_cast<png_uint_32>(pixels.height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<std::uint8_t> file(bytes);
  if (!png_image_write_to_memory(&image, file.data(), &bytes, 0, pixels.colours.data(), 0, nullptr))
    throw SetupError(fmt::format("cannot make a PNG: {}", image.message));
  file.resize(bytes);
  return file;
}

void write_png(const std::string& path, const Pixels& pixels) {
  const std::vector<std::uint8_t> file = png_of(pixels);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  out.close();
  if (!out) throw SetupError(fmt::format("{}: cannot write: {}", path, std::strerror(errno)));
}

}  // namespace iqd::plot
