// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "config/array_file.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/modulations.hpp"
#include "pipeline/stages/telemetry/ber_meter/ber_meter.hpp"

namespace iqd::ber_meter {
namespace {

constexpr std::int64_t kLongest = 1 << 24;  // bits of a sequence from a file: its table takes 8 bytes a bit

/// The bits of an array file. Empty if they are wrong.
std::vector<std::uint8_t> read_bits(const std::string& path, const Section& section) {
  std::vector<std::int64_t> numbers;
  std::string why;
  const FoundFile file = find_file(section.place(), path);
  if (!read_array(file.path, numbers, why)) {
    section.problem("sequence", why + file.looked);
    return {};
  }
  const auto bad = std::find_if(numbers.begin(), numbers.end(), [](std::int64_t b) { return b != 0 && b != 1; });
  if (bad != numbers.end())
    why = fmt::format("element {} of {} is {}; every element must be 0 or 1", bad - numbers.begin(), path, *bad);
  else if (numbers.empty() || std::ssize(numbers) > kLongest)
    why = fmt::format("{} has {} bits; it must have 1 to {}", path, numbers.size(), kLongest);
  if (why.empty()) return {numbers.begin(), numbers.end()};
  section.problem("sequence", why);
  return {};
}

std::shared_ptr<const Sequence> sequence_named(const std::string& name, const Section& section) {
  for (const int order : {9, 15, 23})
    if (name == fmt::format("pn{}", order)) return pn_sequence(order);
  if (name.starts_with('@')) {
    const auto bits = read_bits(name.substr(1), section);
    return bits.empty() ? nullptr : periodic_sequence(bits);
  }
  section.problem("sequence", fmt::format("'{}' is neither pn9, pn15, pn23 nor a file such as \"@bits.npy\"", name));
  return nullptr;
}

/// Copies the bits that antennas send out of [point][tx][bit]; returns their number.
std::int64_t take_sent(const Alphabets& antennas, int tx, std::span<const std::uint8_t> bits,
                       std::uint8_t* to) noexcept {
  std::uint8_t* const begin = to;
  for (std::size_t at = 0; at < bits.size();)
    for (int a = 0; a < tx; ++a, at += static_cast<std::size_t>(antennas.most))
      to = std::copy_n(bits.begin() + static_cast<std::ptrdiff_t>(at), antennas.bits(a), to);
  return to - begin;
}

class BerMeterStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    if (in.axis != Axis::counted || !in.rows.empty() || in.item.empty())
      return context.section.problem(
          "", fmt::format("takes the bits of packets, [packet][kind][bit]; its input is {}", in.text()));
    sequence_ = sequence_named(config_.sequence, context.section);
    if (!sequence_) return;
    const std::string& first = in.item[0].name;
    const bool several = in.item.size() > 1, apart = several && (first == "kind" || first == "user");
    kinds_ = apart ? in.item[0].extent : 1;
    packets_ = several && first == "word" ? in.item[0].extent : 1;
    if (!config_.words.empty()) {
      const std::int64_t all = std::accumulate(config_.words.begin(), config_.words.end(), std::int64_t{0});
      if (!several || first != "word" || all != packets_)
        return context.section.problem(
            "words", fmt::format("has {} words in all; its input, {}, has {}", all, in.text(),
                                 several && first == "word" ? fmt::format("{}", packets_) : "no words"));
      users_ = std::ssize(config_.words);
      user_of_.clear();
      for (std::int64_t u = 0; u < users_; ++u)
        user_of_.insert(user_of_.end(), static_cast<std::size_t>(config_.words[static_cast<std::size_t>(u)]), u);
    }
    const std::int64_t bits = in.item_size() / (kinds_ * packets_);
    if (bits < sequence_->window())
      context.section.problem("sequence", fmt::format("needs packets of {} bits or more to align them; they have {}",
                                                      sequence_->window(), bits));
    if (!set_antennas(context)) return;
    if (!context.in[kIterations].item.empty() && context.in[kIterations].item_size() != packets_)
      return context.section.problem("", fmt::format("input 'iterations' has to be [frame][word {}]; it is {}",
                                                     packets_, context.in[kIterations].text()));
    words_ = PackedBits::words_for(bits);
    context.scratch_bytes = static_cast<std::size_t>(words_) * sizeof(std::uint64_t);
    if (antennas_.most > 0) context.scratch_bytes += static_cast<std::size_t>(bits);
    context.out[0].tally(kEvents);
    if (apart) context.out[0].item.push_back(in.item[0]);
    if (users_ > 0) context.out[0].item.push_back({"user", users_});
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    require_cpu(backend, "ber_meter has no code for a GPU: leave its `backend` out");
    return cpu_run([sequence = sequence_, kinds = kinds_, packets = packets_, words = words_, users = users_,
                    user_of = user_of_, antennas = antennas_, tx = tx_](const StageIo& io) noexcept {
      const PortIo& in = io.in[0];
      const std::span report(io.out[0].row<std::int64_t>(), static_cast<std::size_t>(io.out[0].item));
      const std::span scratch(reinterpret_cast<std::uint64_t*>(io.scratch), static_cast<std::size_t>(words));
      std::fill(report.begin(), report.end(), 0);
      const auto* const bits = in.row<const std::uint8_t>();
      const std::int64_t size = in.item / packets;
      const auto* const sent = io.in.size() > kModulation ? io.in[kModulation].row<const std::uint8_t>() : nullptr;
      const auto* const iterations =
          io.in.size() > kIterations ? io.in[kIterations].row<const std::int32_t>() : nullptr;
      std::int64_t own[std::size(kEvents)] = {};
      for (std::int64_t p = 0; p < *in.count * packets; ++p) {
        std::span packet(bits + p * size, static_cast<std::size_t>(size));
        if (iterations && iterations[p] == 0) continue;
        if (antennas.most > 0) {
          const Alphabets of_frame = antennas.with(sent ? sent + p * tx : nullptr, tx);
          auto* const taken = reinterpret_cast<std::uint8_t*>(io.scratch) + scratch.size_bytes();
          packet = {taken, static_cast<std::size_t>(take_sent(of_frame, tx, packet, taken))};
          if (std::ssize(packet) < sequence->window()) continue;
        }
        if (users == 0) {
          count_packets(*sequence, packet, kinds, report, scratch);
          continue;
        }
        std::ranges::fill(own, 0);
        count_packets(*sequence, packet, 1, own, scratch);
        const auto user = static_cast<std::size_t>(user_of[static_cast<std::size_t>(p % packets)]);
        for (std::size_t e = 0; e < std::size(kEvents); ++e)
          report[e * static_cast<std::size_t>(users) + user] += own[e];
      }
      *io.out[0].count = 1;
    });
  }

