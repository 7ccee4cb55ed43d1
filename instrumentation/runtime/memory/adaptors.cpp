#include "instrumentation/runtime/adaptors.hpp"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <utility>

#include "instrumentation/runtime/state/layer_log.hpp"

namespace sluice::runtime {

namespace {

std::int64_t monotonic_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  constexpr std::int64_t ns_a_second = 1'000'000'000;
  return t.tv_sec * ns_a_second + t.tv_nsec;
}

const memory_resource& not_null(const resource_ptr& upstream) {
  if (!upstream) throw error({status::invalid_value, 0, "resource_adaptor", "the upstream resource is null"});
  return *upstream;
}

const char* word(logged_call::action action) {
  switch (action) {
    case logged_call::action::allocate:
      return "allocate";
    case logged_call::action::allocate_failed:
      return "allocate failure";
    case logged_call::action::free:
      break;
  }
  return "free";
}

}  // namespace

resource_adaptor::resource_adaptor(resource_ptr upstream)
    : memory_resource(not_null(upstream).device(), not_null(upstream).space()), upstream_(std::move(upstream)) {}

void resource_adaptor::do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept {
  upstream_->deallocate(stream, address, bytes);
}

// --- logging -----------------------------------------------------------------------------------------------

logging_resource_adaptor::logging_resource_adaptor(resource_ptr upstream, std::function<void(const logged_call&)> sink)
    : resource_adaptor(std::move(upstream)), begin_ns_(monotonic_ns()), sink_(std::move(sink)) {}

logging_resource_adaptor::logging_resource_adaptor(resource_ptr upstream, std::ostream& out)
    : resource_adaptor(std::move(upstream)), out_(&out), begin_ns_(monotonic_ns()) {
  *out_ << "Thread,Time,Action,Pointer,Size,Stream\n";
  sink_ = [this](const logged_call& call) {
    *out_ << fmt::format("{},{},{},{:#x},{},{:#x}\n", call.thread, call.time_ns, word(call.kind),
                         reinterpret_cast<std::uintptr_t>(call.address), call.bytes, call.stream);
  };
}

logging_resource_adaptor::logging_resource_adaptor(resource_ptr upstream, std::unique_ptr<std::ostream> file)
    : logging_resource_adaptor(std::move(upstream), *file) {
  file_ = std::move(file);
}

logging_resource_adaptor::logging_resource_adaptor(resource_ptr upstream, const std::string& path)
    : logging_resource_adaptor(std::move(upstream), std::make_unique<std::ofstream>(path, std::ios::trunc)) {
  if (!*file_) {
    throw error({status::failed, 0, "logging_resource_adaptor", fmt::format("cannot write the log file '{}'", path)});
  }
}

logging_resource_adaptor::~logging_resource_adaptor() = default;

void logging_resource_adaptor::flush() {
  const std::lock_guard lock(mutex_);
  if (out_ != nullptr) out_->flush();
}

void logging_resource_adaptor::log(logged_call call) noexcept {
  call.thread = static_cast<std::uint64_t>(gettid());
  const std::lock_guard lock(mutex_);
  call.time_ns = monotonic_ns() - begin_ns_;  // Under the lock, so that lines are in order of time.
  if (sink_) sink_(call);
}

void* logging_resource_adaptor::do_allocate(const stream_ref& stream, std::size_t bytes) {
  try {
    void* address = upstream()->allocate(stream, bytes);
    log({logged_call::action::allocate, address, bytes, stream.get()});
    return address;
  } catch (...) {
    log({logged_call::action::allocate_failed, nullptr, bytes, stream.get()});
    throw;
  }
}

void logging_resource_adaptor::do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept {
  // Log before freeing: another thread may get the address immediately and log that.
  log({logged_call::action::free, address, bytes, stream.get()});
  upstream()->deallocate(stream, address, bytes);
}

// --- statistics --------------------------------------------------------------------------------------------

namespace {

void add(allocation_statistics::quantity& to, std::uint64_t amount) {
  to.current += amount;
  to.total += amount;
  to.peak = std::max(to.peak, to.current);
}

}  // namespace

allocation_statistics statistics_resource_adaptor::statistics() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void statistics_resource_adaptor::reset_peaks() {
  const std::lock_guard lock(mutex_);
  counts_.bytes.peak = counts_.bytes.current;
  counts_.blocks.peak = counts_.blocks.current;
}

void* statistics_resource_adaptor::do_allocate(const stream_ref& stream, std::size_t bytes) {
  void* address = nullptr;
  try {
    address = upstream()->allocate(stream, bytes);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    ++counts_.failed;
    throw;
  }
  const std::lock_guard lock(mutex_);
  add(counts_.bytes, bytes);
  add(counts_.blocks, 1);
  return address;
}

void statistics_resource_adaptor::do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept {
  upstream()->deallocate(stream, address, bytes);
  const std::lock_guard lock(mutex_);
  counts_.bytes.current -= bytes;
  --counts_.blocks.current;
}

// --- limiting ----------------------------------------------------------------------------------------------

void* limiting_resource_adaptor::do_allocate(const stream_ref& stream, std::size_t bytes) {
  std::uint64_t had = allocated_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_ - std::min(had, limit_)) {
      layer_log::failed(stream, {trace::layer::user, space(), 0, bytes, 0, 0, 0, 0, false, "limiting_resource_adaptor"},
                        static_cast<int>(status::out_of_memory));
      throw out_of_memory(
          {status::out_of_memory, 0, "limiting_resource_adaptor",
           fmt::format("{} bytes on {}: {} of at most {} bytes are allocated", bytes, device().name(), had, limit_)},
          {bytes, device().id(), stream.get(), false, {}});
    }
  } while (!allocated_.compare_exchange_weak(had, had + bytes, std::memory_order_relaxed));
  try {
    return upstream()->allocate(stream, bytes);
  } catch (...) {
    allocated_.fetch_sub(bytes, std::memory_order_relaxed);
    throw;
  }
}

void limiting_resource_adaptor::do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept {
  upstream()->deallocate(stream, address, bytes);
  allocated_.fetch_sub(bytes, std::memory_order_relaxed);
}

// --- failure callbacks -------------------------------------------------------------------------------------

failure_callback_resource_adaptor::failure_callback_resource_adaptor(resource_ptr upstream, callback on_failure)
    : resource_adaptor(std::move(upstream)) {
  if (on_failure) callbacks_.push_back(std::move(on_failure));
}

void failure_callback_resource_adaptor::add(callback on_failure) {
  const std::lock_guard lock(mutex_);
  callbacks_.push_back(std::move(on_failure));
}

bool failure_callback_resource_adaptor::ask(const out_of_memory& failure) {
  std::vector<callback> asked;
  {
    // Callbacks run without the lock, because they may free, allocate elsewhere and add callbacks.
    const std::lock_guard lock(mutex_);
    asked = callbacks_;
  }
  for (auto c = asked.rbegin(); c != asked.rend(); ++c) {
    if ((*c)(failure)) return true;
  }
  return false;
}

void* failure_callback_resource_adaptor::do_allocate(const stream_ref& stream, std::size_t bytes) {
  for (;;) {
    try {
      return upstream()->allocate(stream, bytes);
    } catch (const out_of_memory& failure) {
      if (!ask(failure)) throw;
    }
  }
}

}  // namespace sluice::runtime
