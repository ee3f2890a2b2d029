// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/spec.hpp"

namespace iqd {

void pipeline_fields(PipelineSpec& spec, FieldVisitor& v) {
  v.field("name", spec.name, {.help = "name in headers, metrics and the log"});
  v.field("block", spec.block, {.help = "new samples per channel and block", .low = 1, .high = 1 << 28});
  v.field("lanes", spec.lanes,
          {.help = "blocks processed in parallel; 0: one per CPU, at most 4", .low = 0, .high = 32});
  v.field("backend", spec.backend,
          {.help = "auto, cpu, cuda or cuda:N; several devices share the blocks, and so does `pool`"});
  v.field("wait", spec.wait,
          {.help = "how iqd waits for a device's results: spin is fastest but occupies a CPU; resident also lets the "
                   "device launch the work"});
  v.field("transfer", spec.transfer,
          {.help = "how samples get to a device and results back; auto: by size, as measured"});
  v.field("fuse", spec.fuse, {.help = "fuse neighbouring element-wise stages into one loop or one kernel"});
  static bool given = false;
  v.group("gpu", given, {.help = "the pipeline's part of its GPUs"}, [&spec](FieldVisitor& g) {
    g.field(
        "share", spec.gpu_share,
        {.help = "multiprocessors of its own, e.g. `16 SM` or `12 %`; default: those that the file's other pipelines "
                 "leave"});
  });
  v.group("realtime", given, {.help = "scheduling of the threads"}, [&spec](FieldVisitor& g) {
    g.field("priority", spec.realtime.priority,
            {.help = "SCHED_FIFO priority of radio, lanes and publisher; 0: none. On a GPU, higher ones come first",
             .low = 0,
             .high = 99});
    g.field("cpus", spec.realtime.cpus,
            {.help = "CPUs that radio and lane threads are pinned to", .low = 0, .high = 1023});
    g.field("lock_memory", spec.realtime.lock_memory, {.help = "keep all memory resident"});
    g.field("hang", spec.realtime.hang_s,
            {.help = "iqd exits when a driver call takes longer", .unit = Unit::seconds, .low = 0.5, .high = 3600});
  });
  v.group("reconnect", given, {.help = "what to do about a source that delivers nothing"}, [&spec](FieldVisitor& g) {
    g.field("silence", spec.reconnect.silence_s,
            {.help = "a radio that delivers no sample for this long is closed and reopened; the log names any source "
                     "after 1 s, or after this if it is shorter",
             .unit = Unit::seconds,
             .low = 0.1,
             .high = 3600});
    g.field("first", spec.reconnect.first_s,
            {.help = "wait before the first try; each failure doubles it",
             .unit = Unit::seconds,
             .low = 0.001,
             .high = 3600});
    g.field("longest", spec.reconnect.longest_s,
            {.help = "longest wait between tries, unless `first` is longer",
             .unit = Unit::seconds,
             .low = 0.001,
             .high = 3600});
  });
}

void stage_backend_field(std::vector<std::string>& backend, FieldVisitor& v) {
  v.field("backend", backend, {.help = "where it runs: auto, cpu, cuda or cuda:N; several devices share the blocks"});
}

void monitor_fields(Spec& spec, FieldVisitor& v) {
  v.field("listen", spec.listen,
          {.help = "address and port for HTTP, e.g. `127.0.0.1:9464`; port 0 picks a free one", .required = true});
  v.field("token", spec.token_file,
          {.help = "file with a secret, mode 0600: a request that changes something must contain it", .file = true});
  v.field("insecure", spec.insecure,
          {.help = "allow a non-loopback address without a token: any client may read, none may change anything"});
  v.field("page", spec.page, {.help = "serve the live page"});
  v.field("watch", spec.watch,
          {.help = "ports that the live page shows although nothing else reads them: `STAGE.PORT`, or "
                   "`PIPELINE/STAGE.PORT`; each costs as much as a published one"});
  v.field("recordings", spec.recordings, {.help = "folder for recordings that the page or a request starts"});
  v.field("peers", spec.peers, {.help = "other iqds that the page links to, e.g. `http://lab2:9464`"});
  v.field("grafana", spec.grafana, {.help = "a dashboard that the page links to"});
}

void publish_fields(PublishSpec& spec, FieldVisitor& v) {
  v.field("port", spec.port, {.help = "stage.output", .required = true});
  v.field("dtype", spec.dtype, {.help = "element type to convert to before sending; default: the port's"});
  static constexpr std::string_view kEmpty[] = {"skip", "send"};
  const auto set = [](void* target, int value) { *static_cast<bool*>(target) = value == 1; };
  v.visit("empty", EnumRef{kEmpty, spec.send_empty ? 1 : 0, set, &spec.send_empty},
          {.help = "what to do with an empty message"});
}

}  // namespace iqd
