// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace iqd {

/// How a stage computes single elements, of which each depends on the inputs' elements of the same index, and on that
/// index, alone. Neighbours of this kind become one loop on the CPU and one generated kernel on a GPU.
class ElementCode {
 public:
  virtual ~ElementCode() = default;
  /// n elements of a row, of which the first is element `first` of the stream: position · item. An element has the same
  /// bits whatever `first` and n are. An output may lie where an input of the same size lies.
  virtual void apply(std::span<const void* const> in, std::span<void* const> out, std::int64_t first,
                     std::int64_t n) const noexcept = 0;

  /// The same for a device: an object of `type`, whose bytes are `parameters`, is called for each element with the
  /// inputs' values, references to the outputs, and the index as long long. cf32 is iqd::elementwise::Complex, sc16
  /// iqd::elementwise::Complex16, any other element the type of C++.
  struct DeviceCode {
    std::string text;  // declares the type
    std::string type;
    std::vector<std::byte> parameters;

    template <class T> static std::vector<std::byte> bytes_of(const T& object) {
      static_assert(std::is_trivially_copyable_v<T>);
      const auto* const bytes = reinterpret_cast<const std::byte*>(&object);
      return {bytes, bytes + sizeof object};
    }
  };
  /// None: runs on a device by itself only.
  virtual std::optional<DeviceCode> device_code() const { return std::nullopt; }
};

/// What a stage also is whose outputs are made element by element: all its inputs and outputs have the same rows,
/// positions and items.
class ElementStage {
 public:
  /// After `shape`. Null where these keys or shapes need more than that.
  virtual std::unique_ptr<ElementCode> elements() const = 0;

 protected:
  ~ElementStage() = default;
};

}  // namespace iqd
