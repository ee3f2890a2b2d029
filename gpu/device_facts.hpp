// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/device_facts.hpp"

namespace iqd::gpu {

const DeviceFactsTable& device_facts_table();

}  // namespace iqd::gpu
