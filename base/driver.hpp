// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/block.hpp"
#include "base/need.hpp"
#include "base/shape.hpp"

namespace iqd {

class FieldVisitor;  // config/fields.hpp
class Section;       // config/fields.hpp

/// What a stream of samples is: as asked before the source is open, as granted afterwards.
struct StreamInfo {
  Element element = Element::sc16;
  int channels = 1;
  double rate_hz = 0;
  double frequency_hz = 0;
  TimeSource time = TimeSource::host;
  bool can_wait = false;    // may be read late without loss: a file, not a radio
  bool reconnects = false;  // worth opening again after it failed
  std::string hardware{};   // what a recording says of the radio: `USRP E320 3150a2f, firmware 4.3, FPGA 8.2`
  double full_scale = 0;    // a sample's part is this at most; 0: what its element holds, or nobody knows
};

/// What one call of `receive` brought.
struct Received {
  enum class Event : std::uint8_t {
    samples,   // `samples` of each channel were written (may be fewer than asked)
    nothing,   // none came within the time that a call may take
    overflow,  // the driver says that it lost samples; how many the next time stamp tells
    late,      // something came after the time it was meant for, and samples were lost over it; the same
    sequence,  // packets of samples were lost on the way to the driver; the same
    end,       // a finite source has no more
    failed,    // the device is gone: close, open again
  };
  Event event = Event::nothing;
  std::int64_t samples = 0;
  std::int64_t lost = 0;  // known to be missing just before these samples
  bool has_time = false;
  std::int64_t time_ns = 0;  // of the first of them
  /// A piece ends here: what comes next has another time, and no past, and nothing is missing. With `nothing`: there
  /// is no next one yet, and that is as it should be.
  bool ends = false;
  /// From this one of the samples on what they came from is set otherwise, as `info` tells now; -1: it is as before.
  std::int64_t tuned = -1;
};

class SourceOptions;

/// A radio, a file, a socket: something that samples come out of. Opened by SourceOptions::open, closed by its
/// destructor; used by one thread, except for `interrupt`.
class Source {
 public:
  virtual ~Source() = default;
  virtual StreamInfo info() const = 0;
  /// Waits up to about 100 ms, then writes up to `most` samples of channel c to `into[c]`. A driver's exception is
  /// the same as `failed`.
  virtual Received receive(std::span<std::byte* const> into, std::int64_t most) = 0;
  /// Takes over the live keys of `options`, which are of the kind that opened it; between two calls of `receive`.
  /// Throws where the device refuses; then everything is as it was. Returns the time, on the clock of its time stamps,
  /// from which on samples are taken as asked, where it can tell: what waits in buffers was taken before. `info` tells
  /// of the new frequency at once.
  virtual std::optional<std::int64_t> retune(const SourceOptions& options);
  /// From another thread: makes a waiting `receive` return soon.
  virtual void interrupt() noexcept {}
};

/// A column of facts about the items of a message: the key in each item's JSON object, and one value an item.
struct FactColumn {
  std::string_view key;
  Element element = Element::f32;
  const std::byte* values = nullptr;
  /// Of a position in a stream (i64): positions for so many samples of the source, to which it is turned into.
  std::int64_t positions = 1;
  std::int64_t samples = 1;
};

/// Why something is recorded now: where in the samples the reason lies.
struct Trigger {
  std::string_view reason;  // the condition, or the event's name
  std::int64_t number = 0;  // counted from 1
  std::int64_t first = 0;   // item, counted from the message's first; may be of a message that is still to come
  std::int64_t items = 1;   // that it was found in
  std::int64_t time_ns = 0;
};

/// One result that leaves: the payload stays where it is until the last reader has let go of it.
struct Message {
  const PortFormat* format = nullptr;
  std::uint64_t seq = 0;      // counts the messages of this port
  std::uint64_t block = 0;    // that it is a result of, counted from the pipeline's start
  std::int64_t samples = 0;   // of that block
  SampleIndex sample = 0;     // source index that the first element belongs to
  std::int64_t position = 0;  // of the first element, in items of the port's stream since it began
  std::int64_t time_ns = 0;   // of that sample
  TimeSource time = TimeSource::host;
  std::int64_t extent = 0;   // of the varying dimension
  std::int64_t gap = 0;      // samples lost just before this block
  std::int64_t dropped = 0;  // samples lost since the start
  std::int64_t halo = 0;     // samples of past that were used
  double retuned_hz = 0;     // how far the radio is tuned from where the format has it
  SampleIndex tuned = -1;    // from this sample on the radio is set otherwise, in the first message behind; or -1
  bool calibrated = false;   // of a format that says `calibrated`: its calibration was applied
  const Trigger* trigger = nullptr;  // what a recording begins for with this message; there while it is sent
  std::span<const std::byte> payload;
  std::span<const FactColumn> facts;

