// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Reads what iqd publishes (docs/wire.md) and prints the number of items and losses every second.
//
//   subscribe tcp://127.0.0.1:5555 iq [--items N] [--server FILE --key FILE]
//
// g++ -std=c++20 subscribe.cpp -lzmq, with cppzmq-dev and nlohmann-json3-dev.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <zmq.hpp>

using Clock = std::chrono::steady_clock;

/// `gap` counts samples lost by iqd or its radio; a jump of `seq`, messages lost on the way.
struct Tally {
  std::uint64_t items = 0;
  std::uint64_t lost = 0;
  std::uint64_t missed = 0;
  std::uint64_t next = 0;

  void add(const nlohmann::json& meta) {
    const auto seq = meta.at("seq").get<std::uint64_t>();
    if (items > 0 && seq > next) missed += seq - next;  // if it goes back, iqd was restarted
    next = seq + 1;
    lost += meta.at("gap").get<std::uint64_t>();
    const auto& dims = meta.at("dims");
    const auto n = std::find(dims.begin(), dims.end(), "n") - dims.begin();
    items += static_cast<std::size_t>(n) < dims.size() ? meta.at("shape")[n].get<std::uint64_t>() : 1;
  }
  void print() const {
    std::printf("%ju items, %ju samples lost by iqd, %ju messages lost on the way\n", items, lost, missed);
    std::fflush(stdout);
  }
};

/// Returns the key in a file of `iqd keygen`: its first word of 40 characters.
std::string key_from(const std::string& path) {
  std::ifstream file(path);
  for (std::string word; file >> word;)
    if (word.size() == 40) return word;
  throw std::runtime_error(path + ": contains no key");
}

void encrypt(zmq::socket_t& socket, const std::string& server_file, const std::string& key_file) {
  const std::string secret = key_from(key_file);
  std::array<char, 41> own{};
  if (zmq_curve_public(own.data(), secret.c_str()) != 0) throw std::runtime_error(key_file + ": not a secret key");
  socket.set(zmq::sockopt::curve_serverkey, key_from(server_file));
  socket.set(zmq::sockopt::curve_publickey, own.data());
  socket.set(zmq::sockopt::curve_secretkey, secret);
}

void run(const std::string& endpoint, const std::string& topic, std::map<std::string, std::string> options) {
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::sub);
  if (options.contains("--server")) encrypt(socket, options["--server"], options["--key"]);
  socket.set(zmq::sockopt::subscribe, topic + " ");  // without the space, "iq" would match "iq2"
  socket.connect(endpoint);
  const std::uint64_t most = options.contains("--items") ? std::stoull(options["--items"]) : UINT64_MAX;
  Tally tally;
  auto told = Clock::now();
  zmq::message_t head;
  zmq::message_t payload;  // the array: payload.data<std::complex<float>>() if `dtype` is <c8
  while (tally.items < most && socket.recv(head) && socket.recv(payload)) {
    const std::string_view text = head.to_string_view();
    tally.add(nlohmann::json::parse(text.substr(text.find(' ') + 1)));
    if (Clock::now() - told < std::chrono::seconds(1)) continue;
    tally.print();
    told = Clock::now();
  }
  tally.print();
}

int main(int count, char** arguments) try {
  if (count < 3 || count % 2 == 0)
    throw std::runtime_error("subscribe ENDPOINT TOPIC [--items N] [--server FILE --key FILE]");
  std::map<std::string, std::string> options;
  for (int i = 3; i + 1 < count; i += 2) options[arguments[i]] = arguments[i + 1];
  run(arguments[1], arguments[2], options);
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
