#include "instrumentation/backend/simulated/state/stream_table.hpp"

#include <algorithm>
#include <utility>

namespace sluice::backend::simulated {

stream_table::stream_table(const driver_log& log) : log_(log) { streams_[0] = stream_state{}; }

stream_handle stream_table::add(stream_state state) {
  const std::uint32_t id = next_stream_++;
  streams_[id] = std::move(state);
  return stream_handle{id};
}

void stream_table::erase(stream_handle stream) { streams_.erase(static_cast<std::uint32_t>(stream)); }

stream_state* stream_table::find(stream_handle stream) {
  const auto it = streams_.find(static_cast<std::uint32_t>(stream));
  return it == streams_.end() ? nullptr : &it->second;
}

std::int64_t stream_table::tail(stream_handle stream, const stream_state& state) const {
  if (stream != stream_handle::null) {
    return state.blocking ? std::max(state.tail, streams_.find(0)->second.tail) : state.tail;
  }
  std::int64_t last = state.tail;
  for (const auto& [id, s] : streams_) {
    if (s.blocking) last = std::max(last, s.tail);
  }
  return last;
}

std::int64_t stream_table::idle_at() const {
  std::int64_t last = 0;
  for (const auto& [id, s] : streams_) last = std::max(last, s.tail);
  return last;
}

std::uint64_t stream_table::key(stream_handle stream) const noexcept {
  return log_.stream_key(stream == stream_handle::null ? 1 : static_cast<std::uint32_t>(stream));
}

bool stream_table::captures_blocking_stream(const capture_session& session) const {
  return std::any_of(session.streams.begin(), session.streams.end(), [&](const auto& captured) {
    const auto it = streams_.find(captured.first);
    return it != streams_.end() && it->second.blocking;
  });
}

void stream_table::forget_capture(const capture_session& session) {
  for (auto& [id, s] : streams_) {
    if (s.capturing.get() == &session) s.capturing = nullptr;
  }
}

void stream_table::announce(std::uint64_t now) const {
  for (const auto& [id, s] : streams_) log_.define_stream(now, id == 0 ? 1 : id, id, s.priority, id == 0);
}

}  // namespace sluice::backend::simulated
