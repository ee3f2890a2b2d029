// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/bench/winners.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace iqd {
namespace {

constexpr const char* kProcessor = "cpu";

double time_of(const BenchRow& row) {
  for (const auto& [name, value] : row.further)
    if (name == "marginal_us") return value;
  return row.p50_us;
}

}  // namespace

void Winners::add(const BenchRow& row) {
  const Subject subject{row.name, row.variant};
  if (std::ranges::find(subjects_, subject) == subjects_.end()) subjects_.push_back(subject);
  times_[subject][row.backend][std::atoll(row.shape.c_str())] = time_of(row);
}

std::vector<Winners::Winner> Winners::all() const {
  std::vector<Winner> winners;
  for (const Subject& subject : subjects_) {
    const auto& backends = times_.at(subject);
    const auto processor = backends.find(kProcessor);
    if (processor == backends.end()) continue;
    for (const auto& [backend, times] : backends) {
      if (backend == kProcessor) continue;
      Winner w{subject.first, subject.second, backend, std::nullopt};
      for (const auto& [size, us] : times) {
        const auto other = processor->second.find(size);
        if (other == processor->second.end()) continue;
        ++w.of;
        if (us >= other->second)
          w.from.reset();
        else if (!w.from)
          w.from = size;
      }
      if (w.of > 0) winners.push_back(std::move(w));
    }
  }
  return winners;
}

std::string winner_text(const Winners::Winner& w) {
  return fmt::format("{:<24} {:<22} {}", w.name, w.variant,
                     w.from ? fmt::format("{} is faster from {} on", w.backend, *w.from)
                            : fmt::format("the CPU is faster than {}", w.backend));
}

std::string winner_json(const Winners::Winner& w) {
  nlohmann::json j({{"name", w.name}, {"variant", w.variant}, {"quicker", w.backend}, {"sizes", w.of}});
  j["from"] = w.from ? nlohmann::json(*w.from) : nlohmann::json();
  return j.dump();
}

}  // namespace iqd
