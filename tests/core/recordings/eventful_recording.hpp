#pragma once

#include "tests/core/metrics/training_recording.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::testing {

/// Writes at least one event of each kind that a summary can contain.
inline void tell_a_lot(recording& made, training_options options = {}) {
  options.hold_output = true;
  options.leak = true;
  training reported(made, options);
  reported.tell();
  const time_ns now = reported.now();
  auto failed = made.event<trace::alloc_failed_event>(now + 1);
  failed.bytes = 200 * gib;
  failed.error = 2;
  failed.name = made.text("cuMemAlloc_v2");
  made.writer().add(failed);
  auto lost = made.event<trace::loss_event>(now + 2);
  lost.events = 7;
  lost.memory_events = 3;
  made.writer().add(lost);
  lost.end = now + 9;
  made.writer().add(lost);
  auto said = made.event<trace::message_event>(now + 3);
  said.severity = trace::severity::warning;
  said.text = made.text("something is missing");
  made.writer().add(said);
  auto complete = made.event<trace::watermark_event>(now + 4);
  complete.complete_until = now;
  made.writer().add(complete);
  for (int i = 0; i < 3; ++i) {
    auto copy = made.event<trace::transfer_event>(now + 10 + i * 100);
    copy.end = copy.time + 50;
    copy.bytes = 1 << 20;
    copy.direction = trace::direction::h2d;
    copy.source_kind = trace::memory_kind::host;
    copy.device = trace::device_id{1};
    copy.content = trace::content_check::exact;
    copy.content_hash = 4711;
    copy.content_bytes = copy.bytes;
    made.writer().add(copy);
  }
  auto fault = made.event<trace::message_event>(now + 400);
  fault.severity = trace::severity::error;
  fault.text = made.text("the GPU faulted");
  auto about = made.event<trace::attribute_event>(now + 400);
  about.target = trace::event_id{made.writer().add(fault)};
  about.key = made.text("gpu fault");
  about.integer = 700;
  made.writer().add(about);
  about.key = made.text("launched before");
  about.text = made.text("gemm");
  made.writer().add(about);
  made.add_device_memory(now + 500, 134 * gib, 140 * gib, 14 * mib);
  made.add_kernel(now + 600, now + 700);
  made.add_call(now + 590, now + 710, "cuStreamSynchronize");
}

}  // namespace sluice::testing
