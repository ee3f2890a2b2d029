// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "config/quantity.hpp"
#include "daemon/command/commands.hpp"
#include "daemon/record/recording.hpp"
#include "radio/file/file_source.hpp"
#include "radio/file/name_hints.hpp"
#include "radio/file/recording_sink.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kConvertedPiece = 65536;  // samples

struct ConvertOptions {
  std::string in, out;
  std::string in_format, rate, frequency;
  std::int64_t channels = 0;
  double skip = 0, seconds = 0;
  radio::FileSinkSettings sink;
};

double quantity_of(const char* option, const std::string& text, Unit unit) {
  std::string why;
  const auto value = parse_quantity(text, unit, why);
  if (!value || !(*value >= 0))
    throw UsageError(fmt::format("convert: {}: {}", option, why.empty() ? "0 or more" : why));
  return *value;
}

radio::RecordingKeys input_keys(const ConvertOptions& o) {
  radio::RecordingKeys keys{
      .format = o.in_format,
      .channels = o.channels,
      .wording = {"give --rate, such as --rate \"2.4 MS/s\"", "give --in-format (and --rate)"},
  };
  if (!o.rate.empty()) keys.rate_hz = quantity_of("--rate", o.rate, Unit::rate);
  if (!o.frequency.empty()) keys.frequency_hz = quantity_of("--frequency", o.frequency, Unit::hertz);
  return keys;
}

void refuse_same_file(const ConvertOptions& o) {
  for (const std::string& in : radio::recording_files(o.in))
    for (const std::string& out : radio::recording_files(o.out)) {
      std::error_code ignored;
      if (std::filesystem::equivalent(in, out, ignored))
        throw UsageError(fmt::format("convert: {} is the file being read; choose another path", o.out));
    }
}

PortFormat port_of(const StreamInfo& stream) {
  PortFormat port;
  port.pipeline = "convert";
  port.port = "source";
  port.element = stream.element;
  if (stream.channels > 1) port.dims.push_back({"channel", stream.channels});
  port.dims.push_back({"n", kConvertedPiece});
  port.varying = static_cast<int>(port.dims.size()) - 1;
  port.rate_hz = port.item_rate_hz = stream.rate_hz;
  port.frequency_hz = stream.frequency_hz;
  port.hardware = stream.hardware;
  return port;
}

/// Reads a source as messages, [channel][n], from its sample `first` on.
class Messages {
 public:
  Messages(Source& source, const PortFormat& port, std::int64_t first, std::int64_t most)
      : source_(source), port_(port), skipped_(first), left_(most), size_(size_of(port.element)) {
    rows_ = static_cast<std::size_t>(port.dims.size() == 2 ? port.dims.front().extent : 1);
    memory_.resize(rows_ * static_cast<std::size_t>(kConvertedPiece) * size_);
    for (std::size_t r = 0; r < rows_; ++r)
      into_.push_back(memory_.data() + r * static_cast<std::size_t>(kConvertedPiece) * size_);
  }

  /// False at the end.
  bool next(Message& message) {
    for (;;) {
      const std::int64_t wanted = std::min(skipped_ > 0 ? skipped_ : left_, kConvertedPiece);
      if (wanted == 0) return false;
      const Received got = source_.receive(into_, wanted);
      if (got.event == Received::Event::failed) throw SetupError("the recording cannot be read any further");
      if (got.event == Received::Event::end) return false;
      if (got.event != Received::Event::samples) continue;
      sample_ += got.lost;
      const SampleIndex first = sample_;
      sample_ += got.samples;
      if (skipped_ > 0) {
        skipped_ -= got.samples;
        continue;
      }
      fill(message, got, first);
      left_ -= got.samples;
      return true;
    }
  }

 private:
  void fill(Message& m, const Received& got, SampleIndex first) {
    const std::size_t row = static_cast<std::size_t>(got.samples) * size_;
    for (std::size_t r = 1; r < rows_; ++r) std::memmove(memory_.data() + r * row, into_[r], row);
    m.format = &port_;
    m.sample = first;
    m.position = taken_;
    m.gap = taken_ > 0 ? got.lost : 0;
    m.time_ns = got.has_time ? got.time_ns : 0;
    m.time = got.has_time ? TimeSource::radio : TimeSource::host;
    m.extent = got.samples;
    m.retuned_hz = source_.info().frequency_hz - port_.frequency_hz;
    m.tuned = got.tuned >= 0 ? first + got.tuned : -1;
    m.payload = std::span<const std::byte>(memory_).first(rows_ * row);
    taken_ += got.samples;
  }

  Source& source_;
  const PortFormat& port_;
  std::int64_t skipped_, left_;
  std::size_t size_;
  std::size_t rows_ = 1;
  std::vector<std::byte> memory_;
  std::vector<std::byte*> into_;
  SampleIndex sample_ = 0;
  std::int64_t taken_ = 0;
};

void say(const std::string& text) {
  fmt::print(stderr, "iqd: {}\n", text);
}

/// The annotations of the samples from `first` on.
std::vector<radio::SigmfAnnotation> annotations_from(const radio::Recording& recording, std::int64_t first) {
  std::vector<radio::SigmfAnnotation> kept;
  for (radio::SigmfAnnotation a : recording.annotations) {
    if (first > 0 && a.end() <= first) continue;
    const std::int64_t start = std::max<std::int64_t>(a.sample_start - first, 0);
    a.sample_count = a.sample_count > 0 ? a.end() - first - start : 0;
    a.sample_start = start;
    kept.push_back(std::move(a));
  }
  return kept;
}

