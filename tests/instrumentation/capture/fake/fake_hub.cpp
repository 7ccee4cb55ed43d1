#include "tests/instrumentation/capture/fake/fake_hub.hpp"

#include <pthread.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace sluice::fake {
namespace {

class hub_impl final : public hub {
 public:
  hub_impl() {
    if (const char* version = std::getenv("SLUICE_FAKE_CUPTI_VERSION")) {
      cupti_version = static_cast<std::uint32_t>(std::atoi(version));
    }
    refuse_subscriber = std::getenv("SLUICE_FAKE_RIVAL") != nullptr;
    steal_records = std::getenv("SLUICE_FAKE_STEAL_RECORDS") != nullptr;
    complete_null_buffers = std::getenv("SLUICE_FAKE_NULL_BUFFERS") != nullptr;
    overstate_valid_size = std::getenv("SLUICE_FAKE_OVERSTATE") != nullptr;
    self = this;
    // A forked child must find our locks released, whatever the program's other threads were doing.
    pthread_atfork([] { self->flush_mutex_.lock(), self->mutex_.lock(); },
                   [] { self->mutex_.unlock(), self->flush_mutex_.unlock(); },
                   [] { self->mutex_.unlock(), self->flush_mutex_.unlock(); });
  }

  CUptiResult subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc function, void* user) override {
    std::lock_guard lock(mutex_);
    if (callback_ != nullptr || refuse_subscriber) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    callback_ = function;
    user_ = user;
    *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(this);
    return CUPTI_SUCCESS;
  }
  CUptiResult unsubscribe(CUpti_SubscriberHandle subscriber) override {
    std::lock_guard lock(mutex_);
    if (callback_ == nullptr || subscriber != reinterpret_cast<CUpti_SubscriberHandle>(this)) {
      return CUPTI_ERROR_INVALID_PARAMETER;
    }
    callback_ = nullptr;
    enabled_.clear();
    domains_.clear();
    return CUPTI_SUCCESS;
  }
  void finalize() override {
    std::lock_guard lock(mutex_);
    callback_ = nullptr;
    enabled_.clear();
    domains_.clear();
    kinds_.clear();
    request_ = nullptr;
    complete_ = nullptr;
    timestamp_ = nullptr;
  }
  void enable_callback(CUpti_CallbackDomain domain, std::uint32_t id, bool on) override {
    std::lock_guard lock(mutex_);
    if (on) {
      enabled_.insert({domain, id});
    } else {
      enabled_.erase({domain, id});
    }
  }
  void enable_domain(CUpti_CallbackDomain domain, bool on) override {
    std::lock_guard lock(mutex_);
    if (on) {
      domains_.insert(domain);
    } else {
      domains_.erase(domain);
    }
  }
  CUptiResult enable_activity(std::uint32_t kind, bool on) override {
    std::lock_guard lock(mutex_);
    if (on) {
      kinds_.insert(kind);
    } else {
      kinds_.erase(kind);
    }
    return CUPTI_SUCCESS;
  }
  void register_buffers(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete) override {
    std::lock_guard lock(mutex_);
    request_ = request;
    complete_ = complete;
  }
  void register_timestamp(CUpti_TimestampCallbackFunc function) override { timestamp_ = function; }

