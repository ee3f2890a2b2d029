// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace iqd {

/// How a stage computes single elements. Each depends only on the inputs' elements of the same index and on that index.
/// Neighbouring stages of this kind are fused into one loop on the CPU or one generated kernel on a GPU.
class ElementCode {
 public:
  virtual ~ElementCode() = default;
  /// Computes n elements of a row; the first is element `first` of the stream: position · item. An element has the same
  /// bits for any `first` and n. An output may overwrite an input of the same size.
  virtual void apply(std::span<const void* const> in, std::span<void* const> out, std::int64_t first,
                     std::int64_t n) const noexcept = 0;

  /// The same for a device. An object of `type`, whose bytes are `parameters`, is called for each element with the
  /// inputs' values, references to the outputs, and the index as long long. cf32 is iqd::elementwise::Complex, sc16 is
  /// iqd::elementwise::Complex16, any other element is the C++ type.
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
  /// None: the stage cannot be fused on a device.
  virtual std::optional<DeviceCode> device_code() const { return std::nullopt; }
};

}  // namespace iqd
