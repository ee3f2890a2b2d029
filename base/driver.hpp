// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "base/block.hpp"
#include "base/claim.hpp"
#include "base/device_key.hpp"
#include "base/need.hpp"
#include "base/played_window.hpp"
#include "base/shape.hpp"

namespace iqd {

class FieldVisitor;  // config/fields.hpp
class Section;       // config/fields.hpp

/// Properties of a stream: as requested before the source is open, as granted afterwards.
struct StreamInfo {
  /// What is known before the source is open. `type`: the element and the channels, but not the rate.
  enum class Known : std::uint8_t { whole, type, nothing };

  Element element = Element::sc16;
  int channels = 1;
  double rate_hz = 0;
  double frequency_hz = 0;
  TimeSource time = TimeSource::host;
  bool can_wait = false;    // can be read late without loss: a file, not a radio
  bool reconnects = false;  // worth opening again after a failure
  bool from_peer = false;   // others feed it: it can wait, but is not meant to fall silent
  std::string hardware{};   // for recordings: `USRP E320 3150a2f, firmware 4.3, FPGA 8.2`
  double full_scale = 0;    // largest real or imaginary part; 0: its element's range, or unknown
  std::int64_t edges = 0;   // its results begin and end at multiples of so many samples; 0: at the stream's ends
  Known known = Known::whole;
};

/// The result of one call of `receive`.
struct Received {
  enum class Event : std::uint8_t {
    samples,   // `samples` of each channel were written (may be fewer than requested)
    nothing,   // none arrived within the time that a call may take
    overflow,  // the driver lost samples; the next time stamp shows how many
    late,      // something arrived too late, which lost samples; the same
    sequence,  // packets were lost on the way to the driver; the same
    end,       // a finite source has no more
    failed,    // the device failed: close it and open it again
  };
  Event event = Event::nothing;
  std::int64_t samples = 0;
  std::int64_t lost = 0;  // known to be missing just before these samples
  bool has_time = false;
  std::int64_t time_ns = 0;  // of the first sample
  /// The same, however the stream is cut into calls: the sample so many before the first has this time. 0: no other
  /// sample's is known.
  std::int64_t since = 0;
  std::int64_t since_ns = 0;
  /// A piece ends here: the next samples have another time and no past, and nothing is missing. With `nothing`: the
  /// next piece is not due yet.
  bool ends = false;
  /// The source was retuned from this sample on, and `info` has the new setting; -1: no retune.
  std::int64_t tuned = -1;
  /// What was at these places before is delivered again, for a bench: its levels are not measured again.
  bool again = false;
};

/// What the blocks of a stream are made of: `past` and `future` are what each needs before and after it.
struct BlockNeeds {
  std::int64_t block = 0;
  std::int64_t past = 0;
  std::int64_t future = 0;
};

/// The part of a stream that becomes results. Samples are counted from the beginning of the whole stream.
struct Excerpt {
  SampleIndex at = 0;     // the first sample that the source delivers; what lies before blocks is only past
  std::int64_t warm = 0;  // blocks begin so many samples before `first`, to let stages with a state settle
  SampleIndex first = 0;  // of the results
  SampleIndex end = std::numeric_limits<SampleIndex>::max();  // of the results; what follows is only future
};

class SourceOptions;

/// Where samples come from: a radio, a file, a socket. Opened by SourceOptions::open, closed by its destructor; used by
/// one thread, except for `interrupt`.
class Source {
 public:
  virtual ~Source() = default;
  virtual StreamInfo info() const = 0;
  /// A pipeline calls it once, before the first `receive`. A source that plays a part of something then delivers what
  /// blocks need around it as well, as far as it has that, and `info` has the frequency before `at`. Without the call,
  /// it delivers only the part.
  virtual Excerpt excerpt(const BlockNeeds& /*needs*/) { return {}; }
  /// Waits up to about 100 ms, then writes up to `most` samples of channel c to `into[c]`. A driver's exception
  /// counts as `failed`.
  virtual Received receive(std::span<std::byte* const> into, std::int64_t most) = 0;
  /// Applies the live keys of `options`, which have the type that opened it; called between two calls of `receive`.
  /// Throws if the device refuses, and NotNow if it does not answer; then nothing has changed. Returns the time, on the
  /// clock of its time stamps, from which on samples have the new setting, if known: samples in buffers still have the
  /// old one. `info` shows the new frequency at once.
  virtual std::optional<std::int64_t> retune(const SourceOptions& options);
  /// The device's settings, as read when it was opened or last retuned; asks no device. Empty if it is no radio.
  virtual DeviceKeys device_keys() const { return {}; }
  /// From another thread: makes a waiting `receive` return soon.
  virtual void interrupt() noexcept {}
};

/// A column of facts about the items of a message: the key in each item's JSON object, and one value for each item.
struct FactColumn {
  std::string_view key;
  Element element = Element::f32;
  const std::byte* values = nullptr;
  /// For a position in a stream (i64): so many positions are so many source samples, into which it is converted.
  std::int64_t positions = 1;
  std::int64_t samples = 1;
};

/// Why something is recorded now, and at which samples.
struct Trigger {
  std::string_view reason;  // the condition, or the event's name
  std::int64_t number = 0;  // counted from 1
  std::int64_t first = 0;   // item, counted from the message's first; may be in a later message
  std::int64_t items = 1;   // number of items that it was found in
  std::int64_t time_ns = 0;
};

/// One result to be sent: the payload stays in place until the last reader has released it.
struct Message {
  const PortFormat* format = nullptr;
  std::uint64_t seq = 0;      // counts the messages of this port
  std::uint64_t block = 0;    // number of the block, from the pipeline's start
  std::int64_t samples = 0;   // length of that block
  SampleIndex sample = 0;     // source sample of the first element
  std::int64_t position = 0;  // of the first element, in items since the port's stream began
  std::int64_t time_ns = 0;   // of that sample
  TimeSource time = TimeSource::host;
  std::int64_t extent = 0;           // of the varying dimension
  std::int64_t gap = 0;              // samples lost just before this block
  std::int64_t dropped = 0;          // samples lost since the start
  std::int64_t halo = 0;             // past samples that were used
  double retuned_hz = 0;             // frequency offset from the format's, at the end of the block
  double was_retuned_hz = 0;         // the same before `tuned`
  double respanned_hz = 0;           // offset of the span from the format's
  SampleIndex tuned = -1;            // the radio was retuned from this sample on, in the first message after it; or -1
  bool calibrated = false;           // for a format with `calibrated`: the calibration was applied
  const Trigger* trigger = nullptr;  // what starts a recording with this message; valid during `send`
  std::span<const std::byte> payload;
  std::span<const FactColumn> facts;

