// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/fields.hpp"

/// y = f(x, meta, parameters…): the user's function in Python, which gets a block and returns its results.
///
/// x, or x0 and x1  one or two inputs, of the types that `in` names; the same shape
/// y                what `out` declares
///
/// With a `device`, x lies in a GPU's memory, and y may: the process copies both.
///
/// It runs in processes of its own, `workers` of them, each with one block at a time. Samples and results pass through
/// memory that both processes map. If it fails, its block is missing (`StageIo::fail`) and counted in `events`; no block
/// waits longer than `limit` for a free process, nor for an answer. A process that does not answer in time is killed
/// with its children, and another one is started. f must depend on its arguments alone: blocks come in any order, and
/// some positions more than once.
namespace iqd::python {

inline constexpr std::int64_t kMostHalo = std::int64_t{1} << 24;  // past or future
inline constexpr std::int64_t kMostRatio = std::int64_t{1} << 20;
inline constexpr std::int64_t kMostWorkers = 64;

/// What is counted besides blocks that went well, all but the last of blocks that are missing: an exception; a result
/// of another shape or type; no answer within `limit`; the process ended; no process was free, or none runs; processes
/// that were started again.
inline constexpr std::string_view kEvents[] = {"raised", "unfit", "late", "died", "unserved", "restarted"};
enum Event : std::size_t { kRaised, kUnfit, kLate, kDied, kUnserved, kRestarted };

struct Config {
  std::string file;
  std::string code;
  std::string function = "f";
  std::vector<std::string> in{"cf32"};
  struct Out {
    std::string element = "cf32";
    std::string dims;       // empty: the input's
    std::int64_t most = 0;  // not 0: it counts its items
  } out;
  bool out_given = false;
  std::int64_t past = 0;
  std::int64_t future = 0;
  std::int64_t decimation = 1;
  std::int64_t interpolation = 1;
  StringMap params;
  std::int64_t workers = 1;
  double limit = 1;      // s
  double start = 20;     // s
  double spin = 100e-6;  // s
  double memory = 0x1p30;
  std::string device = "cpu";
  std::string interpreter = "/usr/bin/python3";

  void fields(FieldVisitor& visitor);
};

}  // namespace iqd::python