 private:
  enum Input : std::size_t { kModulation = 1, kIterations };

  /// Antennas whose points have fewer bits than there is room for; false if it reported a problem.
  bool set_antennas(const ShapeContext& context) {
    antennas_ = {};
    const PortShape &in = context.in[0], &sent = context.in[kModulation];
    if (config_.modulation.empty() && sent.item.empty()) return true;
    if (kinds_ * packets_ != 1) {
      context.section.problem("modulation", fmt::format("is for bits of antennas, not of {}", in.item[0].name));
      return false;
    }
    const auto antennas = dsp::antennas_of(config_.modulation, in, sent, context.section);
    if (!antennas) return false;
    antennas_ = *antennas;
    tx_ = static_cast<int>(in.item[in.item.size() - 2].extent);
    return true;
  }

  std::shared_ptr<const Sequence> sequence_;
  std::int64_t kinds_ = 1;
  std::int64_t packets_ = 1;  // of an item
  std::int64_t words_ = 0;
  std::int64_t users_ = 0;             // whose words are counted apart
  std::vector<std::int64_t> user_of_;  // [packet]
  Alphabets antennas_{};               // most is 0 unless they differ
  int tx_ = 0;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("sequence", sequence,
          {.help = "expected bits: pn9, pn15, pn23, or a file with a 0 or 1 for each bit, such as \"@bits.npy\"",
           .required = true});
  v.field(
      "words", words,
      {.help = "of [frame][word][bit], how many words of a frame each user has, as [3, 6, 3]: users are then counted "
               "apart",
       .low = 1});
  v.field(
      "modulation", modulation,
      {.help = "of [frame][…][tx][bit], which modulation each antenna has: bits that it does not send are left out"});
}

StageEntry entry() {
  return {
      .family = "telemetry",
      .name = "ber_meter",
      .summary = "counts bit and packet errors against a known sequence",
      .inputs =
          {{.name = "in",
            .elements = {Element::u8},
            .dims = "[packet][kind][bit]",
            .nested = true,
            .example = {{"kind", 2}, {"bit", 6144}}},
           {.name = "modulation", .elements = {Element::u8}, .dims = "[frame][tx]", .optional = true, .nested = true},
           {.name = "iterations",
            .elements = {Element::i32},
            .dims = "[frame][word]",
            .optional = true,
            .nested = true}},
      .outputs = {{.name = "report", .tally = kEvents}},
      .make = make_stage<BerMeterStage>,
      .sample = "ber_meter: {sequence: pn15}",
      .host_only = true,
      .tolerance = 0};
}

}  // namespace iqd::ber_meter
