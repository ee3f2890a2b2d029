// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/spec.hpp"

namespace iqd {

void pipeline_fields(PipelineSpec& spec, FieldVisitor& v) {
  v.field("name", spec.name, {.help = "in headers, metrics and the log"});
  v.field("block", spec.block, {.help = "new samples per channel and block", .low = 1, .high = 1 << 28});
  v.field("lanes", spec.lanes, {.help = "blocks at work at once; 0: one a processor, at most 4", .low = 0, .high = 32});
  v.field("backend", spec.backend, {.help = "auto, cpu, cuda or cuda:N; several devices share the blocks"});
  v.field("wait", spec.wait,
          {.help = "how results of a device are waited for: spin is quickest and takes a processor"});
  v.field("transfer", spec.transfer,
          {.help = "how samples and results get to a device and back; auto: by their size, as measured"});
  v.field("fuse", spec.fuse, {.help = "element-wise neighbours become one step: one loop, or one kernel"});
  static bool given = false;
  v.group("realtime", given, {.help = "how the threads run"}, [&spec](FieldVisitor& g) {
    g.field("priority", spec.realtime.priority,
            {.help = "SCHED_FIFO priority of radio, lanes and publisher; 0: none", .low = 0, .high = 99});
    g.field("cpus", spec.realtime.cpus,
            {.help = "processors that radio and lanes are tied to", .low = 0, .high = 1023});
    g.field("lock_memory", spec.realtime.lock_memory, {.help = "keep all memory resident"});
    g.field(
        "hang", spec.realtime.hang_s,
        {.help = "a driver call that takes longer ends the process", .unit = Unit::seconds, .low = 0.5, .high = 3600});
  });
  v.group("reconnect", given, {.help = "when a radio that gives nothing is opened again"}, [&spec](FieldVisitor& g) {
    g.field("silence", spec.reconnect.silence_s,
            {.help = "a radio that gives no sample for so long is closed and opened again",
             .unit = Unit::seconds,
             .low = 0.1,
             .high = 3600});
    g.field("first", spec.reconnect.first_s,
            {.help = "wait before the first try; each that fails doubles it",
             .unit = Unit::seconds,
             .low = 0.001,
             .high = 3600});
    g.field(
        "longest", spec.reconnect.longest_s,
        {.help = "it does not become longer, unless `first` is", .unit = Unit::seconds, .low = 0.001, .high = 3600});
  });
}

void monitor_fields(Spec& spec, FieldVisitor& v) {
  v.field("listen", spec.listen,
          {.help = "address and port of HTTP, `127.0.0.1:9464`; port 0 takes a free one", .required = true});
  v.field("token", spec.token_file,
          {.help = "a file with a secret, mode 0600: a request that changes something has to bring it"});
  v.field("insecure", spec.insecure,
          {.help = "off loopback without a token: whoever reaches the port may read, and nobody may change anything"});
}

void publish_fields(PublishSpec& spec, FieldVisitor& v) {
  v.field("port", spec.port, {.help = "stage.output", .required = true});
  v.field("dtype", spec.dtype,
          {.help = "converted to this element type before it is sent; as the port is where not given"});
  static constexpr std::string_view kEmpty[] = {"skip", "send"};
  const auto set = [](void* target, int value) { *static_cast<bool*>(target) = value == 1; };
  v.visit("empty", EnumRef{kEmpty, spec.send_empty ? 1 : 0, set, &spec.send_empty},
          {.help = "what is done with a message that holds nothing"});
}

}  // namespace iqd
