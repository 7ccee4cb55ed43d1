#include "app/recordings/overview_reader.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "core/base/threads/worker_thread.hpp"

namespace sluice::recordings {

overview_reader::known* overview_reader::find_known(const std::string& key) {
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const known& each) { return each.key == key; });
  return found == known_.end() ? nullptr : &*found;
}

std::shared_ptr<const overview> overview_reader::find(const std::string& key, const reader& read) {
  if (!has_threads()) return nullptr;
  follow();
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const known& each) { return each.key == key; });
  if (found != known_.end()) {
    known_.splice(known_.begin(), known_, found);
    return known_.front().found;
  }
  known_.push_front({key, nullptr, true});
  if (known_.size() > max_known) known_.pop_back();
  waiting_.emplace_back(key, read);
  follow();
  return nullptr;
}

bool overview_reader::is_waiting(const std::string& key) const {
  return std::any_of(known_.begin(), known_.end(), [&](const known& each) { return each.key == key && each.waiting; });
}

void overview_reader::follow() {
  if (reading_.valid() && reading_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
    answer read = reading_.get();
    if (known* subject = find_known(read.first); subject != nullptr) {
      subject->found = std::move(read.second);
      subject->waiting = false;
    }
  }
  if (reading_.valid() || waiting_.empty()) return;
  try {
    reading_ = start_async([next = waiting_.front()] {
      auto read = next.second();
      return answer(next.first, read ? std::make_shared<const overview>(std::move(*read)) : nullptr);
    });
    waiting_.pop_front();
  } catch (const std::system_error&) {
    // No thread is available: try again later.
  }
}

}  // namespace sluice::recordings
