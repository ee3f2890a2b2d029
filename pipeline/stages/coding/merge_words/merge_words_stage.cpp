// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "pipeline/stages/coding/merge_words/merge_words.hpp"

namespace iqd::merge_words {
namespace {

class MergeWordsStage final : public Stage {
 public:
  void fields(FieldVisitor&) override {}

  void shape(ShapeContext& context) override {
    const auto in = context.in;
    setup_.words = in[kFailedFirst].item_size();
    setup_.k = setup_.words > 0 ? in[kFirst].item_size() / setup_.words : 0;
    if (setup_.k < 1 || in[kFirst].item_size() != setup_.words * setup_.k)
      return context.section.problem(
          "", fmt::format("input 'bits' has to be [frame][word][k] with the {} words of 'failed'; it is {}",
                          setup_.words, in[kFirst].text()));
    if (in[kAgain].item_size() != in[kFirst].item_size() || in[kFailedAgain].item_size() != setup_.words)
      return context.section.problem(
          "",
          fmt::format("inputs 'again' and 'failed_again' have to have the words of 'bits' and 'failed'; they are {} "
                      "and {}",
                      in[kAgain].text(), in[kFailedAgain].text()));
    setup_.counts = !in[kIterations].item.empty();
    if (setup_.counts && in[kIterations].item_size() != setup_.words)
      return context.section.problem(
          "", fmt::format("input 'iterations' has to have the words of 'failed'; it is {}", in[kIterations].text()));
    context.out[kFailedWords].hold(Element::u8, in[kFailedFirst].item);
    context.out[kTally].tally(kEvents);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "merge_words")) return cuda(setup_);
    return cpu_run([setup = setup_](const StageIo& io) noexcept {
      const Job job = job_of(setup, io);
      const std::int64_t frames = job.frames(), retries = job.retries();
      std::int64_t before = 0, after = 0, words = 0;
      for (std::int64_t f = 0, retry = 0; f < frames; ++f) {
        const bool again = job.failed.any(f) && retry < retries;
        for (std::int64_t w = 0; w < setup.words; ++w) {
          const std::int64_t at = f * setup.words + w, other = retry * setup.words + w;
          const bool failed = job.failed.word(f, w), replaced = failed && again;
          std::copy_n(replaced ? job.again + other * setup.k : job.first + at * setup.k, setup.k,
                      job.bits + at * setup.k);
          job.failed_after[at] = failed && !(replaced && job.failed_again[other] == 0);
          words += job.is_there(at);
          before += failed;
          after += job.failed_after[at];
        }
        retry += again;
      }
      job.put_counts(frames, words, before, after);
    });
  }

 private:
  Setup setup_;
};

}  // namespace

StageEntry entry() {
  const auto input = [](std::string_view name, std::string_view dims, std::vector<Dim> example) {
    return InputSpec{
        .name = name, .elements = {Element::u8}, .dims = dims, .nested = true, .example = std::move(example)};
  };
  return {.family = "coding",
          .name = "merge_words",
          .summary = "puts the words of a second pass in the place of those that failed",
          .inputs = {input("bits", "[frame][word][k]", {{"word", 5}, {"k", 1152}}),
                     input("failed", "[frame][word]", {{"word", 5}}),
                     input("again", "[retry][word][k]", {{"word", 5}, {"k", 1152}}),
                     input("failed_again", "[retry][word]", {{"word", 5}}),
                     {.name = "iterations",
                      .elements = {Element::i32},
                      .dims = "[frame][word]",
                      .optional = true,
                      .nested = true}},
          .outputs = {{.name = "bits"}, {.name = "failed"}, {.name = "events", .tally = kEvents}},
          .make = make_stage<MergeWordsStage>,
          .sample = "merge_words:",
          .tolerance = 0};
}

}  // namespace iqd::merge_words
