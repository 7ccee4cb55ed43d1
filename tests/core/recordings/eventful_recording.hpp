#pragma once

#include "tests/core/metrics/training_recording.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::testing {

/// Writes at least one event of each kind that a summary can contain.
inline void tell_a_lot(recording& recorded, training_options options = {}) {
  options.hold_output = true;
  options.leak = true;
  training reported(recorded, options);
  reported.tell();
  const time_ns now = reported.now();
  auto failed = recorded.event<trace::alloc_failed_event>(now + 1);
  failed.bytes = 200 * gib;
  failed.error = 2;
  failed.name = recorded.text("cuMemAlloc_v2");
  recorded.writer().add(failed);
  auto lost = recorded.event<trace::loss_event>(now + 2);
  lost.events = 7;
  lost.memory_events = 3;
  recorded.writer().add(lost);
  lost.end = now + 9;
  recorded.writer().add(lost);
  auto said = recorded.event<trace::message_event>(now + 3);
  said.severity = trace::severity::warning;
  said.text = recorded.text("something is missing");
  recorded.writer().add(said);
  auto complete = recorded.event<trace::watermark_event>(now + 4);
  complete.complete_until = now;
  recorded.writer().add(complete);
  for (int i = 0; i < 3; ++i) {
    auto copy = recorded.event<trace::transfer_event>(now + 10 + i * 100);
    copy.end = copy.time + 50;
    copy.bytes = 1 << 20;
    copy.direction = trace::direction::h2d;
    copy.source_kind = trace::memory_kind::host;
    copy.device = trace::device_id{1};
    copy.content = trace::content_check::exact;
    copy.content_hash = 4711;
    copy.content_bytes = copy.bytes;
    recorded.writer().add(copy);
  }
  auto fault = recorded.event<trace::message_event>(now + 400);
  fault.severity = trace::severity::error;
  fault.text = recorded.text("the GPU faulted");
  auto about = recorded.event<trace::attribute_event>(now + 400);
  about.target = trace::event_id{recorded.writer().add(fault)};
  about.key = recorded.text("gpu fault");
  about.integer = 700;
  recorded.writer().add(about);
  about.key = recorded.text("launched before");
  about.text = recorded.text("gemm");
  recorded.writer().add(about);
  recorded.add_device_memory(now + 500, 134 * gib, 140 * gib, 14 * mib);
  recorded.add_kernel(now + 600, now + 700);
  recorded.add_call(now + 590, now + 710, "cuStreamSynchronize");
}

}  // namespace sluice::testing
