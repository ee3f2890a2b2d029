// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/bench/sampled_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <random>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kPatienceNs = 2'000'000'000;
constexpr std::int64_t kBlocksOfSamples = 4;

std::size_t bytes_of(const StreamInfo& info, std::int64_t samples) {
  return static_cast<std::size_t>(samples) * size_of(info.element);
}

/// Reads until it has `most` samples, or the time is over, or no more come; returns how many it has.
std::int64_t read_some(Source& source, Samples& samples, std::int64_t most) {
  const std::int64_t end = steady_ns() + kPatienceNs;
  std::int64_t have = 0;
  while (have < most && steady_ns() < end) {
    std::vector<std::byte*> into;
    for (std::vector<std::byte>& channel : samples.channels)
      into.push_back(channel.data() + bytes_of(samples.info, have));
    const Received r = source.receive(into, most - have);
    if (r.event == Received::Event::end || r.event == Received::Event::failed) break;
    if (r.event == Received::Event::samples) have += r.samples;
  }
  return have;
}

template <class T> void fill_normal(std::vector<std::byte>& bytes, double scale, std::mt19937& random) {
  std::normal_distribution<double> normal(0, scale);
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    const auto value = static_cast<T>(normal(random));
    std::memcpy(bytes.data() + at, &value, sizeof(T));
  }
}

void fill_noise(Samples& samples) {
  std::mt19937 random(1);
  for (std::vector<std::byte>& channel : samples.channels) {
    if (samples.info.element == Element::cf32 || samples.info.element == Element::f32)
      fill_normal<float>(channel, 0.1, random);
    else if (samples.info.element == Element::sc16 || samples.info.element == Element::i16)
      fill_normal<std::int16_t>(channel, 3000, random);
    else
      for (std::byte& b : channel) b = static_cast<std::byte>(random() & 0x3f);
  }
}

void make_room(Samples& samples, std::int64_t length) {
  samples.channels.assign(static_cast<std::size_t>(samples.info.channels), {});
  for (std::vector<std::byte>& channel : samples.channels) channel.resize(bytes_of(samples.info, length));
}

/// False, with the reason, if the source delivers nothing.
bool read_source(const PipelineSpec& spec, Samples& samples, std::int64_t most) {
  if (!spec.source->waits_for().empty()) {
    samples.noise_since = fmt::format("{} waits for {}", spec.driver->name, spec.source->waits_for().front());
    return false;
  }
  try {
    const std::unique_ptr<Source> source = spec.source->open();
    samples.info = source->info();
    make_room(samples, most);
    const std::int64_t have = read_some(*source, samples, most);
    for (std::vector<std::byte>& channel : samples.channels) channel.resize(bytes_of(samples.info, have));
    if (have == 0) samples.noise_since = fmt::format("{} delivers nothing", spec.driver->name);
    return have > 0;
  } catch (const std::exception& e) {
    const std::string why = e.what();
    samples.noise_since = why.substr(0, why.find('\n'));
    return false;
  }
}

class SampledSource final : public Source {
 public:
  explicit SampledSource(std::shared_ptr<const Samples> samples) : samples_(std::move(samples)) {}
  StreamInfo info() const override { return samples_->info; }
  Received receive(std::span<std::byte* const> into, std::int64_t most) override {
    Received r;
    r.event = Received::Event::samples;
    r.samples = std::min(most, samples_->length() - at_);
    for (std::size_t c = 0; c < into.size(); ++c)
      std::memcpy(into[c], samples_->channels[c].data() + bytes_of(samples_->info, at_),
                  bytes_of(samples_->info, r.samples));
    at_ = (at_ + r.samples) % samples_->length();
    return r;
  }

 private:
  std::shared_ptr<const Samples> samples_;
  std::int64_t at_ = 0;
};

/// The pipeline's own, but for `open`.
class SampledOptions final : public SourceOptions {
 public:
  SampledOptions(std::unique_ptr<SourceOptions> own, std::shared_ptr<const Samples> samples)
      : own_(std::move(own)), samples_(std::move(samples)) {}
  void fields(FieldVisitor& visitor) override { own_->fields(visitor); }
  StreamInfo describe(const Section&) const override { return samples_->info; }
  std::unique_ptr<Source> open() const override { return std::make_unique<SampledSource>(samples_); }
  std::optional<RadioRequest> radio() const override { return own_->radio(); }
  std::string path() const override { return own_->path(); }
  std::string calibration() const override { return own_->calibration(); }

 private:
  std::unique_ptr<SourceOptions> own_;
  std::shared_ptr<const Samples> samples_;
};

}  // namespace

std::int64_t Samples::length() const noexcept {
  return static_cast<std::int64_t>(channels.front().size() / size_of(info.element));
}

std::shared_ptr<const Samples> collect_samples(const PipelineSpec& spec, std::int64_t block, bool noise) {
  auto samples = std::make_shared<Samples>();
  const std::int64_t most = kBlocksOfSamples * block;
  if (noise) samples->noise_since = "as requested";
  if (!noise && read_source(spec, *samples, most)) return samples;
  samples->info = spec.source->describe(*spec.source_section);
  if (samples->info.known != StreamInfo::Known::whole)
    throw SetupError(fmt::format("{}: the stream of {} is not known before its first message ({})", spec.name,
                                 spec.driver->name, samples->noise_since));
  make_room(*samples, most);
  fill_noise(*samples);
  return samples;
}

std::shared_ptr<SourceOptions> sampled_source(PipelineSpec& spec, std::shared_ptr<const Samples> samples) {
  return std::make_shared<SampledOptions>(std::move(spec.source), std::move(samples));
}

}  // namespace iqd