  /// The radio frequency of the items' 0 Hz.
  double frequency_hz() const noexcept { return format->frequency_hz + retuned_hz; }
  /// The same for items before `tuned`.
  double was_at_hz() const noexcept { return format->frequency_hz + was_retuned_hz; }
  double span_hz() const noexcept { return format->span_hz + respanned_hz; }
};

/// Problems that a transmitter has reported so far.
struct SinkCounts {
  std::uint64_t underflows = 0;
  std::uint64_t late = 0;
  std::uint64_t sequence_errors = 0;
};

/// Where results go: a file, a radio's transmitter, a socket. Used by one thread, except for `interrupt`, `counts` and
/// `device_keys`.
class Sink {
 public:
  virtual ~Sink() = default;
  /// False: the message could not be taken now and is lost. Throws if the sink cannot continue.
  virtual bool send(const Message& message) = 0;
  /// The stream has ended: writes out what is still buffered.
  virtual void finish() {}
  virtual SinkCounts counts() const noexcept { return {}; }
  /// Like Source, as read when it was opened. The gain is that while it transmits.
  virtual DeviceKeys device_keys() const { return {}; }
  virtual void interrupt() noexcept {}
};

/// A receiving or transmitting radio as the configuration requests it; what is missing there is unknown.
struct RadioRequest {
  std::string args;                    // device arguments
  std::vector<std::int64_t> channels;  // of the radio, in the order of the stream
  double rate_hz = 0;
  double frequency_hz = 0;
  std::optional<double> gain_db;
  std::map<std::string, std::string> gains{};  // of elements, as written
  bool agc = false;                            // the radio sets its gain itself
  std::string antenna;
  std::optional<double> bandwidth_hz;
  bool resample = false;  // if the radio grants another rate, its stream is resampled to this one
  double wire_bytes = 4;  // per sample between radio and host
};

/// The configuration of a source, and the function that opens it. One thread at a time.
class SourceOptions {
 public:
  virtual ~SourceOptions() = default;
  virtual void fields(FieldVisitor& visitor) = 0;
  /// The stream as far as the configuration (and the file, if any) describes it, without opening a device. Problems go
  /// to the section.
  virtual StreamInfo describe(const Section& section) const = 0;
  virtual std::unique_ptr<Source> open() const = 0;
  /// What it has for itself while it is open.
  virtual Claims claims() const { return {}; }
  /// Addresses of publishers that it cannot be opened without: their first message says its rate.
  virtual std::vector<std::string> waits_for() const { return {}; }
  /// Whether a failed device can be seen again; takes at most a second. When it is back, it is opened at once. True if
  /// that cannot be found out without opening it.
  virtual bool is_there() const { return true; }
  /// How many seconds longer opening may take than any other call into the driver, since it waits for locks.
  virtual double opening_wait_s() const { return 0; }
  /// What it needs from the host for such a stream, besides the driver's own library. Opens nothing.
  virtual Needs needs(const StreamInfo& /*stream*/) const { return {}; }
  /// The radio that it opens; none if it opens something else.
  virtual std::optional<RadioRequest> radio() const { return std::nullopt; }
  /// The file that it plays; empty if none.
  virtual std::string path() const { return {}; }
  /// The file with the table that `iqd calibrate` made for its channels; empty if none is named.
  virtual std::string calibration() const { return {}; }
  /// The window of a recording that it plays; null: all of it.
  virtual std::shared_ptr<PlayedWindow> window() const { return nullptr; }
};

/// The options passed to a source's `retune`, as the type that opened that source.
template <class Options> const Options& same_kind(const SourceOptions& options) {
  assert(typeid(options) == typeid(Options));
  return static_cast<const Options&>(options);
}

class SinkOptions {
 public:
  virtual ~SinkOptions() = default;
  virtual void fields(FieldVisitor& visitor) = 0;
  /// Checks the keys, and whether this port can go there if it is known; problems go to the section.
  virtual void check(const PortFormat& format, const Section& section) const = 0;
  virtual std::unique_ptr<Sink> open(const PortFormat& format) const = 0;
  /// A sink with these keys is open: `check` need not ask whether it can be opened.
  virtual void note_open() {}
  /// The source plays a window of a recording: a sink that writes a file keeps what it gets for the join instead.
  /// `entry`: the one in `sinks`, as JSON.
  virtual void enter_window(const std::shared_ptr<PlayedWindow>& /*window*/, const std::string& /*entry*/) {}
  /// Whether it gets the messages without items, too.
  virtual bool takes_empty() const { return false; }
  /// Like SourceOptions.
  virtual Claims claims() const { return {}; }
  /// The address that its socket connects to, and the topic there; empty if it binds, or has no topic of its own.
  virtual std::pair<std::string, std::string> topic_at() const { return {}; }
  /// Whether a sink that threw is worth opening again.
  virtual bool reconnects() const { return false; }
  /// Like SourceOptions.
  virtual double opening_wait_s() const { return 0; }
  /// What remains after it is closed and prevents opening it again: a recording that may not be overwritten. Empty if
  /// there is nothing.
  virtual std::string keeps() const { return {}; }
  /// Bytes of messages that may be queued as copies while the sink is busy and the stream cannot wait.
  virtual std::int64_t buffer_bytes() const { return 0; }
  /// Like SourceOptions.
  virtual Needs needs(const PortFormat& /*format*/) const { return {}; }
  /// Like SourceOptions.
  virtual std::optional<RadioRequest> radio() const { return std::nullopt; }
  /// The file that it writes; empty if none.
  virtual std::string path() const { return {}; }
};

/// A device that a driver found: a label, and facts as pairs. A fact `error` says why it cannot be opened.
struct FoundDevice {
  std::string label;
  std::vector<std::pair<std::string, std::string>> facts;
};

/// A driver as named in `source:` and `sinks:`. What it cannot do is null.
struct DriverEntry {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<SourceOptions> (*make_source)() = nullptr;
  std::unique_ptr<SinkOptions> (*make_sink)() = nullptr;
  /// All devices that can be found; with device arguments, the devices that match, even if discovery does not find
  /// them. Throws if there is none.
  std::vector<FoundDevice> (*probe)(const std::string& args) = nullptr;
  /// What users call it instead, separated by spaces: other words, kinds of files, makes of radios.
  std::string_view other_names = {};
};

}  // namespace iqd
