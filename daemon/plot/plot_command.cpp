// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <limits>
#include <memory>

#include "base/clock.hpp"
#include "base/log_terminal.hpp"
#include "daemon/command/commands.hpp"
#include "daemon/plot/bins.hpp"
#include "daemon/plot/file_input.hpp"
#include "daemon/plot/message_piece.hpp"
#include "daemon/plot/picture.hpp"
#include "daemon/plot/plots.hpp"
#include "daemon/plot/text_figure.hpp"
#include "daemon/sub/subscriber_hints.hpp"
#include "daemon/terminal/live_area.hpp"

namespace iqd {
namespace {

using namespace plot;

struct PlotArguments {
  std::string kind;
  std::string output;
  std::string size;  // empty: what fits the figure
  bool once = false;
  double seconds = 0;
  double start = 0;
  std::int64_t channel = -1;
  std::int64_t fft = 4096;
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
  FileKeys file;
  MessageOrigin origin;  // its endpoint may be a file

  bool is_live() const { return origin.endpoint.find("://") != std::string::npos; }
};

std::atomic<bool> plot_stop_asked{false};

Kind kind_of(const std::string& name) {
  if (name == "waterfall") return Kind::waterfall;
  if (name == "constellation") return Kind::constellation;
  if (name == "time") return Kind::time;
  return name == "spectrum" ? Kind::spectrum : Kind::automatic;
}

PictureSize picture_size(const std::string& text, Figure::Kind kind = Figure::Kind::curves) {
  PictureSize size;
  if (text.empty()) return kind == Figure::Kind::points ? PictureSize{760, 790} : size;
  char rest = 0;
  const int read = std::sscanf(text.c_str(), "%dx%d%c", &size.width, &size.height, &rest);
  if (read != 2 || size.width < 300 || size.height < 250 || size.width > 10000 || size.height > 10000)
    throw UsageError(fmt::format("plot: --size {}: expected pixels such as 1200x700, at least 300x250", text));
  return size;
}

/// For the output: rows of a waterfall.
PlotOptions options_of(const PlotArguments& a) {
  PlotOptions options;
  options.fft = a.fft;
  if (!std::isnan(a.low)) options.low = a.low;
  if (!std::isnan(a.high)) options.high = a.high;
  const bool is_picture = !a.output.empty();
  options.rows =
      is_picture ? picture_size(a.size).height / 3 : 2 * std::max(terminal::size_of(STDOUT_FILENO).rows - 5, 1);
  return options;
}

/// Only the channel that was asked for.
void choose_channel(Piece& piece, std::int64_t channel) {
  if (channel < 0) return;
  if (channel >= static_cast<std::int64_t>(piece.rows()))
    throw UsageError(fmt::format("plot: --channel {}: there are {}", channel, piece.rows()));
  const auto only = [&](auto& rows) {
    if (!rows.empty()) rows = {std::move(rows[static_cast<std::size_t>(channel)])};
  };
  only(piece.samples);
  only(piece.values);
}

/// Once, to a file or to standard output.
void put_out(const PlotArguments& a, const Figure& figure) {
  if (!a.output.empty()) {
    write_picture(a.output, figure, picture_size(a.size, figure.kind));
    fmt::print("{}: {}\n", a.output, figure.note);
    return;
  }
  terminal::Size size = terminal::size_of(STDOUT_FILENO);
  size.rows = std::max(size.rows - 1, 6);
  const terminal::Colours colours = terminal::terminal_on(STDOUT_FILENO).colours;
  fmt::print("{}\n", fmt::join(text_figure(figure, size, colours), "\n"));
}

Exit plot_file(const PlotArguments& a) {
  FileInput input(a.origin.endpoint, a.file);
  const double rate = input.info().rate_hz;
  input.skip(static_cast<std::int64_t>(a.start * rate));
  std::int64_t left =
      a.seconds > 0 ? static_cast<std::int64_t>(a.seconds * rate) : std::numeric_limits<std::int64_t>::max();
  PlotOptions options = options_of(a);
  options.is_whole = true;
  options.start_s = a.start;
  std::unique_ptr<Plot> plot;
  while (left > 0) {
    std::optional<Piece> piece = input.next(left);
    if (!piece) break;
    left -= piece->length();
    choose_channel(*piece, a.channel);
    const Kind kind = kind_of(a.kind);
    if (!plot) plot = make_plot(kind == Kind::automatic ? Kind::spectrum : kind, *piece, options);
    plot->add(*piece);
  }
  if (!plot || !plot->has_something())
    throw SetupError(fmt::format("{}: there are too few samples to plot", a.origin.endpoint));
  Figure figure = plot->figure();
  if (!input.has_rate() && figure.kind != Figure::Kind::points)
    figure.note = joined_notes({figure.note, "no rate: give --rate"});
  put_out(a, figure);
  return Exit::ok;
}

/// Draws what arrives on a topic.
class LivePlot {
 public:
  explicit LivePlot(const PlotArguments& a)
      : a_(a),
        once_(a.once || !a.output.empty() || !terminal::terminal_on(STDOUT_FILENO).can_redraw),
        reader_(a.origin),
        watch_(reader_, a.origin, kPatienceNs, steady_ns()) {}

