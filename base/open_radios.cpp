// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/open_radios.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/clock.hpp"
#include "base/log.hpp"

namespace iqd {
namespace {

constexpr std::chrono::seconds kEvery{2};

struct List {
  std::mutex mutex;  // guards the radios, too
  std::vector<std::shared_ptr<OpenRadio>> radios;
};

/// A driver may release a radio in a thread that outlives `main`, so the list is never destroyed.
List& list() {
  static List* const all = new List;
  return *all;
}

/// A new lock counts as locked before.
void tell_of_locks(const OpenRadio& radio, const RadioReadings& now) {
  for (const RadioReading& r : now) {
    if (!r.is_lock) continue;
    const auto same = [&](const RadioReading& b) { return b.name == r.name && b.of == r.of; };
    const auto before = std::find_if(radio.readings.begin(), radio.readings.end(), same);
    const bool held = before == radio.readings.end() || before->value != 0;
    const std::string which = r.of.empty() ? r.name : r.name + " of " + r.of;
    if (held && r.value == 0) log::warn("{} '{}': {} is not locked", radio.driver, radio.args, which);
    if (!held && r.value != 0) log::info("{} '{}': {} is locked again", radio.driver, radio.args, which);
  }
}

}  // namespace

struct RadioOnList::Watch {
  std::shared_ptr<OpenRadio> radio;
  std::function<RadioReadings()> read;
  std::mutex mutex;
  std::condition_variable changed;
  bool ends = false;
  bool soon = false;
  std::thread thread;

  void run() {
    std::unique_lock lock(mutex);
    while (!ends) {
      lock.unlock();
      look();
      lock.lock();
      changed.wait_for(lock, kEvery, [this] { return ends || soon; });
      soon = false;
    }
  }

  void look() {
    try {
      RadioReadings now = read();
      tell_of_locks(*radio, now);
      const std::lock_guard lock(list().mutex);
      radio->readings = std::move(now);
      radio->read_ns = steady_ns();
    } catch (const std::exception& e) {
      log::debug("{} '{}': cannot read its sensors: {}", radio->driver, radio->args, e.what());
    } catch (...) {
      log::debug("{} '{}': cannot read its sensors", radio->driver, radio->args);
    }
  }
};

std::string OpenRadio::hardware() const {
  std::string text;
  const auto add = [&](const char* key, const char* between, bool named) {
    const auto fact = std::find_if(facts.begin(), facts.end(), [&](const auto& f) { return f.first == key; });
    if (fact == facts.end() || fact->second.empty()) return;
    if (!text.empty()) text += between;
    text += named ? std::string(key) + " " + fact->second : fact->second;
  };
  add("product", ", ", false);
  add("serial", " ", false);
  add("firmware", ", ", true);
  add("fpga", ", ", true);
  return text;
}

RadioOnList::RadioOnList(OpenRadio radio, std::function<RadioReadings()> read) : watch_(std::make_unique<Watch>()) {
  watch_->radio = std::make_shared<OpenRadio>(std::move(radio));
  watch_->read = std::move(read);
  {
    const std::lock_guard lock(list().mutex);
    list().radios.push_back(watch_->radio);
  }
  try {
    watch_->thread = std::thread([w = watch_.get()] { w->run(); });
  } catch (...) {
    take_off();
    throw;
  }
}

void RadioOnList::take_off() {
  const std::lock_guard lock(list().mutex);
  std::erase(list().radios, watch_->radio);
}

RadioOnList::~RadioOnList() {
  take_off();
  {
    const std::lock_guard lock(watch_->mutex);
    watch_->ends = true;
  }
  watch_->changed.notify_all();
  watch_->thread.join();
}

void RadioOnList::read_soon() {
  const std::lock_guard lock(watch_->mutex);
  watch_->soon = true;
  watch_->changed.notify_all();
}

std::vector<OpenRadio> open_radios() {
  const std::lock_guard lock(list().mutex);
  std::vector<OpenRadio> all;
  for (const auto& radio : list().radios) all.push_back(*radio);
  return all;
}

}  // namespace iqd
