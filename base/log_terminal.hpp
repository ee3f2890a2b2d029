// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "base/log.hpp"

// What programs that draw on the log's terminal need of the log.

namespace iqd::log {

/// Hides lines below this level, unless the level was set to `debug`.
void hide_below(Level level);

/// What a terminal shows below the log: it is erased before a line, and drawn again after it.
class Footer {
 public:
  virtual ~Footer() = default;
  virtual void erase() noexcept = 0;
  virtual void draw() noexcept = 0;
};
/// Any thread; null: none. Returns when no line is being written with the previous one.
void set_footer(Footer* footer);
/// Calls `work` while no other thread writes a line; `work` must not log.
void between_lines(const std::function<void()>& work);

}  // namespace iqd::log
