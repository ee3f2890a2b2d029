// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/array_records.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "radio/file/recording_names.hpp"

namespace iqd::radio {
namespace {

/// A record of NAME.messages.npy, little-endian like everything that iqd writes.
struct Record {
  std::int64_t row, rows, sample, time_ns, gap;
};
constexpr const char* kRecord =
    "[('row', '<i8'), ('rows', '<i8'), ('sample', '<i8'), ('time_ns', '<i8'), ('gap', '<i8')]";

}  // namespace

ArrayRecords::ArrayRecords(const std::string& path, const PortFormat& format, const RecordingLabels& labels,
                           ArrayLayout layout)
    : messages_(messages_path(path), kRecord, {}, sizeof(Record)), facts_(json_path(path), format, labels, layout) {
  if (ItemFacts::describes(format))
    items_.emplace(items_path(path));
  else
    ::unlink(items_path(path).c_str());  // of an array that this one replaces
  if (!facts_.write(false))
    throw SetupError(fmt::format("{}: cannot write: {}", json_path(path), std::strerror(errno)));
}

bool ArrayRecords::take(const Message& message, std::int64_t row) {
  if (!message.payload.empty()) {
    const Record record{row, items_in(message), message.sample, message.time_ns, message.gap};
    if (!messages_.append(std::as_bytes(std::span(&record, 1)))) return false;
    if (items_ && !items_->append(message)) return false;
  }
  facts_.take(message, row);
  return true;
}

bool ArrayRecords::settle() {
  return messages_.settle() && (!items_ || items_->settle()) && facts_.write(false);
}

bool ArrayRecords::finish() {
  return settle() && facts_.write(true);
}

}  // namespace iqd::radio
