// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// warp_node KEY=VALUE…: simulated WARP nodes, until it gets a signal. Prints its ports on the first line.
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "radio/soapy-modules/arguments.hpp"
#include "radio/soapy-modules/warp/simulated/node.hpp"

namespace {

using iqd::soapy_module::Arguments;
using iqd::warp_node::Options;

constexpr const char* kUsage =
    "warp_node KEY=VALUE...: simulated WARP v3 nodes on UDP\n"
    "  nodes=1 id=0 address=127.0.0.1 port=9000 trigger_port=10000   addresses; node n has port + n, 0: any free port\n"
    "  chains=4 most=1048576 serial=1 rate=40e6 configured=true      properties of a node\n"
    "  wires=-/0                  receive chain B hears transmit chain A; -: a test pattern\n"
    "  delay=0 amplifier=false snr=0                                 the path between them\n"
    "  small_packets=false start_once=false                          variants of the protocol\n"
    "  lose= repeat= swap= cut= foreign= lose_commands= lose_triggers= lose_written=   a fault every N packets\n"
    "  late=0 deaf_at= deaf_for=0                                    seconds\n";

int whole(const Arguments& args, const std::string& key, int otherwise, int low, int high) {
  return static_cast<int>(args.count(key, otherwise, low, high));
}

std::vector<int> wires_of(const std::string& text) {
  std::vector<int> wires;
  for (const char c : text)
    if (c != '/') wires.push_back(c == '-' ? -1 : c - '0');
  return wires;
}

Options options_of(const Arguments& args) {
  Options o;
  o.address = args.text("address", o.address);
  o.id = whole(args, "id", 0, 0, 200);
  o.port = whole(args, "port", o.port, 0, 65000);
  o.serial = whole(args, "serial", o.serial, 0, 65535);
  o.chains = whole(args, "chains", o.chains, 1, 4);
  o.most = static_cast<std::uint32_t>(args.count("most", o.most, 64, 1 << 26));
  o.rate_hz = args.number("rate", o.rate_hz);
  o.configured = args.flag("configured", true);
  o.small_packets = args.flag("small_packets", false);
  o.start_once = args.flag("start_once", false);
  o.wires = wires_of(args.text("wires", ""));
  o.delay = whole(args, "delay", 0, 0, 1 << 20);
  o.amplifier = args.flag("amplifier", false);
  o.snr_db = args.number("snr", 0);
  for (const auto& [key, fault] : {std::pair{"lose", &o.faults.lose},
                                   {"repeat", &o.faults.repeat},
                                   {"swap", &o.faults.swap},
                                   {"cut", &o.faults.cut},
                                   {"foreign", &o.faults.foreign},
                                   {"lose_commands", &o.faults.lose_commands},
                                   {"lose_triggers", &o.faults.lose_triggers},
                                   {"lose_written", &o.faults.lose_written}})
    *fault = whole(args, key, 0, 0, 1 << 30);
  o.faults.late_s = args.number("late", 0);
  o.faults.deaf_at_s = args.number("deaf_at", -1);
  o.faults.deaf_for_s = args.number("deaf_for", 0);
  return o;
}

int run(const Arguments& args) {
  if (const auto key = args.unknown(
          {"nodes", "id",         "address", "port",  "trigger_port", "chains",        "most",          "serial",
           "rate",  "configured", "wires",   "delay", "amplifier",    "snr",           "small_packets", "start_once",
           "lose",  "repeat",     "swap",    "cut",   "foreign",      "lose_commands", "lose_triggers", "lose_written",
           "late",  "deaf_at",    "deaf_for"}))
    args.refuse(*key, args.text(*key, ""), "unknown argument");
  std::vector<Options> nodes;
  for (int i = 0; i < whole(args, "nodes", 1, 1, 16); ++i) {
    nodes.push_back(options_of(args));
    nodes.back().id += i;
    nodes.back().serial += i;
  }
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  const iqd::warp_node::Network network(nodes, whole(args, "trigger_port", 10000, 0, 65535));
  std::printf("port %d trigger_port %d\n", network.port(), network.trigger_port());
  std::fflush(stdout);
  int got = 0;
  sigwait(&ends, &got);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    SoapySDR::Kwargs values;
    for (int i = 1; i < count; ++i) {
      const std::string word = words[i];
      const std::size_t at = word.find('=');
      if (at == std::string::npos) return std::fputs(kUsage, word == "--help" ? stdout : stderr), word != "--help";
      values[word.substr(0, at)] = word.substr(at + 1);
    }
    return run({"warp_node", values});
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
