// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <new>

#include "base/log.hpp"
#include "daemon/command/commands.hpp"
#include "daemon/command/plugins.hpp"
#include "net/descriptors.hpp"

int main(int argc, char** argv) {
  using namespace iqd;
  CommandLine line("iqd", "iqd, the IQ daemon: samples in, symbols out", IQD_VERSION);
  bool verbose = false;
  line.options().option("-v,--verbose", &verbose, "log more");
  for (const auto add :
       {add_run,    add_check,  add_explain, add_stages, add_schema,  add_exec, add_bench, add_tune,
        add_probe,  add_sub,    add_plot,    add_record, add_convert, add_join, add_map,   add_calibrate,
        add_doctor, add_keygen, add_status,  add_ready,  add_get,     add_set})
    add(line);
  if (const auto exit = line.parse(argc, argv)) return *exit;
  if (verbose || line.quiet()) log::set_level(verbose ? log::Level::debug : log::Level::warning);
  net::raise_descriptor_limit();
  try {
    find_own_plugins();
    return static_cast<int>(line.action()());
  } catch (const UsageError& e) {
    std::fprintf(stderr, "iqd: %s\n", e.what());
    return static_cast<int>(Exit::configuration);
  } catch (const std::bad_alloc&) {
    std::fputs("iqd: out of memory\n", stderr);
    return static_cast<int>(Exit::failed);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "iqd: %s\n", e.what());
    return static_cast<int>(Exit::failed);
  }
}
