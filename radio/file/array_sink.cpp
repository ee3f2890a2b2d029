// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/array_sink.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "radio/message_part.hpp"
#include "signal/filters/interleave.hpp"

namespace iqd::radio {
namespace {

constexpr std::int64_t kSettleNs = 100'000'000;

std::int64_t columns_of(const PortFormat& format) {
  return is_stream(format) && format.dims.size() == 2 ? format.dims.front().extent : 1;
}

/// The dimensions of one row.
std::vector<std::int64_t> row_of(const PortFormat& format) {
  std::vector<std::int64_t> row;
  for (std::size_t d = 0; d < format.dims.size(); ++d)
    if (static_cast<int>(d) != format.varying) row.push_back(format.dims[d].extent);
  if (format.element == Element::sc16) row.push_back(2);
  return row;
}

const std::string& free_path(const std::string& path, bool overwrite) {
  for (const std::string& file : recording_files(path))
    if (!overwrite && ::access(file.c_str(), F_OK) == 0)
      throw SetupError(fmt::format("{}: already exists; set overwrite: true or choose another path", file));
  return path;
}

}  // namespace

ArraySink::ArraySink(const std::string& path, bool overwrite, const PortFormat& format, const RecordingLabels& labels)
    : path_(free_path(path, overwrite)),
      columns_(columns_of(format)),
      item_bytes_(static_cast<std::int64_t>(size_of(format.element))),
      rows_(path, fmt::format("'{}'", traits(format.element).dtype), row_of(format), format.bytes(1)),
      records_(path, format, labels, ArrayLayout::columns) {}

Need ArraySink::need(const std::string& path, const PortFormat& format) {
  const auto message = static_cast<std::size_t>(format.bytes(format.most()));
  return {.what = "array " + path,
          .bytes = ArrayRecords::bytes(format) + (columns_of(format) > 1 ? message : 0),
          .files = ArrayRecords::open_files(format),
          .shared = true};
}

ArraySink::~ArraySink() {
  close();
}

bool ArraySink::send(const Message& message) {
  if (stopped_) return false;
  const std::int64_t row = rows_.rows();
  if (!message.payload.empty() && !append(message)) return stop();
  if (!records_.take(message, row)) return stop();
  if (steady_ns() < next_settle_ns_) return true;
  next_settle_ns_ = steady_ns() + kSettleNs;
  return settle() || stop();
}

void ArraySink::finish() {
  if (!close()) throw SetupError(path_ + ": its end cannot be written");
}

/// False if it cannot be written, which is logged.
bool ArraySink::close() {
  if (stopped_ || std::exchange(finished_, true)) return true;
  return (rows_.settle() && records_.finish()) || stop();
}

bool ArraySink::append(const Message& message) {
  if (columns_ == 1) return rows_.append(message.payload);
  staging_.resize(message.payload.size());
  const std::byte* const from = message.payload.data();
  interleave(from, static_cast<std::size_t>(item_bytes_), columns_, message.extent, message.extent, staging_.data());
  return rows_.append(staging_);
}

bool ArraySink::settle() {
  return rows_.settle() && records_.settle();
}

/// Always returns false.
bool ArraySink::stop() {
  if (stopped_) return false;
  stopped_ = true;
  log::error("{}: write failed: {}; recording has stopped after {} rows", path_, std::strerror(errno), rows_.rows());
  settle();
  return false;
}

}  // namespace iqd::radio
