// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "pipeline/stages/math/python/program.hpp"

namespace iqd::python {

/// Changes with what processes and daemon exchange: they may be of different packages.
inline constexpr int kProtocol = 2;

/// What the processes of a stage load, and how they run. Stages with the same job may share them.
struct Job {
  Program program;
  std::string function;
  std::string interpreter;
  std::string script;
  std::string label;  // in the log: `mine.py: detect of stages[0].python`
  std::size_t inputs = 1;
  int workers = 1;
  std::size_t memory = 0;  // address space of a process, without the memory that it shares
  int device = -1;         // the GPU whose arrays the function gets; -1: none
  double start_s = 20;
  double limit_s = 1;
  double spin_s = 100e-6;

  /// The same for jobs whose processes are alike.
  std::string key() const;
  /// What a process gets, JSON. `shared`: bytes that it shares with the daemon.
  std::string text(std::size_t shared) const;
};

/// What a process says about its program.
struct Refusal {
  std::string file;  // empty: it is not about a file
  int line = 0;
  int column = 0;
  std::string what;  // empty: it was not refused
};

}  // namespace iqd::python
