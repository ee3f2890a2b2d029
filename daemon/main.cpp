// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/log.hpp"
#include "daemon/commands.hpp"
#include "daemon/plugins.hpp"

int main(int argc, char** argv) {
  using namespace iqd;
  CLI::App app{"iqd, the IQ daemon: samples in, symbols out", "iqd"};
  app.require_subcommand(1);
  app.set_version_flag("--version", IQD_VERSION);
  app.add_flag_callback(
      "-v,--verbose", [] { log::set_level(log::Level::debug); }, "log more");
  find_own_plugins();
  Action action;
  for (const auto add : {add_run, add_check, add_explain, add_stages, add_schema, add_exec, add_bench, add_tune,
                         add_probe, add_sub, add_record, add_calibrate, add_doctor, add_keygen})
    add(app, action);
  try {
    app.parse(argc, argv);
    return static_cast<int>(action());
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : static_cast<int>(Exit::configuration);
  } catch (const UsageError& e) {
    std::fprintf(stderr, "iqd: %s\n", e.what());
    return static_cast<int>(Exit::configuration);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "iqd: %s\n", e.what());
    return static_cast<int>(Exit::failed);
  }
}
