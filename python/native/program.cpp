// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "python/native/program.hpp"

namespace iqd::python {

Program::Program(std::shared_ptr<const ChainSpec> chain, std::vector<StageInput> inputs, std::int64_t block,
                 Problems& problems)
    : chain_(std::move(chain)),
      plan_({&chain_->first, chain_->first_keys, {}, chain_->first_name}, std::move(inputs), block, chain_->backend,
            problems, chain_->options) {}

}  // namespace iqd::python
