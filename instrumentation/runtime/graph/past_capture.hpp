#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "instrumentation/runtime/graph.hpp"
#include "instrumentation/runtime/graph/capture_list.hpp"

// What a capture forbids is put off until it lets go: to free, to unmap, to wait for a device. Internal.

namespace sluice::runtime {

/// How long a capture keeps what was put off.
enum class put_off : std::uint8_t {
  until_capture_ends,
  until_graph_goes,  ///< and everything made of it: nodes use what the work takes away
};

/// Calls `work` when it goes.
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

/// Waits for what `stream` has to do now, or does nothing where a capture forbids that. Never breaks a capture, and keeps none from
/// beginning.
void wait_beside_captures(const stream_ref& stream) noexcept;

/// `work` is called when the capture lets go of it.
template <class Work>
void keep_for_later(active_capture& capture, put_off how_long, Work work) {
  auto later = std::make_shared<when_gone<Work>>(std::move(work));
  if (how_long == put_off::until_graph_goes) return capture.keep(std::move(later));
  capture.keep_until_end(std::move(later));
}

/// Calls `work` at once, or, where a capture forbids to wait for `where`, a stream or a device, when no capture does any more. No capture
/// begins meanwhile, so `work` should take no longer than it must. `work` must not throw. Not while `captures_held_off` lives.
template <class Where, class Work>
void past_capture(const Where& where, put_off how_long, Work work) noexcept {
  std::shared_ptr<active_capture> capture;
  {
    const captures_held_off held;
    capture = capture_that_holds(where);
    if (capture == nullptr) work();
  }
  // What `work` has goes without the lock: it may free.
  if (capture == nullptr) return;
  keep_for_later(*capture, how_long, [where, how_long, work = std::move(work)]() mutable {
    past_capture(where, how_long, std::move(work));
  });
}

/// The same of `work` that begins by waiting for `stream`: most of the wait goes by here, and captures may begin.
template <class Work>
void past_capture_and_stream(const stream_ref& stream, put_off how_long, Work work) noexcept {
  wait_beside_captures(stream);
  past_capture(stream, how_long, [stream, work = std::move(work)] {
    (void)stream.device().backend().sync_stream(stream.handle());
    work();
  });
}

}  // namespace sluice::runtime
