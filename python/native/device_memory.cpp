// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "python/native/device_memory.hpp"

#include <dlpack/dlpack.h>
#include <fmt/format.h>

#include <optional>

#include "python/native/binding.hpp"

namespace iqd::native {
namespace {

/// Both protocols use this number for the default stream, on which producers without a stream of their own work.
constexpr std::uintptr_t kDefaultStream = 1;
constexpr const char* kCapsule = "dltensor";

char kind_of(std::uint8_t code) noexcept {
  switch (code) {
    case kDLInt: return 'i';
    case kDLUInt: return 'u';
    case kDLFloat: return 'f';
    case kDLComplex: return 'c';
    default: return 'V';
  }
}

std::uint8_t code_of(char kind) noexcept {
  switch (kind) {
    case 'i': return kDLInt;
    case 'u': return kDLUInt;
    case 'c': return kDLComplex;
    default: return kDLFloat;
  }
}

/// Gives the tensor back to its producer. The capsule is then of no further use to others.
py::object owner_of(py::capsule capsule, DLManagedTensor* tensor) {
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  return py::capsule(tensor, [](void* p) {
    auto* const t = static_cast<DLManagedTensor*>(p);
    if (t->deleter) t->deleter(t);
  });
}

/// What a tensor that Python gets from here refers to.
struct Exported {
  DLManagedTensor tensor{};
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // elements
  std::shared_ptr<void> owner;
};

}  // namespace

bool read_dlpack(const py::object& object, InputArray& in) {
  if (!py::hasattr(object, "__dlpack_device__")) return false;
  const auto device = object.attr("__dlpack_device__")().cast<std::pair<int, int>>();
  if (device.first != kDLCUDA) return false;
  const auto capsule = object.attr("__dlpack__")(py::arg("stream") = kDefaultStream).cast<py::capsule>();
  auto* const tensor = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), kCapsule));
  if (!tensor) throw py::error_already_set();
  const DLTensor& t = tensor->dl_tensor;
  const std::int64_t bytes = t.dtype.bits / 8;
  in.owner = owner_of(capsule, tensor);
  in.data = static_cast<const std::byte*>(t.data) + t.byte_offset;
  in.dtype = fmt::format("<{}{}", kind_of(t.dtype.code), bytes);
  in.shape.assign(t.shape, t.shape + t.ndim);
  in.strides = strides_in_order(in.shape, bytes);
  for (int d = 0; t.strides && d < t.ndim; ++d) in.strides[static_cast<std::size_t>(d)] = t.strides[d] * bytes;
  in.on_device = true;
  in.device = device.second;
  in.stream = kDefaultStream;
  return true;
}

bool read_cuda_interface(const py::object& object, InputArray& in) {
  if (!py::hasattr(object, "__cuda_array_interface__")) return false;
  const auto about = object.attr("__cuda_array_interface__").cast<py::dict>();
  in.owner = object;
  in.data = reinterpret_cast<const std::byte*>(about["data"].cast<std::pair<std::uintptr_t, bool>>().first);
  in.dtype = about["typestr"].cast<std::string>();
  in.shape = about["shape"].cast<std::vector<std::int64_t>>();
  in.on_device = true;
  in.strides = strides_in_order(in.shape, in.item_bytes());
  if (about.contains("mask") && !about["mask"].is_none()) throw py::value_error("arrays with a mask are not taken");
  if (about.contains("strides") && !about["strides"].is_none())
    in.strides = about["strides"].cast<std::vector<std::int64_t>>();
  // Before version 3 there is no stream: what the default stream does is waited for.
  if (!about.contains("stream"))
    in.stream = kDefaultStream;
  else if (!about["stream"].is_none())
    in.stream = about["stream"].cast<std::uintptr_t>();
  return true;
}

py::array copied_to_host(const DeviceMemory& memory) {
  const py::array array = new_array(memory.dtype, memory.shape);
  auto* const to = static_cast<std::byte*>(const_cast<void*>(array.data()));
  const auto bytes = static_cast<std::size_t>(array.size() * item_bytes(memory.dtype));
  if (bytes == 0) return array;
  const bool is_apart = memory.shape.size() > 1 && memory.strides[0] != array.strides(0);
  const auto rows = is_apart ? static_cast<std::size_t>(memory.shape[0]) : 1;
  for (std::size_t r = 0; r < rows; ++r)
    memory.backend->upload(
        to + r * (bytes / rows),
        {memory.data + (is_apart ? memory.strides[0] : 0) * static_cast<std::int64_t>(r), bytes / rows});
  return array;
}

py::capsule dlpack_of(const DeviceMemory& memory) {
  auto exported = std::make_unique<Exported>();
  const std::int64_t bytes = item_bytes(memory.dtype);
  exported->shape = memory.shape;
  for (const std::int64_t stride : memory.strides) exported->strides.push_back(stride / bytes);
  exported->owner = memory.owner;
  DLTensor& t = exported->tensor.dl_tensor;
  t.data = const_cast<std::byte*>(memory.data);
  t.device = {kDLCUDA, memory.device};
  t.ndim = static_cast<int>(memory.shape.size());
  t.dtype = {code_of(memory.dtype[1]), static_cast<std::uint8_t>(8 * bytes), 1};
  t.shape = exported->shape.data();
  t.strides = exported->strides.data();
  exported->tensor.manager_ctx = exported.get();
  exported->tensor.deleter = [](DLManagedTensor* tensor) { delete static_cast<Exported*>(tensor->manager_ctx); };
  return py::capsule(&exported.release()->tensor, kCapsule, [](PyObject* capsule) {
    if (!PyCapsule_IsValid(capsule, kCapsule)) return;  // its consumer deletes it
    auto* const tensor = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kCapsule));
    tensor->deleter(tensor);
  });
}

}  // namespace iqd::native