  Exit run() {
    const std::int64_t began = steady_ns();
    std::int64_t next_ns = began + kEveryNs;
    while (!plot_stop_asked && !is_over(steady_ns() - began)) {
      const bool idle = !take_one();
      if (idle) reader_.wait(std::max<std::int64_t>(next_ns - steady_ns(), 0));
      if (steady_ns() < next_ns) continue;
      show(idle);
      next_ns = steady_ns() + kEveryNs;
      busy_ns_ = 0;
    }
    area_.reset();
    if (!plot_ || !plot_->has_something()) {
      for (const std::string& line : watch_.end(steady_ns())) hint(line);
      if (!plot_stop_asked) fmt::print(stderr, "iqd: nothing to plot arrived from {}\n", a_.origin.endpoint);
      return plot_stop_asked ? Exit::ok : Exit::failed;
    }
    if (once_) put_out(a_, plot_->figure());
    return Exit::ok;
  }

 private:
  static constexpr std::int64_t kEveryNs = 100'000'000;
  static constexpr std::int64_t kPatienceNs = 3'000'000'000;
  static constexpr std::int64_t kGiveUpNs = 15'000'000'000;

  /// Once: a second of signal, five of a waterfall, after the first message.
  bool is_over(std::int64_t elapsed_ns) const {
    if (!once_) return a_.seconds > 0 && static_cast<double>(elapsed_ns) >= a_.seconds * 1e9;
    if (first_ns_ == 0) return elapsed_ns >= std::max(kGiveUpNs, static_cast<std::int64_t>(a_.seconds * 1e9));
    const double enough_s = a_.seconds > 0 ? a_.seconds : a_.kind == "waterfall" ? 5 : 1;
    const auto heard_ns = steady_ns() - first_ns_;
    if (!plot_->has_something()) return heard_ns >= kGiveUpNs;
    return static_cast<double>(heard_ns) >= enough_s * 1e9;
  }

  bool take_one() {
    const MessageReader::Came came = reader_.next();
    if (came == MessageReader::Came::nothing) return false;
    const bool is_whole = came == MessageReader::Came::message;
    if (!watch_.wants(reader_.topic(), reader_.bytes(), is_whole ? &reader_.message() : nullptr) || !is_whole)
      return true;
    // A stream too fast for one thread: what is left of the interval would only make the picture late.
    if (busy_ns_ > kEveryNs * 7 / 10) return true;
    const std::int64_t began = steady_ns();
    take(reader_.message());
    busy_ns_ += steady_ns() - began;
    return true;
  }

  void take(const MessageView& message) {
    Piece piece = piece_of(message);
    if (piece.rows() == 0) return;
    choose_channel(piece, a_.channel);
    if (!plot_) plot_ = make_plot(kind_of(a_.kind), piece, options_of(a_));
    if (first_ns_ == 0) first_ns_ = steady_ns();
    plot_->add(piece);
  }

  void hint(const std::string& line) { fmt::print(stderr, "{}{}\n", line.starts_with(' ') ? "" : "iqd: ", line); }

  void show(bool idle) {
    for (std::string& line : watch_.look(steady_ns(), idle)) {
      if (!area_) hint(line);
      last_hint_ = std::move(line);
    }
    if (once_ || !plot_ || !plot_->has_something()) return;
    const terminal::Terminal terminal = terminal::terminal_on(STDOUT_FILENO);
    if (!area_) area_.emplace(STDOUT_FILENO);
    terminal::Size size = terminal::size_of(STDOUT_FILENO);
    size.columns = std::max(size.columns - 1, 20);
    size.rows = std::max(size.rows - 1, 6);
    Figure figure = plot_->figure();
    if (idle && !last_hint_.empty() && reader_.door() && reader_.door()->connected() == 0) figure.note = last_hint_;
    area_->show(text_figure(figure, size, terminal.colours));
  }

