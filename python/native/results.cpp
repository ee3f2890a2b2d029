// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "python/native/results.hpp"

#include <cstring>

#include "base/item_start.hpp"
#include "pipeline/engine/result_message.hpp"
#include "python/native/binding.hpp"
#include "python/native/device_memory.hpp"
#include "python/native/given_arrays.hpp"

namespace iqd::native {
namespace {

py::dtype dtype_for(Element element) {
  return py::dtype::from_args(py::str(std::string(traits(element).dtype)));
}

/// A dimension as `_array.Format` takes it: name, labels, frequencies.
py::tuple dim_of(const Dim& dim, double frequency_hz) {
  const Frequencies& of = dim.frequencies;
  py::object frequencies = py::none();
  if (!of.values_hz.empty()) {
    std::vector<double> values;
    for (const double value : of.values_hz) values.push_back(frequency_hz + value);
    frequencies = py::cast(values);
  } else if (of.known()) {
    frequencies = py::make_tuple(frequency_hz + of.first_hz, of.step_hz, of.wrap);
  }
  return py::make_tuple(dim.name, dim.labels, frequencies, dim.extent);
}

py::object format_of(const PlanOutput& output, const PlanPort& port) {
  const PortShape& shape = port.shape;
  py::list dims;
  for (const Dim& dim : shape.rows) dims.append(dim_of(dim, shape.frequency_hz));
  dims.append(dim_of({shape.axis == Axis::block ? "block" : shape.axis_name, 0}, shape.frequency_hz));
  for (const Dim& dim : shape.item) dims.append(dim_of(dim, shape.frequency_hz));
  if (shape.element == Element::sc16) dims.append(dim_of({"iq", 2, {"i", "q"}}, 0));
  const double rate = shape.axis == Axis::stream ? shape.rate_hz : 0;
  return py::module_::import("iqd._array")
      .attr("Format")(output.format.port, dims, shape.rows.size(), rate, shape.frequency_hz, shape.source_rate_hz,
                      shape.llr_scale);
}

/// The facts of a block's items: a key and its values each.
py::list facts_of(const Plan& plan, OutputIndex index, const BlockWork& work, std::int64_t items) {
  py::list facts;
  for (const PlanOutput::Fact& fact : plan.outputs[index].facts) {
    const FactColumn column = fact_column(plan, fact, work);
    const py::array values = new_array(traits(column.element).dtype, {items});
    auto* const into = const_cast<void*>(values.data());
    if (has_starts(column)) {
      auto* const starts = static_cast<std::int64_t*>(into);
      for (std::int64_t i = 0; i < items; ++i) starts[i] = start_of(column, i);
    } else {
      std::memcpy(into, column.values, static_cast<std::size_t>(items) * size_of(column.element));
    }
    facts.append(py::make_tuple(std::string(column.key), values));
  }
  return facts;
}

std::vector<py::ssize_t> extents_of(const PortShape& shape, std::int64_t extent, bool bare) {
  std::vector<py::ssize_t> extents;
  for (const Dim& d : shape.rows) extents.push_back(d.extent);
  if (!bare) extents.push_back(extent);
  for (const Dim& d : shape.item) extents.push_back(d.extent);
  if (shape.element == Element::sc16) extents.push_back(2);
  return extents;
}

/// Rows are `pitch` bytes apart; everything else follows each other.
std::vector<py::ssize_t> strides_of(const PortShape& shape, std::span<const py::ssize_t> extents, std::int64_t pitch,
                                    py::ssize_t bytes) {
  std::vector<py::ssize_t> strides(extents.size());
  py::ssize_t next = bytes;
  for (std::size_t d = extents.size(); d-- > 0;) {
    if (d + 1 == shape.rows.size()) next = pitch;
    strides[d] = next;
    next *= extents[d];
  }
  return strides;
}

}  // namespace

ResultFormats::ResultFormats(const Plan& plan) : wrap_(py::module_::import("iqd._array").attr("wrapped")) {
  for (const PlanOutput& output : plan.outputs) formats_.push_back(format_of(output, plan.ports[output.port]));
}

py::tuple ResultFormats::arrays(std::shared_ptr<ResultMemory> memory, bool one_item) const {
  const ArrayRun& run = memory->run();
  const std::shared_ptr<ResultMemory>& shared = *new std::shared_ptr<ResultMemory>(std::move(memory));
  const py::capsule owner(&shared, [](void* p) { delete static_cast<std::shared_ptr<ResultMemory>*>(p); });
  py::tuple results(formats_.size());
  for (OutputIndex o = 0; o < formats_.size(); ++o) {
    const Axis axis = run.plan().plan().ports[run.plan().plan().outputs[o].port].shape.axis;
    const bool bare = axis == Axis::block || (one_item && axis == Axis::counted);
    results[o] = run.plan().plan().outputs[o].stays ? on_device(o, shared, bare) : wrapped(o, run, owner, bare);
  }
  return results;
}

py::tuple ResultFormats::copies(const ArrayRun& run) const {
  py::tuple results(formats_.size());
  for (OutputIndex o = 0; o < formats_.size(); ++o) results[o] = wrapped(o, run, py::object(), false);
  return results;
}

py::tuple ResultFormats::none(const Plan& plan) const {
  py::tuple results(formats_.size());
  for (OutputIndex o = 0; o < formats_.size(); ++o) {
    const PortShape& shape = plan.ports[plan.outputs[o].port].shape;
    py::list facts;
    for (const PlanOutput::Fact& fact : plan.outputs[o].facts)
      facts.append(py::make_tuple(fact.key, new_array(traits(plan.ports[fact.port].shape.element).dtype, {0})));
    results[o] = wrap_(new_array(traits(shape.element).dtype, extents_of(shape, 0, false)), formats_[o], 0, facts);
  }
  return results;
}

/// Without an owner, NumPy copies.
py::object ResultFormats::wrapped(OutputIndex output, const ArrayRun& run, const py::object& owner, bool bare) const {
  const BlockWork::Output result = run.work().output(output);
  const Plan& plan = run.plan().plan();
  const PortShape& shape = plan.ports[plan.outputs[output].port].shape;
  const std::vector<py::ssize_t> extents = extents_of(shape, result.extent, bare && result.extent == 1);
  const py::dtype dtype = dtype_for(shape.element);
  py::array array(dtype, extents, strides_of(shape, extents, result.pitch, item_bytes(traits(shape.element).dtype)),
                  result.data, owner);
  return finished(output, run, array);
}

/// The result where the device left it.
py::object ResultFormats::on_device(OutputIndex output, const std::shared_ptr<ResultMemory>& memory, bool bare) const {
  const ArrayRun& run = memory->run();
  const BlockWork::Output result = run.work().output(output);
  const PortShape& shape = run.plan().plan().ports[run.plan().plan().outputs[output].port].shape;
  const std::vector<py::ssize_t> extents = extents_of(shape, result.extent, bare && result.extent == 1);
  const std::vector<py::ssize_t> strides =
      strides_of(shape, extents, result.pitch, item_bytes(traits(shape.element).dtype));
  const std::string name = run.plan().backend().name();  // cuda:0
  DeviceMemory made{result.data,
                    std::string(traits(shape.element).dtype),
                    {extents.begin(), extents.end()},
                    {strides.begin(), strides.end()},
                    std::stoi(name.substr(name.find(':') + 1)),
                    memory,
                    &run.plan().backend()};
  return finished(output, run, py::module_::import("iqd._device").attr("DeviceArray")(std::move(made)));
}

py::object ResultFormats::finished(OutputIndex output, const ArrayRun& run, const py::object& array) const {
  const BlockWork::Output result = run.work().output(output);
  const Plan& plan = run.plan().plan();
  const bool has_facts = !plan.outputs[output].facts.empty();
  return wrap_(array, formats_[output], result.first,
               has_facts ? py::object(facts_of(plan, output, run.work(), result.extent)) : py::object(py::none()));
}

}  // namespace iqd::native
