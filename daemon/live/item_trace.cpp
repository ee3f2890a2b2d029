// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/live/item_trace.hpp"

#include <utility>

namespace iqd::live {
namespace {

nlohmann::json describe_items(const ItemWatch& outlet) {
  const PortFormat& format = outlet.format();
  return {{"pipeline", format.pipeline},
          {"port", format.port},
          {"kind", "items"},
          {"name", format.dims[static_cast<std::size_t>(format.varying)].name},
          {"of", nlohmann::json::object()},
          {"unit", ""},
          {"facts", outlet.facts()}};
}

}  // namespace

ItemTrace::ItemTrace(const WatchedPort& port, std::shared_ptr<ItemWatch> outlet)
    : Trace(port.outlet, 1, describe_items(*outlet)), items_(std::move(outlet)) {}

void ItemTrace::show(const WatchCopy& copy, LiveHub& hub) {
  nlohmann::json all = nlohmann::json::array();
  for (std::int64_t i = 0; i < ItemWatch::kept(copy); ++i) {
    const std::span<const double> numbers = items_->item(copy, i);
    nlohmann::json item = {{"time_s", numbers.front()}};
    for (std::size_t f = 0; f < items_->facts().size(); ++f) item[items_->facts()[f]] = number_or_null(numbers[1 + f]);
    all.push_back(std::move(item));
  }
  put_text(hub, {{"items",
                  {{"trace", number()},
                   {"seq", next_seq()},
                   {"more", copy.count - ItemWatch::kept(copy)},
                   {"items", std::move(all)}}}});
}

}  // namespace iqd::live