  const PlotArguments a_;
  const bool once_;
  MessageReader reader_;
  SubscriberHints watch_;
  std::unique_ptr<Plot> plot_;
  std::optional<terminal::LiveArea> area_;
  std::string last_hint_;
  std::int64_t first_ns_ = 0;
  std::int64_t busy_ns_ = 0;
};

void check(const PlotArguments& a) {
  if (!a.output.empty() && !is_picture(a.output))
    throw UsageError(fmt::format("plot: --output {}: the name must end with .png or .svg", a.output));
  if (!a.output.empty()) picture_size(a.size);
  if (!(a.seconds >= 0 && a.seconds < 1e9) || !(a.start >= 0 && a.start < 1e9))
    throw UsageError("plot: --seconds and --start must be 0 to 1e9");
  if (a.is_live() && a.origin.topic.empty())
    throw UsageError("plot: give a topic; `iqd sub ENDPOINT --all` shows them");
  if (!a.is_live() && !a.origin.topic.empty())
    throw UsageError(fmt::format(
        "plot: {} is a file, which has no topics; an endpoint is tcp://host:port or ipc://path", a.origin.endpoint));
  if (a.is_live()) require_endpoint(a.origin.endpoint);
  if (a.is_live() && a.start > 0) throw UsageError("plot: --start is for files");
  const bool has_keys =
      !a.file.format.empty() || !a.file.rate.empty() || !a.file.frequency.empty() || a.file.channels > 0;
  if (a.is_live() && has_keys)
    throw UsageError("plot: --format, --rate, --frequency and --channels are for files; messages say it themselves");
}

Exit run_plot(PlotArguments a) {
  check(a);
  a.origin.access.curve = !a.origin.access.secret.empty() || !a.origin.access.server.empty();
  if (!a.is_live()) return plot_file(a);
  log::hide_below(log::Level::error);
  struct sigaction act {};
  act.sa_handler = [](int) { plot_stop_asked = true; };
  for (const int s : {SIGINT, SIGTERM}) ::sigaction(s, &act, nullptr);
  return LivePlot(a).run();
}

}  // namespace

void add_plot(CommandLine& line) {
  auto a = std::make_shared<PlotArguments>();
  line.command("plot", "draw a spectrum, a waterfall or a constellation, to the terminal or as a picture",
               [a] { return run_plot(*a); })
      .option("WHAT", &a->origin.endpoint, "a recording, or the address of a publisher, e.g. tcp://127.0.0.1:5555",
              {.required = true})
      .option("TOPIC", &a->origin.topic, "of the publisher")
      .option("--kind", &a->kind, "what to draw, if it is not what fits the data best",
              {.one_of = {"spectrum", "waterfall", "constellation", "time"}})
      .option("--output", &a->output, "write a picture, NAME.png or NAME.svg, and end")
      .option("--size", &a->size, "of the picture in pixels (1200x700; of a constellation 760x790)")
      .option("--once", &a->once, "draw once and end; also if standard output is not a terminal")
      .option("--seconds", &a->seconds, "how much to draw of a recording, or how long to follow a topic")
      .option("--start", &a->start, "seconds of the recording to leave out")
      .option("--channel", &a->channel, "only this one, counted from 0", {.not_negative = true})
      .option("--fft", &a->fft, "most samples of a transform (4096)", {.range = {{16, 1 << 20}}})
      .option("--low", &a->low, "low end of the scale, in dB")
      .option("--high", &a->high, "high end of the scale, in dB")
      .option("--format", &a->file.format, "of a file without metadata, e.g. cs16")
      .option("--rate", &a->file.rate, "of a file that does not say it, e.g. \"2 MS/s\"")
      .option("--frequency", &a->file.frequency, "centre of a file that does not say it, e.g. \"433.92 MHz\"")
      .option("--channels", &a->file.channels, "of a file that does not say it")
      .option("--push", &a->origin.push, "the publisher has `kind: push`")
      .option("--key", &a->origin.access.secret, "file of your secret key, from iqd keygen")
      .option("--server", &a->origin.access.server, "file with the publisher's public key, if it has `curve:`");
}

}  // namespace iqd
