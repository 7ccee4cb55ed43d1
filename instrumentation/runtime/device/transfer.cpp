#include "instrumentation/runtime/transfer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::runtime {

pending_copy::~pending_copy() {
  try {
    sync();
  } catch (const error&) {
    // Ignored: to see errors, call sync() first.
  }
}

pending_copy::pending_copy(pending_copy&& other) noexcept
    : done_(std::exchange(other.done_, std::nullopt)),
      source_(std::move(other.source_)),
      asynchronous_(other.asynchronous_) {}

pending_copy& pending_copy::operator=(pending_copy&& other) noexcept {
  if (this == &other) return *this;
  const pending_copy before(std::move(*this));
  done_ = std::exchange(other.done_, std::nullopt);
  source_ = std::move(other.source_);
  asynchronous_ = other.asynchronous_;
  return *this;
}

bool pending_copy::is_done() const { return !done_ || done_->is_done(); }

void pending_copy::sync() const {
  if (done_) done_->sync();
}

pending_copy copy_to_host(void* to, const void* origin, std::size_t bytes, memory_owner source,
                          const stream_ref& stream) {
  pending_copy out;
  if (bytes == 0) return out;
  out.asynchronous_ = stream.device().find_memory_space(to) != memory_space::pageable;
  copy_async(to, origin, bytes, stream);
  if (!out.asynchronous_) return out;
  out.done_.emplace(stream.device());
  out.done_->record(stream);
  out.source_ = std::move(source);
  return out;
}

namespace detail {

void require_same_layout(std::span<const std::int64_t> extents, std::span<const std::int64_t> strides,
                         std::span<const std::int64_t> other_extents, std::span<const std::int64_t> other_strides,
                         const char* call) {
  if (!std::equal(extents.begin(), extents.end(), other_extents.begin(), other_extents.end())) {
    refuse(call, fmt::format("shapes {} and {} differ", to_string(extents), to_string(other_extents)));
  }
  for (const storage_order order : {storage_order::c, storage_order::f}) {
    if (is_contiguous(extents, strides, order) && is_contiguous(other_extents, other_strides, order)) return;
  }
  refuse(call, fmt::format("shape {} with strides {} and {}: both must be contiguous in the same order",
                           to_string(extents), to_string(strides), to_string(other_strides)));
}

}  // namespace detail

}  // namespace sluice::runtime
