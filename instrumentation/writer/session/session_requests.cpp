#include "instrumentation/writer/session/session_requests.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

namespace sluice::writer {

session_requests::session_requests() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void session_requests::wake() const {
  const std::uint64_t one = 1;
  // If the counter is full, the thread has been woken already.
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void session_requests::add(session_request request) {
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(std::move(request));
  }
  wake();
}

void session_requests::ask_to_publish() {
  publish_asked_.store(true, std::memory_order_relaxed);
  add({session_request::action::publish, 0, 0, {}});
}

result<void> session_requests::sync() {
  std::unique_lock lock(mutex_);
  const std::uint64_t mine = ++sync_asked_;
  wake();
  synced_.wait(lock, [&] { return sync_done_ >= mine; });
  if (failure_) return tl::unexpected<error>(*failure_);
  return {};
}

void session_requests::stop() {
  stopping_.store(true, std::memory_order_release);
  wake();
}

bool session_requests::stops_within(std::chrono::milliseconds time) {
  if (!stopping_.exchange(true, std::memory_order_acq_rel)) wake();
  std::unique_lock lock(mutex_);
  return over_.wait_for(lock, time, [&] { return ended_; });
}

session_requests::asked session_requests::take() {
  std::uint64_t ignored = 0;
  [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &ignored, sizeof ignored);
  asked taken;
  const std::lock_guard lock(mutex_);
  taken.requests.swap(requests_);
  if (sync_asked_ != sync_done_) taken.sync = sync_asked_;
  return taken;
}

void session_requests::finish_sync(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  sync_done_ = number;
  synced_.notify_all();
}

std::optional<error> session_requests::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void session_requests::set_failure(std::optional<error> failure) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
}

void session_requests::end() {
  const std::lock_guard lock(mutex_);
  sync_done_ = UINT64_MAX;
  ended_ = true;
  synced_.notify_all();
  over_.notify_all();
}

}  // namespace sluice::writer
