// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/metrics_process.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "net/descriptors.hpp"

namespace iqd {
namespace {

std::string text_of(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return std::move(text).str();
}

/// `btime` of /proc/stat: when the machine booted.
double boot_s() {
  const std::string stat = text_of("/proc/stat");
  const std::size_t at = stat.find("\nbtime ");
  return at == stat.npos ? 0 : std::strtod(stat.c_str() + at + 7, nullptr);
}

double open_files() {
  std::error_code error;
  double n = 0;
  for (std::filesystem::directory_iterator i("/proc/self/fd", error), end; !error && i != end; i.increment(error)) ++n;
  return n > 0 ? n - 1 : 0;  // without the descriptor that lists them
}

}  // namespace

ProcessFigures process_figures() {
  ProcessFigures figures;
  const double boot = boot_s();
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const std::string stat = text_of("/proc/self/stat");
  // The program's name is in parentheses and may contain anything; after it come numbers, counted from 3 in proc(5).
  std::istringstream fields(stat.substr(std::min(stat.rfind(')') + 1, stat.size())));
  std::string field;
  for (int n = 3; fields >> field; ++n) {
    const double value = std::strtod(field.c_str(), nullptr);
    switch (n) {
      case 14:
      case 15: figures.cpu_s += value / ticks; break;
      case 20: figures.threads = value; break;
      case 22: figures.started_s = boot + value / ticks; break;
      case 23: figures.virtual_bytes = value; break;
      case 24: figures.resident_bytes = value * static_cast<double>(::sysconf(_SC_PAGESIZE)); break;
      default: break;
    }
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) figures.most_files = static_cast<double>(limit.rlim_cur);
  figures.open_files = open_files();
  figures.refused = static_cast<double>(net::connections_refused());
  return figures;
}

}  // namespace iqd
