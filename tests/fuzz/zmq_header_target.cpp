// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "daemon/sub/message_text.hpp"
#include "daemon/sub/message_view.hpp"
#include "radio/zmq/header.hpp"
#include "tests/fuzz/bytes.hpp"
#include "tests/fuzz/target.hpp"

namespace iqd::fuzz {
namespace {

using nlohmann::json;

bool is_within(std::string_view part, std::string_view whole) {
  return part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void expect_same(const json& object, const char* key, std::optional<std::int64_t> found) {
  const auto at = object.find(key);
  if (at == object.end() || at->is_null() || !at->is_number_integer()) return;
  expect(found == at->get<std::int64_t>(), "both readers find the same number");
}

/// Compares how a source parses the frame with a JSON reader, if that accepts it, too.
void read_as_source(std::string_view frame, std::size_t payload_bytes) {
  const auto header = radio::zmq::parse_header(frame);
  if (!header) return;
  for (const std::string_view part : {header->topic, header->dtype, header->datatype})
    expect(is_within(part, frame), "texts lie in the frame");
  if (const auto layout = radio::zmq::layout_of(*header, payload_bytes))
    expect(static_cast<std::size_t>(layout->channels * layout->samples) * size_of(layout->element) == payload_bytes,
           "the payload holds what the header says");
  const json object = json::parse(frame.substr(header->topic.size() + 1), nullptr, false);
  if (!object.is_object() || frame.find('\\') != frame.npos) return;
  expect_same(object, "sample", header->sample);
  expect_same(object, "time_ns", header->time_ns);
  expect_same(object, "tuned", header->tuned);
}

/// What `iqd sub` shows of the message.
void read_as_reader(std::string_view frame, std::string_view payload) {
  std::string why;
  const auto message = read_message(frame, std::as_bytes(std::span(payload)), why);
  if (!message) return expect(!why.empty(), "a message is refused with a reason");
  for (std::int64_t i = 0; i < message->values(); ++i) {
    const Value value = value_at(*message, i);
    text_of(value);
    json_of(value);
  }
  shape_text(*message);
  text_lines(*message);
}

}  // namespace

/// The two frames of a message of iqd's wire format.
void zmq_header(std::string_view input) {
  Bytes bytes(input);
  const std::string_view payload = bytes.piece(), frame = bytes.rest();
  read_as_source(frame, payload.size());
  read_as_reader(frame, payload);
}

}  // namespace iqd::fuzz
