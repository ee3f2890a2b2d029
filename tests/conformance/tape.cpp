// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/tape.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numbers>
#include <thread>

#include "base/clock.hpp"

namespace iqd::conformance {
namespace {

constexpr std::int64_t kMostNs = 120'000'000'000;
constexpr std::int64_t kCycle = 64;  // samples after which the tones repeat

std::uint64_t scrambled(std::uint64_t x) noexcept {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

float uniform(std::uint64_t bits) noexcept {
  return static_cast<float>(static_cast<std::int32_t>(static_cast<std::uint32_t>(bits))) * 0x1p-31f;
}

/// Tones of 1 and 0.5, each on a bin of any transform of 64 samples or a multiple.
std::array<cf32, kCycle> tones_of(int channel) {
  std::array<cf32, kCycle> tones;
  for (std::int64_t n = 0; n < kCycle; ++n) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(n) / kCycle;
    tones[static_cast<std::size_t>(n)] =
        cf32(std::polar(1.0, (5 + 7 * channel) * turn) + std::polar(0.5, (3 * channel - 20) * turn));
  }
  return tones;
}

class TapeSource final : public Source {
 public:
  explicit TapeSource(const Tape& tape) : tape_(tape) {
    for (int c = 0; c < tape_.channels; ++c) tones_.push_back(tones_of(c));
  }
  StreamInfo info() const override {
    return {.element = tape_.element, .channels = tape_.channels, .rate_hz = 1e6, .can_wait = true};
  }

  /// Returns pieces of all sizes.
  Received receive(std::span<std::byte* const> into, std::int64_t most) override {
    Received r;
    r.event = arrived_ == tape_.samples ? Received::Event::end : Received::Event::samples;
    if (arrived_ == tape_.samples) return r;
    std::int64_t until = tape_.samples;
    if (loss_ < tape_.losses.size() && tape_.losses[loss_].before == arrived_)
      position_ += r.lost = tape_.losses[loss_++].samples;
    if (loss_ < tape_.losses.size()) until = tape_.losses[loss_].before;
    const auto piece = static_cast<std::int64_t>(scrambled(static_cast<std::uint64_t>(arrived_)) % 50'000) + 1;
    r.samples = std::min({most, piece, until - arrived_});
    for (std::size_t c = 0; c < into.size(); ++c)
      if (tape_.element == Element::cf32)
        write(reinterpret_cast<cf32*>(into[c]), c, r.samples);
      else
        write(reinterpret_cast<sc16*>(into[c]), c, r.samples);
    arrived_ += r.samples;
    position_ += r.samples;
    return r;
  }

 private:
  template <class T> void write(T* to, std::size_t channel, std::int64_t samples) const noexcept {
    for (std::int64_t i = 0; i < samples; ++i) {
      const auto n = static_cast<std::uint64_t>(position_ + i);
      const std::uint64_t bits = scrambled(n * 8 + channel);
      const cf32 x = tones_[channel][n % kCycle] + 0.3f * cf32(uniform(bits), uniform(bits >> 32));
      if constexpr (std::is_same_v<T, cf32>)
        to[i] = x;
      else
        to[i] = {static_cast<std::int16_t>(12'000 * x.real()), static_cast<std::int16_t>(12'000 * x.imag())};
    }
  }

  Tape tape_;
  std::vector<std::array<cf32, kCycle>> tones_;
  std::int64_t arrived_ = 0;
  std::int64_t position_ = 0;  // counts missing samples too
  std::size_t loss_ = 0;
};

/// The tape that the current pipeline plays, and the records of what it publishes.
struct Theatre {
  const Tape& tape;
  std::size_t keep;
  std::deque<testing::Record> records{};
  std::vector<Element> elements{};
  static inline Theatre* now = nullptr;
};

class TapeOptions final : public SourceOptions {
 public:
  void fields(FieldVisitor&) override {}
  StreamInfo describe(const Section&) const override { return TapeSource(Theatre::now->tape).info(); }
  std::unique_ptr<Source> open() const override { return std::make_unique<TapeSource>(Theatre::now->tape); }
};

class RecordingOptions final : public OutletOptions {
 public:
  void fields(FieldVisitor&) override {}
  void check(const PortFormat&, const Section&) const override {}
  std::string topic() const override { return {}; }
  std::string endpoint() const override { return {}; }
  std::unique_ptr<Outlet> open(const PortFormat& format, bool, std::int64_t) const override {
    Theatre& t = *Theatre::now;
    t.elements.push_back(format.element);
    t.records.emplace_back().keep = t.keep;
    return std::make_unique<testing::RecordingOutlet>(t.records.back());
  }
};

std::unique_ptr<SourceOptions> make_source() {
  return std::make_unique<TapeOptions>();
}
std::unique_ptr<OutletOptions> make_outlet() {
  return std::make_unique<RecordingOptions>();
}

std::string yaml_of(const Play& play) {
  std::vector<std::string> ports;
  for (const std::string& port : play.publish) ports.push_back(fmt::format("{{port: {}}}", port));
  return fmt::format(
      "source: {{tape: {{}}}}\nblock: {}\nlanes: {}\nbackend: {}\nwait: {}\ntransfer: {}\nstages: {}\n"
      "publish: [{}]\n{}",
      play.block, play.lanes, play.backend, play.wait, play.transfer, play.stages, fmt::join(ports, ", "),
      play.share.empty() ? "" : fmt::format("gpu: {{share: {}}}\n", play.share));
}

bool complain(const Problems& problems) {
  for (const Problem& p : problems) ADD_FAILURE() << p.text();
  return !problems.empty();
}

/// Waits until everything has left, or for the first failure.
std::string watch(Pipeline& pipeline) {
  const std::int64_t end = steady_ns() + kMostNs;
  while (!pipeline.finished() && steady_ns() < end) {
    if (const std::string why = pipeline.failure(); !why.empty()) return why;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return pipeline.finished() ? pipeline.failure() : "it does not finish";
}

}  // namespace

Played play(const Play& play) {
  static constexpr DriverEntry kDrivers[] = {{"tape", "made up", make_source, nullptr, nullptr}};
  const Catalogue parts{all_stages(), kDrivers, make_outlet};
  Theatre theatre{play.tape, play.keep};
  Theatre::now = &theatre;
  Played played;
  Problems problems;
  Spec spec = read_spec(parse_document(yaml_of(play), "tape", problems), parts, problems);
  if (complain(problems)) return played;
  {
    Pipeline pipeline(std::move(spec.pipelines.front()), parts, problems);
    if (complain(problems)) return played;
    pipeline.start();
    played.failure = watch(pipeline);
    if (!played.failure.empty()) pipeline.stop();
    played.status = pipeline.status();
  }
  for (std::size_t i = 0; i < theatre.records.size(); ++i)
    played.ports.push_back({theatre.elements[i], std::move(theatre.records[i].sent)});
  return played;
}

}  // namespace iqd::conformance
