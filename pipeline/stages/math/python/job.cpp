// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/python/job.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/files/file_cache.hpp"

namespace iqd::python {

std::string Job::key() const {
  return content_key({program.name, program.path, program.folder, program.text, program.included, function, interpreter,
                      script, label,
                      fmt::format("{} {} {} {} {} {} {} {}", program.first_line, inputs, workers, memory, device,
                                  start_s, limit_s, spin_s)});
}

std::string Job::text(std::size_t shared) const {
  nlohmann::json job{{"protocol", kProtocol},
                     {"kind", program.is_model ? "onnx" : "python"},
                     {"file", program.name},
                     {"path", program.path},
                     {"folder", program.folder},
                     {"text", program.text},
                     {"first_line", program.first_line},
                     {"function", function},
                     {"inputs", inputs},
                     {"spin_ns", static_cast<std::int64_t>(spin_s * 1e9)},
                     {"memory", memory == 0 ? 0 : memory + shared}};
  job["device"] = device < 0 ? nlohmann::json() : nlohmann::json(device);
  return job.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace iqd::python