  CUptiResult next_record(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) override {
    std::lock_guard lock(mutex_);
    const auto found = offsets_.find(buffer);
    if (found == offsets_.end() || valid == 0) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    const std::vector<std::size_t>& offsets = found->second;
    std::size_t next = 0;
    if (*record != nullptr) {
      const auto at = static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(*record) - buffer);
      while (next < offsets.size() && offsets[next] <= at) ++next;
    }
    if (next == offsets.size()) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = reinterpret_cast<CUpti_Activity*>(buffer + offsets[next]);
    return CUPTI_SUCCESS;
  }
  std::size_t take_dropped() override {
    std::lock_guard lock(mutex_);
    return std::exchange(dropped_, 0);
  }

  void flush() override {
    std::lock_guard one_at_a_time(flush_mutex_);
    std::deque<std::vector<std::uint8_t>> records;
    CUpti_BuffersCallbackRequestFunc request = nullptr;
    CUpti_BuffersCallbackCompleteFunc complete = nullptr;
    {
      std::lock_guard lock(mutex_);
      records.swap(waiting_);
      request = request_;
      complete = complete_;
    }
    if (steal_records || request == nullptr || complete == nullptr) return;
    while (!records.empty()) {
      std::uint8_t* buffer = nullptr;
      std::size_t size = 0;
      std::size_t max_records = 0;
      request(&buffer, &size, &max_records);
      const std::size_t used = buffer == nullptr ? 0 : fill(buffer, size, records);
      if (used == 0) {  // There is no buffer, or the buffer is too small for any record.
        std::lock_guard lock(mutex_);
        dropped_ += records.size();
        records.clear();
      }
      if (buffer != nullptr) complete(nullptr, 0, buffer, size, overstate_valid_size ? size * 4 : used);
      if (complete_null_buffers) complete(nullptr, 0, nullptr, 0, 0);
    }
  }

  std::uint32_t context_number(CUcontext context) override {
    std::lock_guard lock(mutex_);
    const auto found = contexts_.find(context);
    return found == contexts_.end() ? 0 : found->second.first;
  }
  std::uint32_t find_device(CUcontext context) override {
    std::lock_guard lock(mutex_);
    const auto found = contexts_.find(context);
    return found == contexts_.end() ? 0 : found->second.second;
  }
  std::uint32_t stream_number(CUcontext context, CUstream stream) override {
    std::lock_guard lock(mutex_);
    const auto found = streams_.find({context, stream});
    return found == streams_.end() ? 7 : found->second;
  }

  void callback(CUpti_CallbackDomain domain, std::uint32_t id, const void* data) override {
    CUpti_CallbackFunc function = nullptr;
    void* user = nullptr;
    {
      std::lock_guard lock(mutex_);
      if (!domains_.contains(domain) && !enabled_.contains({domain, id})) return;
      function = callback_;
      user = user_;
    }
    if (function != nullptr) function(user, domain, id, data);
  }
  void add_record(std::vector<std::uint8_t> bytes, std::size_t name_offset, const std::string& name) override {
    std::lock_guard lock(mutex_);
    std::uint32_t kind = 0;
    if (bytes.size() < sizeof kind) return;
    std::memcpy(&kind, bytes.data(), sizeof kind);
    if (!kinds_.contains(kind) && kind < 1000) return;  // Kinds from 1000 are inventions of hostile tests.
    if (name_offset != 0 && name_offset + sizeof(char*) <= bytes.size()) {
      const char* kept = names_.insert(name).first->c_str();
      std::memcpy(bytes.data() + name_offset, &kept, sizeof kept);
    }
    waiting_.push_back(std::move(bytes));
  }
  std::uint64_t timestamp() override {
    if (timestamp_ != nullptr) return timestamp_();
    timespec t{};
    clock_gettime(CLOCK_REALTIME, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(t.tv_nsec);
  }
  void set_context(CUcontext context, std::uint32_t number, std::uint32_t device) override {
    std::lock_guard lock(mutex_);
    contexts_[context] = {number, device};
  }
  void set_stream(CUcontext context, CUstream stream, std::uint32_t number) override {
    std::lock_guard lock(mutex_);
    streams_[{context, stream}] = number;
  }
  std::uint32_t next_correlation() override {
    std::lock_guard lock(mutex_);
    return ++correlation_;
  }

 private:
  /// Moves records into `buffer`, each at a multiple of 8. Returns the number of bytes used.
  std::size_t fill(std::uint8_t* buffer, std::size_t size, std::deque<std::vector<std::uint8_t>>& records) {
    std::lock_guard lock(mutex_);
    std::vector<std::size_t>& offsets = offsets_[buffer];
    offsets.clear();
    std::size_t at = 0;
    while (!records.empty() && at + records.front().size() <= size) {
      std::memcpy(buffer + at, records.front().data(), records.front().size());
      offsets.push_back(at);
      at += (records.front().size() + 7) / 8 * 8;
      records.pop_front();
    }
    return at < size ? at : size;
  }

  static inline hub_impl* self = nullptr;
  std::mutex mutex_;
  std::mutex flush_mutex_;
  CUpti_CallbackFunc callback_ = nullptr;
  void* user_ = nullptr;
  std::set<std::pair<int, std::uint32_t>> enabled_;
  std::set<int> domains_;
  std::set<std::uint32_t> kinds_;
  CUpti_BuffersCallbackRequestFunc request_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
  CUpti_TimestampCallbackFunc timestamp_ = nullptr;
  std::deque<std::vector<std::uint8_t>> waiting_;
  std::map<const std::uint8_t*, std::vector<std::size_t>> offsets_;
  std::set<std::string> names_;
  std::map<CUcontext, std::pair<std::uint32_t, std::uint32_t>> contexts_;
  std::map<std::pair<CUcontext, CUstream>, std::uint32_t> streams_;
  std::size_t dropped_ = 0;
  std::uint32_t correlation_ = 0;
};

}  // namespace
}  // namespace sluice::fake

/// The hub is never destroyed, because the process's last calls come after its destructors.
extern "C" __attribute__((visibility("default"))) sluice::fake::hub* sluice_fake_hub() {
  static sluice::fake::hub* const only = new sluice::fake::hub_impl;
  return only;
}
