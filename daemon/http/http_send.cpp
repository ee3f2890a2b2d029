// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/http_send.hpp"

#include <civetweb.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "base/file_handle.hpp"

namespace iqd {
namespace {

constexpr std::size_t kPiece = 256 << 10;

/// A file that is open; it may be removed meanwhile.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) {}
  /// -1: it cannot be read.
  std::int64_t bytes() const {
    struct stat facts {};
    return file_.get() >= 0 && ::fstat(file_.get(), &facts) == 0 && S_ISREG(facts.st_mode) ? facts.st_size : -1;
  }
  ssize_t read(std::span<char> into) const { return ::read(file_.get(), into.data(), into.size()); }

 private:
  FileHandle file_;
};

std::string head_of(mg_connection* connection, const HttpAnswer& answer, std::int64_t bytes, bool closes) {
  std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nCache-Control: {}\r\nX-Content-Type-Options: nosniff\r\n"
      "Content-Security-Policy: {}\r\n{}{}",
      answer.status, mg_get_response_code_text(connection, answer.status), answer.type, answer.cache, answer.policy,
      answer.header, closes ? "Connection: close\r\n" : "");
  // A 304 has no body, and its length would be that of the file.
  if (answer.status != 304) text += fmt::format("Content-Length: {}\r\n", bytes);
  return text + "\r\n";
}

bool write(mg_connection* connection, std::string_view text) {
  return std::cmp_equal(mg_write(connection, text.data(), text.size()), text.size());
}

bool write_file(mg_connection* connection, const OpenFile& file, std::int64_t left) {
  std::vector<char> piece(kPiece);
  while (left > 0) {
    const ssize_t got = file.read(std::span(piece).first(std::min(piece.size(), static_cast<std::size_t>(left))));
    if (got <= 0 || !write(connection, {piece.data(), static_cast<std::size_t>(got)})) return false;
    left -= got;
  }
  return true;
}

}  // namespace

void send_answer(mg_connection* connection, HttpAnswer answer, bool with_body, bool closes) {
  const OpenFile file(answer.file);
  const bool is_file = !answer.file.empty();
  if (is_file && file.bytes() < 0) answer = refusal(404, {"the file cannot be read"});
  const std::int64_t bytes =
      is_file && answer.status == 200 ? file.bytes() : static_cast<std::int64_t>(answer.body.size());
  std::string text = head_of(connection, answer, bytes, closes);
  if (with_body) text += answer.body;
  bool is_taken = write(connection, text);
  if (is_taken && with_body && is_file && answer.status == 200) is_taken = write_file(connection, file, bytes);
  if (!is_taken) mg_disable_connection_keep_alive(connection);
}

}  // namespace iqd
