// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/http_body.hpp"

#include <civetweb.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kLargestBody = 64 << 10;

}  // namespace

std::int64_t body_length(mg_connection* connection) {
  if (mg_get_header(connection, "Transfer-Encoding")) return -1;
  return std::max<std::int64_t>(mg_get_request_info(connection)->content_length, 0);
}

int read_body(mg_connection* connection, std::string& body) {
  const std::int64_t length = body_length(connection);
  if (length > kLargestBody) return 413;
  const char* expect = mg_get_header(connection, "Expect");
  if (expect && std::string_view(expect) == "100-continue") mg_printf(connection, "HTTP/1.1 100 Continue\r\n\r\n");
  // Byte by byte: a longer read would wait for all of its bytes, however slowly they arrive.
  const std::int64_t ends_ns = steady_ns() + kHttpPatienceMs * 1'000'000;
  for (char byte = 0; length < 0 || std::cmp_less(body.size(), length); body += byte) {
    const int got = mg_read(connection, &byte, 1);
    if (got == 0 && length < 0) return 0;
    if (steady_ns() >= ends_ns) return 408;
    if (got != 1) return 400;
    if (std::cmp_greater_equal(body.size(), kLargestBody)) return 413;
  }
  return 0;
}

std::string_view meaning_of_body(int status) {
  switch (status) {
    case 408: return "the body arrived too slowly";
    case 413: return "the body is larger than 64 KiB";
    default: return "the body is incomplete";
  }
}

}  // namespace iqd
