// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>

#include "daemon/http/http_door.hpp"
#include "tests/support/fake_service.hpp"
#include "tests/support/http_client.hpp"

namespace iqd {
namespace {

using testing::HttpClient;

constexpr std::string_view kSeeds[] = {
    "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "GET /readyz?a=b HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "HEAD /healthz HTTP/1.1\r\nHost: 127.0.0.1:9464\r\nRange: bytes=0-1\r\nIf-None-Match: *\r\n\r\n",
    "GET /api/status HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\nConnection: Upgrade\r\n"
    "Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
    "POST /api/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nOrigin: http://localhost\r\n\r\n",
    "PATCH /api/stages/window HTTP/1.1\r\nHost: localhost\r\nContent-Length: 13\r\n"
    "Content-Type: application/json\r\n\r\n{\"past\": 100}",
    "PATCH /api/pipelines/te%73t/stages/source HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
    "Authorization: Bearer 0123456789abcdef\r\n\r\n7\r\n{\"a\": [\r\n4;x=y\r\n1]}\n\r\n0\r\nT: v\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n\r\n",
};
constexpr std::string_view kPieces[] = {
    "\r\n",
    "\r\n\r\n",
    "\n",
    "\r",
    ":",
    " ",
    "\t",
    "/",
    "..",
    "/../",
    "//",
    "%",
    "%00",
    "%2f",
    "%ff",
    "?",
    "#",
    "*",
    "HTTP/1.1",
    "HTTP/9.9",
    "GET ",
    "PATCH ",
    "POST ",
    "http://a/",
    "Host: ",
    "Host: [::1]:1\r\n",
    "\0",
    "\xff",
    "Content-Length: 5\r\n",
    "Content-Length: -1\r\n",
    "Content-Length: 99999999999999999999\r\n",
    "Content-Length: 70000\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Connection: close\r\n",
    "0\r\n\r\n",
    "ffffffff\r\n",
    "{",
    "}",
    "[",
    "[[[[[[[[[[[[[[[[",
    "\"",
    "{\"a\": 1}",
    "1e999",
    "\\u0000",
    "\\ud800",
    "Authorization: Bearer ",
    "X: "
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n"};

std::size_t below(std::mt19937& random, std::size_t n) {
  return n == 0 ? 0 : random() % n;
}

std::string noise(std::mt19937& random) {
  std::string bytes(1 + below(random, 200), ' ');
  for (char& c : bytes) c = static_cast<char>(below(random, 256));
  return bytes;
}

/// One to six changes: a byte, a piece of syntax, a part doubled, moved or removed.
std::string mutated(std::string text, std::mt19937& random) {
  for (std::size_t changes = 1 + below(random, 6); changes > 0; --changes) {
    const std::size_t at = below(random, text.size() + 1);
    const std::size_t length = below(random, std::min<std::size_t>(text.size() - at, 24) + 1);
    const std::string_view piece = kPieces[below(random, std::size(kPieces))];
    switch (below(random, 5)) {
      case 0: text.insert(at, piece); break;
      case 1: text.erase(at, length); break;
      case 2: text.insert(below(random, text.size() + 1), text.substr(at, length)); break;
      case 3: text.replace(at, length, piece); break;
      default: text.insert(at, 1, static_cast<char>(below(random, 256))); break;
    }
  }
  return text;
}

/// One input, on a connection that may have served whole requests before and may carry more after it.
std::string conversation(std::mt19937& random) {
  const auto seed = [&] { return std::string(kSeeds[below(random, std::size(kSeeds))]); };
  std::string bytes;
  for (std::size_t n = below(random, 4); n > 0; --n) bytes += seed();
  bytes += below(random, 8) == 0 ? noise(random) : mutated(seed(), random);
  for (std::size_t n = below(random, 2); n > 0; --n) bytes += seed();
  return bytes;
}

/// In up to four parts, cut anywhere.
void send_in_parts(HttpClient& client, std::string_view bytes, std::mt19937& random) {
  for (std::size_t parts = below(random, 4); parts > 0 && !bytes.empty(); --parts) {
    const std::size_t n = below(random, bytes.size()) + 1;
    if (!client.send(bytes.substr(0, n))) return;
    bytes.remove_prefix(n);
  }
  client.send(bytes);
}

bool still_answers(int port) {
  return testing::ask(port, "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n").ends_with("\r\n\r\nok\n");
}

TEST(HttpFuzz, NoBytesKeepTheDoorFromAnswering) {
  const char* asked = std::getenv("IQD_FUZZ_RUNS");
  const long runs = asked == nullptr ? 100000 : std::strtol(asked, nullptr, 10);
  testing::FakeService service;
  Spec spec;
  spec.listen = "127.0.0.1:0";
  const HttpDoor door(service, spec);
  const int port = door.address().port;
  std::atomic<long> done = 0;
  std::atomic<bool> good = true;
  const auto attack = [&](unsigned seed) {
    std::mt19937 random(seed);
    while (good && done < runs) {
      HttpClient client(port);
      send_in_parts(client, conversation(random), random);
      client.end();
      // The input ends there, so the server has to close; sometimes the client just closes.
      if (below(random, 8) != 0 && !client.drain()) good = false;
      if (++done % 500 == 0 && !still_answers(port)) good = false;
    }
  };
  {
    std::vector<std::jthread> attackers;
    for (unsigned seed = 1; seed <= 4; ++seed) attackers.emplace_back(attack, seed);
  }
  EXPECT_TRUE(good) << "after " << done << " inputs it no longer answered";
  EXPECT_GE(done, runs);
  EXPECT_TRUE(still_answers(port));
  EXPECT_GT(service.reloads, runs / 1000) << "the changes are too wild: hardly any input is valid";
}

}  // namespace
}  // namespace iqd