  double frequency_hz() const noexcept { return format->frequency_hz + retuned_hz; }
};

/// What a transmitter complained of so far.
struct SinkCounts {
  std::uint64_t underflows = 0;
  std::uint64_t late = 0;
  std::uint64_t sequence_errors = 0;
};

/// Somewhere that results go to: a file, a radio's transmitter, a socket. Used by one thread, except for `interrupt`
/// and `counts`.
class Sink {
 public:
  virtual ~Sink() = default;
  /// False: it could not be taken now and is lost. Throws when the sink cannot go on.
  virtual bool send(const Message& message) = 0;
  /// The stream has ended: write out what is still held.
  virtual void finish() {}
  virtual SinkCounts counts() const noexcept { return {}; }
  virtual void interrupt() noexcept {}
};

/// A radio as the configuration asks for it, whichever way its samples go; what it does not say is not known.
struct RadioRequest {
  std::string args;                    // the device's
  std::vector<std::int64_t> channels;  // of the radio, in the order of the stream
  double rate_hz = 0;
  double frequency_hz = 0;
  std::optional<double> gain_db;
  std::map<std::string, std::string> gains{};  // of elements, as written
  bool agc = false;                            // the radio sets its gain itself
  std::string antenna;
  std::optional<double> bandwidth_hz;
  bool resample = false;  // where the radio grants another rate, its stream is brought to the asked one
  double wire_bytes = 4;  // of a sample between radio and host
};

/// The configuration of a source, and the way to open it. Several threads may not use one at once.
class SourceOptions {
 public:
  virtual ~SourceOptions() = default;
  virtual void fields(FieldVisitor& visitor) = 0;
  /// The stream as far as the configuration (and the file, where there is one) tells, without opening a device.
  /// What is wrong goes to the section.
  virtual StreamInfo describe(const Section& section) const = 0;
  virtual std::unique_ptr<Source> open() const = 0;
  /// What nobody else can have while it is open, in words that are the same for the same thing: a radio's channel.
  virtual std::vector<std::string> claims() const { return {}; }
  /// A look, a second at most, while a device that failed is waited for: whether it can be seen. When it comes back it
  /// is opened at once. True where that cannot be said without opening it.
  virtual bool is_there() const { return true; }
  /// Seconds that opening may take longer than any other call into the driver: it waits for locks.
  virtual double opening_wait_s() const { return 0; }
  /// What it takes of the host beside what the driver's own library does, of a stream of this kind. Opens nothing.
  virtual Needs needs(const StreamInfo& /*stream*/) const { return {}; }
  /// The radio that it opens; none where it opens something else.
  virtual std::optional<RadioRequest> radio() const { return std::nullopt; }
  /// The file that it plays; empty where it plays none.
  virtual std::string path() const { return {}; }
  /// The file with the table that `iqd calibrate` has made of its channels; empty where none is named.
  virtual std::string calibration() const { return {}; }
};

/// What a source's `retune` gets, as the kind of options that opened that source.
template <class Options> const Options& same_kind(const SourceOptions& options) {
  return dynamic_cast<const Options&>(options);
}

class SinkOptions {
 public:
  virtual ~SinkOptions() = default;
  virtual void fields(FieldVisitor& visitor) = 0;
  /// Whether this port can go there; what is wrong goes to the section.
  virtual void check(const PortFormat& format, const Section& section) const = 0;
  virtual std::unique_ptr<Sink> open(const PortFormat& format) const = 0;
  /// As a source's.
  virtual std::vector<std::string> claims() const { return {}; }
  /// Whether a sink that threw is worth opening again.
  virtual bool reconnects() const { return false; }
  /// As a source's.
  virtual double opening_wait_s() const { return 0; }
  /// What stays when it is closed, and keeps it from being opened again: a recording that may not be overwritten.
  /// Empty: nothing does.
  virtual std::string keeps() const { return {}; }
  /// Bytes of messages that may wait in memory, copied, while the sink is busy and the stream cannot wait.
  virtual std::int64_t buffer_bytes() const { return 0; }
  /// As a source's.
  virtual Needs needs(const PortFormat& /*format*/) const { return {}; }
  /// As a source's.
  virtual std::optional<RadioRequest> radio() const { return std::nullopt; }
  /// The file that it makes; empty where it makes none.
  virtual std::string path() const { return {}; }
};

/// Something that a driver can see: a label, and facts as pairs. A fact `error` says why it cannot be opened.
struct FoundDevice {
  std::string label;
  std::vector<std::pair<std::string, std::string>> facts;
};

/// A driver as `source:` and `sinks:` name it. What it cannot do is null.
struct DriverEntry {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<SourceOptions> (*make_source)() = nullptr;
  std::unique_ptr<SinkOptions> (*make_sink)() = nullptr;
  /// All devices that can be found; with device arguments those that they mean, found or not. Throws where there is
  /// none at them.
  std::vector<FoundDevice> (*probe)(const std::string& args) = nullptr;
};

}  // namespace iqd
