// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/part.hpp"

#include <cuda.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "gpu/late_library.hpp"
#include "gpu/part_layout.hpp"

namespace iqd::gpu {
namespace {

/// The installed driver, which iqd does not link.
struct DriverLibrary {
  template <class Function> Function find(const char* name) const {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &found, CUDART_VERSION, cudaEnableDefault, &result);
    if (error == cudaSuccess && result == cudaDriverEntryPointSuccess) return reinterpret_cast<Function>(found);
    cudaGetLastError();
    throw SetupError(fmt::format("the NVIDIA driver is too old, it lacks {}: install R580 or later", name));
  }
};

struct Driver {
  DriverLibrary library{};
  IQD_LATE_FUNCTION(cuDeviceGet);
  IQD_LATE_FUNCTION(cuDeviceGetDevResource);
  IQD_LATE_FUNCTION(cuDevSmResourceSplitByCount);
  IQD_LATE_FUNCTION(cuDevResourceGenerateDesc);
  IQD_LATE_FUNCTION(cuGreenCtxCreate);
  IQD_LATE_FUNCTION(cuGreenCtxStreamCreate);
  IQD_LATE_FUNCTION(cuGetErrorString);
};

/// Throws SetupError.
const Driver& driver() {
  static const Driver functions;
  return functions;
}

void check_driver(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* text = nullptr;
  driver().cuGetErrorString(result, &text);
  throw SetupError(fmt::format("{}: {}", what, text ? text : "unknown error"));
}

class GreenPart final : public DevicePart {
 public:
  GreenPart(int processors, int all, CUgreenCtx context) : DevicePart(processors, all), context_(context) {}
  CUgreenCtx context() const noexcept { return context_; }

 private:
  CUgreenCtx context_;
};

/// A device as its driver splits it, and who has which part of it.
class DividedDevice {
 public:
  explicit DividedDevice(int index);

  std::shared_ptr<const DevicePart> take(const DeviceShare& share, const std::string& name);

 private:
  struct Holder {
    std::string pipeline;
    std::weak_ptr<const DevicePart> part;
    Groups groups;
  };
  Groups held_by(const std::string& pipeline) const;
  CUgreenCtx context_of(const Groups& groups);

