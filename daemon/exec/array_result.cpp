// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/exec/array_result.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "config/fields.hpp"
#include "daemon/command/array_port.hpp"
#include "radio/file/array_records.hpp"
#include "radio/file/recording_names.hpp"

namespace iqd {

struct ArrayResult {
  std::string path;
  bool one_row = false;
  StageOutput output;
};

namespace {

using radio::ArrayLayout;
using radio::ArrayRecords;

PortShape shape_of(const PortFormat& format, bool one_row) {
  PortShape shape;
  shape.element = format.element;
  const bool streams = format.item_rate_hz > 0 && format.varying >= 0;
  shape.axis = format.varying < 0 ? Axis::block : streams ? Axis::stream : Axis::counted;
  if (one_row && streams && format.varying == 0) shape.rows.push_back({"channel", 1});
  for (std::size_t d = 0; d < format.dims.size(); ++d)
    if (static_cast<int>(d) != format.varying)
      (static_cast<int>(d) < format.varying ? shape.rows : shape.item).push_back(format.dims[d]);
  return shape;
}

/// The dimensions that the array has: [1][n] where the input is.
PortFormat described(PortFormat format, bool one_row) {
  if (!one_row || format.item_rate_hz <= 0 || format.varying != 0) return format;
  format.dims.insert(format.dims.begin(), {"channel", 1});
  format.varying = 1;
  return format;
}

class CollectingSink final : public Sink {
 public:
  CollectingSink(std::shared_ptr<ArrayResult> result, const PortFormat& format)
      : result_(std::move(result)),
        records_(result_->path, described(format, result_->one_row), {}, ArrayLayout::rows) {
    StageOutput& output = result_->output;
    output = {format.port, shape_of(format, result_->one_row), 0, {}};
    output.rows.resize(static_cast<std::size_t>(output.shape.row_count()));
  }

  bool send(const Message& message) override {
    StageOutput& output = result_->output;
    const std::int64_t row = output.length;
    const std::int64_t items = radio::items_in(message);
    const auto bytes = static_cast<std::size_t>(items * output.shape.item_bytes());
    for (std::size_t r = 0; items > 0 && r < output.rows.size(); ++r) {
      const auto from = message.payload.subspan(r * bytes, bytes);
      output.rows[r].insert(output.rows[r].end(), from.begin(), from.end());
    }
    output.length += items;
    return records_.take(message, row);
  }
  void finish() override {
    if (!records_.finish()) throw SetupError(fmt::format("{}: the files beside it cannot be written", result_->path));
  }

 private:
  std::shared_ptr<ArrayResult> result_;
  ArrayRecords records_;
};

class CollectingSinkOptions final : public SinkOptions {
 public:
  explicit CollectingSinkOptions(std::shared_ptr<ArrayResult> result) : result_(std::move(result)) {}
  void fields(FieldVisitor&) override {}
  void check(const PortFormat&, const Section& section) const override {
    const std::string folder = std::filesystem::path(result_->path).parent_path().string();
    if (::access(folder.empty() ? "." : folder.c_str(), W_OK) != 0)
      return section.problem("", fmt::format("the folder {} does not exist or is not writable", folder));
    if (std::filesystem::exists(result_->path)) return;
    for (const std::string& file : radio::recording_files(result_->path))
      if (std::filesystem::exists(file))
        return section.problem(
            "", fmt::format("{} would be replaced, and no array {} belongs to it; choose another name", file,
                            result_->path));
  }
  std::unique_ptr<Sink> open(const PortFormat& format) const override {
    return std::make_unique<CollectingSink>(result_, format);
  }
  std::string path() const override { return result_->path; }

 private:
  std::shared_ptr<ArrayResult> result_;
};

}  // namespace

std::unique_ptr<SinkOptions> array_sink(const std::string& path, bool one_row, std::shared_ptr<ArrayResult>& result) {
  result = std::make_shared<ArrayResult>();
  result->path = path;
  result->one_row = one_row;
  return std::make_unique<CollectingSinkOptions>(result);
}

void write_array(const ArrayResult& result) {
  write_output(result.path, result.output, false);
}

}  // namespace iqd
