#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "instrumentation/runtime/graph.hpp"
#include "instrumentation/runtime/graph/capture_list.hpp"

// Internal: postpones operations that a capture forbids (freeing, unmapping, waiting for a device).

namespace sluice::runtime {

/// How long an operation is postponed.
enum class put_off : std::uint8_t {
  until_capture_ends,
  until_graph_goes,  ///< until the graph and everything created from it is destroyed: its nodes use the freed object
};

/// Calls `work` in its destructor.
template <class Work>
class when_gone {
 public:
  explicit when_gone(Work work) : work_(std::move(work)) {}
  when_gone(const when_gone&) = delete;
  when_gone& operator=(const when_gone&) = delete;
  ~when_gone() { work_(); }

 private:
  Work work_;
};

/// Waits for the work that is now enqueued on `stream`; does nothing if a capture
/// forbids that. Never breaks a capture, and does not keep captures from beginning.
void wait_beside_captures(const stream_ref& stream) noexcept;

/// Calls `work` when the capture has ended, or when its graph and everything created from it is destroyed (`how_long`).
template <class Work>
void keep_for_later(active_capture& capture, put_off how_long, Work work) {
  auto later = std::make_shared<when_gone<Work>>(std::move(work));
  if (how_long == put_off::until_graph_goes) return capture.keep(std::move(later));
  capture.keep_until_end(std::move(later));
}

/// Calls `work` now, or later (`how_long`) if a capture forbids waiting for `where` (a stream or device). No capture
/// can begin while `work` runs, so keep `work` short. It must not throw. Do not call this while an object of
/// `captures_held_off` exists.
template <class Where, class Work>
void past_capture(const Where& where, put_off how_long, Work work) noexcept {
  std::shared_ptr<active_capture> capture;
  {
    const captures_held_off held;
    capture = capture_that_holds(where);
    if (capture == nullptr) work();
  }
  // `work` is destroyed without the lock, because its destructor may free memory.
  if (capture == nullptr) return;
  keep_for_later(*capture, how_long, [where, how_long, work = std::move(work)]() mutable {
    past_capture(where, how_long, std::move(work));
  });
}

/// Calls `work` once `stream` is idle, or later if a capture forbids waiting. Captures can begin during most of this
/// call.
template <class Work>
void past_capture_and_stream(const stream_ref& stream, put_off how_long, Work work) noexcept {
  wait_beside_captures(stream);
  past_capture(stream, how_long, [stream, work = std::move(work)] {
    (void)stream.device().backend().sync_stream(stream.handle());
    work();
  });
}

}  // namespace sluice::runtime