/// What the other kind of file cannot hold. Sinks log what they find while they write.
void say_what_is_lost(const ConvertOptions& o, const radio::Recording& from, const StreamInfo& stream) {
  using radio::Container;
  const Container to = radio::container_of(o.out);
  const bool keeps = to == Container::sigmf || to == Container::archive;
  if (!from.annotations.empty() && !keeps)
    say(fmt::format("{}: its annotations are not kept ({})", o.out, from.annotations.size()));
  const bool has_labels = !(from.author + from.description + from.hardware).empty();
  if (has_labels && (to == Container::wav || to == Container::raw))
    say(fmt::format("{}: author, description and hardware are not kept", o.out));
  const radio::Number number = from.format->number;
  if (number == radio::Number::f64 || number == radio::Number::i32 || number == radio::Number::u32)
    say(fmt::format("{}: {} is rounded to single precision", o.in, from.format->name));
  if (to != Container::raw) return;
  const radio::NameHints hints = radio::hints_in(o.out);
  std::string lost;
  const auto add = [&](const std::string& what) { lost += (lost.empty() ? "" : ", ") + what; };
  if (hints.rate_hz != stream.rate_hz) add(fmt::format("rate ({} S/s)", stream.rate_hz));
  if (stream.frequency_hz != 0 && hints.frequency_hz != stream.frequency_hz)
    add(fmt::format("frequency ({} Hz)", stream.frequency_hz));
  if (from.has_time && !hints.time) add("time");
  if (stream.channels > 1) add(fmt::format("number of channels ({})", stream.channels));
  if (!lost.empty()) say(fmt::format("{}: a raw file cannot say: {}", o.out, lost));
}

Exit convert(ConvertOptions o) {
  if (!(o.skip >= 0 && o.skip < 1e9 && o.seconds >= 0 && o.seconds < 1e9))
    throw UsageError("convert: --skip and --seconds must be 0 to 1e9");
  const radio::RecordingKeys keys = input_keys(o);
  std::vector<std::string> problems;
  radio::Recording recording = radio::read_recording(o.in, problems, keys);
  if (problems.empty() && recording.samples() == 0) problems.push_back(recording.data + ": holds no samples");
  for (const std::string& p : problems) say(p);
  if (!problems.empty()) return Exit::configuration;
  refuse_same_file(o);
  refuse_existing("convert", o.out, o.sink.overwrite);
  if (o.sink.author.empty()) o.sink.author = recording.author;
  if (o.sink.description.empty()) o.sink.description = recording.description;
  o.sink.path = o.out;
  radio::FileSource source(std::move(recording), {});
  const StreamInfo stream = source.info();
  const PortFormat port = port_of(stream);
  if (const std::string why = radio::unrecordable(o.sink, port); !why.empty()) throw UsageError("convert: " + why);
  const auto samples = [&](double seconds) { return std::llround(std::min(seconds * stream.rate_hz, 9e15)); };
  o.sink.annotations = annotations_from(source.recording(), samples(o.skip));
  const auto sink = radio::open_recording_sink(o.sink, port);
  Messages messages(source, port, samples(o.skip),
                    o.seconds > 0 ? std::max<std::int64_t>(samples(o.seconds), 1) : std::int64_t{1} << 62);
  std::int64_t written = 0;
  for (Message message; messages.next(message); written += message.extent)
    if (!sink->send(message)) return Exit::failed;  // the sink has logged why
  sink->finish();
  say_what_is_lost(o, source.recording(), stream);
  fmt::print(stderr, "{}: {} samples\n", o.out, written);
  if (written == 0)
    say(fmt::format("convert: --skip {} leaves out all of the {} s that {} has", o.skip,
                    static_cast<double>(source.recording().samples()) / stream.rate_hz, o.in));
  return written > 0 ? Exit::ok : Exit::failed;
}

}  // namespace

void add_convert(CommandLine& line) {
  auto o = std::make_shared<ConvertOptions>();
  line.command("convert", "convert a recording into another file: SigMF, WAV, NumPy or raw, by its name",
               [o] { return convert(*o); })
      .option("IN", &o->in, "recording: SigMF, WAV, .npy, or raw samples", {.required = true})
      .option("OUT", &o->out, "NAME.sigmf-meta, NAME.sigmf, NAME.wav, NAME.npy, NAME.cu8, NAME.cs16 …",
              {.required = true})
      .option("--format", &o->sink.format, "samples of OUT: cu8, cs8, cs16, cf32 … (by its name, or as IN has them)")
      .option("--in-format", &o->in_format, "samples of IN, if it is raw and its name does not say it")
      .option("--rate", &o->rate, "sample rate of IN, if it does not say it, or says a wrong one; e.g. \"2.4 MS/s\"")
      .option("--frequency", &o->frequency, "centre frequency of IN; the same")
      .option("--channels", &o->channels, "channels of IN, if it is raw or WAV", {.range = {{0, 1000}}})
      .option("--skip", &o->skip, "seconds of IN to leave out at its beginning")
      .option("--seconds", &o->seconds, "seconds to convert (all)")
      .option("--overwrite", &o->sink.overwrite, "replace an existing file")
      .option("--description", &o->sink.description, "written into the recording (as IN has it)")
      .option("--author", &o->sink.author, "written into the recording (as IN has it)")
      .option("--hw", &o->sink.hardware, "written into the recording: radio and antenna (as IN has it)");
}

}  // namespace iqd
