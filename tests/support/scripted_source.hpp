// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>

#include "base/bell.hpp"
#include "base/driver.hpp"
#include "base/error.hpp"
#include "config/fields.hpp"

/// A source that follows a test's script, step by step.
namespace iqd::testing {

/// The word that sample n of a channel holds: a scrambled n, so that no two windows look alike.
inline std::int32_t sample_word(std::int64_t n, std::size_t channel) noexcept {
  auto x = static_cast<std::uint64_t>(n) * 0x9e3779b97f4a7c15ull + channel * 0xbf58476d1ce4e5b9ull;
  x ^= x >> 29;
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(x * 0x94d049bb133111ebull >> 32));
}

struct Step {
  enum class Do : std::uint8_t {
    samples,
    nothing,
    overflow,
    late,
    sequence,
    fail,
    raise,
    raise_odd,
    too_many,
    none,
    lost,
    hang
  };
  Do what = Do::samples;
  std::int64_t samples = 0;               // in as many calls as needed; 0: as many as requested, once
  std::int64_t chunk = 0;                 // most per call; 0: as many as requested
  std::int64_t lost = 0;                  // before them, and reported
  std::int64_t unsaid = 0;                // before them, shown only by the time stamp
  bool timed = false;                     // with a time stamp
  std::int64_t jump_ns = 0;               // the clock is stepped by this
  std::optional<std::int64_t> time_ns{};  // an invalid time stamp, once
  std::int64_t wait_ns = 0;               // before the step, in the driver
  std::int64_t repeat = 1;                // how many times, if not samples
  bool again = false;                     // as of a bench
  bool ends = false;                      // a piece of the stream, with its last sample
};

struct Script {
  std::deque<Step> steps;
  bool ends = true;  // else: delivers nothing more
  bool open_throws = false;
  double rate_hz = 0;  // another rate than the stream's; 0: the same
};

/// What a test sees of the source while it runs.
struct SourceView {
  std::atomic<std::int64_t> next{0};  // the true index of the next sample, over all openings
  std::atomic<int> opened{0};
  std::atomic<int> closed{0};
  std::atomic<int> most_open{0};
  std::atomic<bool> interrupted{false};
  std::atomic<bool> released{false};  // releases a hanging step
  std::atomic<bool> is_there{true};
  // For a retune: the new frequency, the reported time, and whether it answers and refuses.
  std::atomic<double> frequency_hz{0};
  std::optional<std::int64_t> tuned_ns;
  std::atomic<bool> refuses{false};
  std::atomic<bool> answers{true};
  Bell bell;
};

class ScriptedSource : public Source {
 public:
  static constexpr std::int64_t kStartNs = 1'700'000'000'000'000'000;

  ScriptedSource(StreamInfo info, Script script, SourceView& view)
      : info_(info), script_(std::move(script)), view_(view) {
    ++view_.opened;
    view_.most_open = std::max<int>(view_.most_open, view_.opened - view_.closed);
  }
  ~ScriptedSource() override { ++view_.closed; }
  StreamInfo info() const override { return info_; }
  void interrupt() noexcept override { view_.interrupted = true; }
  std::optional<std::int64_t> retune(const SourceOptions&) override {
    if (!view_.answers) throw NotNow("it does not answer");
    if (view_.refuses) throw std::runtime_error("it is out of range");
    info_.frequency_hz = view_.frequency_hz;
    return view_.tuned_ns;
  }

  Received receive(std::span<std::byte* const> into, std::int64_t most) override {
    if (script_.steps.empty()) return rest();
    Step& step = script_.steps.front();
    if (step.wait_ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(step.wait_ns));
    const Step now = step;
    if (now.what == Step::Do::samples) return samples(into, most);
    if (--step.repeat <= 0) script_.steps.pop_front();
    Received r;
    r.ends = now.ends;
    switch (now.what) {
      case Step::Do::overflow: r.event = Received::Event::overflow; break;
      case Step::Do::late: r.event = Received::Event::late; break;
      case Step::Do::sequence: r.event = Received::Event::sequence; break;
      case Step::Do::fail: r.event = Received::Event::failed; break;
      case Step::Do::raise: throw std::runtime_error("the cable is out");
      case Step::Do::raise_odd: throw 42;
      case Step::Do::too_many:
        r.event = Received::Event::samples;
        r.samples = most + 1;
        break;
      case Step::Do::lost:  // and a sample
        r.event = Received::Event::samples;
        r.samples = 1;
        r.lost = now.lost;
        break;
      case Step::Do::none: r.event = Received::Event::samples; break;
      case Step::Do::hang: view_.bell.wait_until([this] { return view_.released.load(); }); break;
      default: break;
    }
    return r;
  }

 private:
  Received rest() {
    Received r;
    r.event = script_.ends ? Received::Event::end : Received::Event::nothing;
    if (!script_.ends) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return r;
  }
  Received samples(std::span<std::byte* const> into, std::int64_t most) {
    Step& step = script_.steps.front();
    Received r;
    r.event = Received::Event::samples;
    r.samples = std::min({most, step.samples > 0 ? step.samples : most, step.chunk > 0 ? step.chunk : most});
    r.lost = std::exchange(step.lost, 0);
    clock_offset_ns_ += std::exchange(step.jump_ns, 0);
    view_.next += r.lost + std::exchange(step.unsaid, 0);
    r.has_time = step.timed;
    r.again = step.again;
    if (step.timed && step.time_ns)
      r.time_ns = *std::exchange(step.time_ns, std::nullopt);
    else if (step.timed)
      r.time_ns = kStartNs + clock_offset_ns_ +
                  static_cast<std::int64_t>(static_cast<double>(view_.next) * 1e9 / info_.rate_hz);
    for (std::size_t c = 0; c < into.size(); ++c)
      for (std::int64_t i = 0; i < r.samples; ++i) {
        const std::int32_t word = sample_word(view_.next + i, c);
        std::memcpy(into[c] + i * 4, &word, sizeof word);
      }
    view_.next += r.samples;
    if (step.samples == 0 || (step.samples -= r.samples) == 0) {
      r.ends = step.ends;
      script_.steps.pop_front();
    }
    return r;
  }

  StreamInfo info_;
  Script script_;
  SourceView& view_;
  std::int64_t clock_offset_ns_ = 0;
};

/// Opens one script after the other; with none left, opening fails.
class ScriptedOptions final : public SourceOptions {
 public:
  ScriptedOptions(StreamInfo info, std::deque<Script> scripts, SourceView& view)
      : info_(info), scripts_(std::move(scripts)), view_(view) {}
  void fields(FieldVisitor&) override {}
  StreamInfo describe(const Section&) const override { return info_; }
  bool is_there() const override { return view_.is_there; }
  std::unique_ptr<Source> open() const override {
    if (scripts_.empty()) throw std::runtime_error("no such device");
    Script script = std::move(scripts_.front());
    scripts_.pop_front();
    if (script.open_throws) throw std::runtime_error("busy");
    StreamInfo info = info_;
    if (script.rate_hz > 0) info.rate_hz = script.rate_hz;
    return std::make_unique<ScriptedSource>(info, std::move(script), view_);
  }

 private:
  StreamInfo info_;
  mutable std::deque<Script> scripts_;
  SourceView& view_;
};

}  // namespace iqd::testing
