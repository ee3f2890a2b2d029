// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The native half of the package: stages on arrays. python/iqd/_stages.py is what users see of it.

#include <nlohmann/json.hpp>
#include <tuple>

#include "base/error.hpp"
#include "config/describe.hpp"
#include "config/document.hpp"
#include "python/native/binding.hpp"
#include "python/native/chain.hpp"
#include "python/native/device_memory.hpp"
#include "python/native/errors.hpp"
#include "python/native/stream.hpp"
#include "python/native/unlocked.hpp"

namespace iqd::native {
namespace {

/// A YAML node as Python's own types; scalars stay texts.
py::object object_of(const Node& node) {
  switch (node.kind()) {
    case Node::Kind::map: {
      py::dict map;
      for (const auto& [key, value] : node.entries()) map[py::str(key)] = object_of(value);
      return map;
    }
    case Node::Kind::sequence: {
      py::list list;
      for (const Node& item : node.items()) list.append(object_of(item));
      return list;
    }
    case Node::Kind::scalar: return py::str(node.scalar());
    case Node::Kind::missing:
    case Node::Kind::null: break;
  }
  return py::none();
}

py::object read_yaml(const std::string& path) {
  Problems problems;
  const Document document = load_document(path, problems);
  raise_if_any(problems);
  return object_of(document.root);
}

/// Of each input: name, elements, dimensions, whether it may be left out, and the extents of an example's items.
py::list inputs_of(const StageEntry& stage) {
  py::list inputs;
  for (const InputSpec& in : stage.inputs) {
    py::list elements, example;
    for (const Element e : in.elements) elements.append(std::string(name_of(e)));
    for (const Dim& d : in.example) example.append(d.extent);
    inputs.append(py::make_tuple(std::string(in.name), elements, std::string(in.dims), in.optional, example));
  }
  return inputs;
}

/// Name, family, summary, inputs, outputs, sample, and the JSON schema of its keys as text.
py::tuple described(const StageEntry& stage) {
  py::list outputs;
  for (const OutputSpec& out : stage.outputs) outputs.append(std::string(out.name));
  const std::string keys = schema_of([&](FieldVisitor& v) { stage.make()->fields(v); }).dump();
  return py::make_tuple(std::string(stage.name), std::string(stage.family), std::string(stage.summary),
                        inputs_of(stage), outputs, std::string(stage.sample), keys);
}

py::list stages() {
  py::list all;
  for (const StageEntry& stage : all_stages()) all.append(described(stage));
  return all;
}

std::shared_ptr<Chain> make_chain(const std::vector<std::tuple<std::string, std::string, py::object, std::string>>& of,
                                  std::vector<std::string> ports, std::string backend) {
  std::vector<StageText> stages;
  for (const auto& [entry, keys, from, name] : of) {
    stages.push_back({entry, keys, {}, name});
    if (from.is_none()) continue;
    Connections& connections = stages.back().from.emplace();
    for (const auto& [input, port] : from.cast<std::map<std::string, std::string>>()) connections[input] = port;
  }
  if (stages.empty()) raise_config({"a chain needs a stage"});
  return std::make_shared<Chain>(std::move(stages), std::move(ports), std::move(backend));
}

py::list described_inputs(const Chain& chain) {
  return inputs_of(chain.first());
}

py::object run(Chain& chain, const py::tuple& given, double rate, double frequency, std::int64_t block) {
  std::vector<InputArray> arrays;
  arrays.reserve(given.size());
  for (const py::handle array : given) arrays.push_back(any_input(py::reinterpret_borrow<py::object>(array)));
  return chain.run(std::move(arrays), {rate, frequency, block});
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): pybind11 wants it so
void translate(std::exception_ptr p) {
  try {
    if (p) std::rethrow_exception(p);
  } catch (const UsageError& e) {
    set_config_error({e.what()});
  } catch (const SetupError& e) {
    set_error(e.what());
  }
}

}  // namespace

PYBIND11_MODULE(_iqd, module) {
  module.doc() = "Stages on arrays; see iqd.stage and iqd.chain.";
  // Loads NumPy. On first use, one thread would hold C++'s lock of a static variable and wait for Python's, and another
  // the other way round.
  py::detail::npy_api::get();
  py::register_exception_translator(&translate);
  py::module_::import("atexit").attr("register")(py::cpp_function(&end_calls));
  module.def("stages", &stages);
  module.def("read_yaml", &read_yaml);
  module.def("chain", &make_chain);
  py::class_<Chain, std::shared_ptr<Chain>>(module, "Chain")
      .def_property_readonly("inputs", &described_inputs)
      .def("run", &run)
      .def("stream", [](std::shared_ptr<Chain> chain, double rate, double frequency, std::int64_t block) {
        return std::make_unique<Stream>(std::move(chain), CallOptions{rate, frequency, block});
      });
  py::class_<DeviceMemory>(module, "DeviceMemory")
      .def_property_readonly("address", [](const DeviceMemory& m) { return reinterpret_cast<std::uintptr_t>(m.data); })
      .def_readonly("dtype", &DeviceMemory::dtype)
      .def_readonly("shape", &DeviceMemory::shape)
      .def_readonly("strides", &DeviceMemory::strides)
      .def_readonly("device", &DeviceMemory::device)
      .def("dlpack", &dlpack_of)
      .def("on_host", &copied_to_host);
  py::class_<Stream>(module, "Stream").def("push", &Stream::push).def("finish", &Stream::finish);
}

}  // namespace iqd::native