  CUdevice device_ = 0;
  DeviceSplit split_;
  std::vector<CUdevResource> resources_;   // of the groups
  std::map<Groups, CUgreenCtx> contexts_;  // kept to the end of the process
  std::vector<Holder> holders_;            // the newest last
};

DividedDevice::DividedDevice(int index) {
  CUdevResource all{}, remainder{};
  check_driver(driver().cuDeviceGet(&device_, index), "cuDeviceGet");
  check_driver(driver().cuDeviceGetDevResource(device_, &all, CU_DEV_RESOURCE_TYPE_SM), "cuDeviceGetDevResource");
  const unsigned least = std::max(all.sm.minSmPartitionSize, 1u);
  unsigned groups = all.sm.smCount / least;
  resources_.resize(groups);
  check_driver(driver().cuDevSmResourceSplitByCount(resources_.data(), &groups, &all, &remainder, 0, least),
               "cuDevSmResourceSplitByCount");
  resources_.resize(groups);
  if (groups == 0) throw SetupError("it has too few multiprocessors");
  split_.group_size = static_cast<int>(resources_.front().sm.smCount);
  split_.groups = static_cast<int>(groups);
  split_.remainder = remainder.type == CU_DEV_RESOURCE_TYPE_SM ? static_cast<int>(remainder.sm.smCount) : 0;
  if (split_.remainder > 0) resources_.push_back(remainder);
}

/// What the pipeline's newest engine has. The part of an old one is gone sooner or later.
Groups DividedDevice::held_by(const std::string& pipeline) const {
  for (auto h = holders_.rbegin(); h != holders_.rend(); ++h)
    if (const auto part = h->part.lock(); h->pipeline == pipeline && part && part->is_settled()) return h->groups;
  return {};
}

CUgreenCtx DividedDevice::context_of(const Groups& groups) {
  if (const auto known = contexts_.find(groups); known != contexts_.end()) return known->second;
  std::vector<CUdevResource> some;
  for (const int g : groups) some.push_back(resources_.at(static_cast<std::size_t>(g)));
  CUdevResourceDesc description = nullptr;
  CUgreenCtx context = nullptr;
  check_driver(driver().cuDevResourceGenerateDesc(&description, some.data(), static_cast<unsigned>(some.size())),
               "cuDevResourceGenerateDesc");
  check_driver(driver().cuGreenCtxCreate(&context, description, device_, CU_GREEN_CTX_DEFAULT_STREAM),
               "cuGreenCtxCreate");
  return contexts_[groups] = context;
}

std::shared_ptr<const DevicePart> DividedDevice::take(const DeviceShare& share, const std::string& name) {
  std::erase_if(holders_, [](const Holder& h) { return h.part.expired(); });
  std::vector<Groups> kept;
  for (const DeviceShare::Part& part : share.parts) kept.push_back(held_by(part.pipeline));
  const PartLayout layout = lay_out(split_, share.parts, kept);
  const auto own = std::ranges::find(share.parts, share.pipeline, &DeviceShare::Part::pipeline);
  const bool has_own = own != share.parts.end();
  const Groups& groups = has_own ? layout.parts[static_cast<std::size_t>(own - share.parts.begin())] : layout.rest;
  if (groups.empty())
    throw SetupError(fmt::format("{} of {}, in groups of {}{}", sum_text(split_, share.parts), name, split_.group_size,
                                 has_own ? "" : "; nothing is left for a pipeline without a share"));
  const auto part = std::make_shared<GreenPart>(split_.processors_of(groups), split_.all(), context_of(groups));
  holders_.push_back({share.pipeline, part, groups});
  return part;
}

/// Why it cannot be divided; empty if the driver is to be asked.
std::string_view obstacle(const Device& device) {
  int has_mps = 0;
  if (cudaDeviceGetAttribute(&has_mps, cudaDevAttrMpsEnabled, device.index()) != cudaSuccess) cudaGetLastError();
  if (has_mps)
    return "MPS is running, which divides it among processes (CUDA_MPS_ACTIVE_THREAD_PERCENTAGE); stop MPS, or leave "
           "`gpu` out";
  // The driver ends the name of an instance with ` MIG 1g.10gb`; it has no attribute for that.
  if (std::string_view(device.properties().name).find(" MIG ") != std::string_view::npos)
    return "it is a MIG instance, which is a part of a GPU already; leave `gpu` out";
  return {};
}

}  // namespace

std::shared_ptr<const DevicePart> take_part(const Device& device, const DeviceShare& share) {
  static std::mutex mutex;
  static std::map<int, DividedDevice> devices;
  if (share.parts.empty()) return nullptr;
  const std::string name = fmt::format("cuda:{}", device.index());
  const auto cannot = [&](std::string_view why) {
    return SetupError(fmt::format("{} ({}) cannot be divided: {}", name, device.properties().name, why));
  };
  if (const std::string_view why = obstacle(device); !why.empty()) throw cannot(why);
  const std::lock_guard lock(mutex);
  const Quiet quiet;
  device.use();
  auto divided = devices.find(device.index());
  try {
    if (divided == devices.end()) divided = devices.try_emplace(device.index(), device.index()).first;
  } catch (const SetupError& e) {
    throw cannot(e.what());
  }
  return divided->second.take(share, name);
}

Stream make_stream(const DevicePart& part, int priority) {
  CUstream stream = nullptr;
  check_driver(driver().cuGreenCtxStreamCreate(&stream, static_cast<const GreenPart&>(part).context(),
                                               CU_STREAM_NON_BLOCKING, priority),
               "cuGreenCtxStreamCreate");
  return Stream(stream);
}

}  // namespace iqd::gpu
