#include "instrumentation/runtime/chunk_pipeline.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "instrumentation/backend/simulated/clock.hpp"
#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/range.hpp"

namespace sluice::runtime {

namespace {

// What one piece in flight needs.
struct slot {
  slot(std::size_t bytes, const device_ref& device)
      : work(device), pinned(bytes, work, "chunk staging"), there(bytes, work, "chunk"), done(device) {}

  stream work;
  pinned_buffer pinned;
  device_buffer there;
  event done;
};

// Times that a piece carries from thread to thread on the simulated device; real clocks need no telling.
class handover {
 public:
  explicit handover(backend::simulated_clock* clock) : clock_(clock) {}
  [[nodiscard]] std::int64_t stamp() const { return clock_ ? clock_->now() : 0; }
  void receive(std::int64_t time) const {
    if (clock_) clock_->advance_to(time);
  }
  void begin_at(std::int64_t time) const {
    if (clock_) clock_->adopt(time);
  }

 private:
  backend::simulated_clock* clock_;
};

// One overlapped run. The calling thread enqueues pieces in order; reader r fills pieces r, r + readers, ... and,
// before it reuses a slot, retires the piece that was in it: waits for the device and writes the result.
class overlapped_run {
 public:
  overlapped_run(const chunk_options& options, const device_ref& device, const mapped_file& in, mapped_file* out)
      : options_(options), device_(device), in_(in), out_(out), time_(device.backend().clock()) {
    count_ = (in.size_bytes() + options.chunk_bytes - 1) / options.chunk_bytes;
    const auto depth = std::min<std::uint64_t>(options.depth, count_);
    for (std::uint64_t i = 0; i < depth; ++i) {
      slots_.push_back(std::make_unique<slot>(std::min(options.chunk_bytes, in.size_bytes()), device));
    }
    filled_.assign(count_, not_yet);
    launched_.assign(count_, not_yet);
  }

  chunk_report run(const chunk_pipeline::compute& work, const chunk_pipeline::progress& tell,
                   const std::stop_token& stop) {
    const std::int64_t start = time_.stamp();
    std::vector<std::thread> readers;
    try {
      for (unsigned r = 0; r < std::min<std::uint64_t>(options_.readers, count_); ++r) {
        readers.emplace_back([this, r, start] { read(r, start); });
      }
      launch_all(work, tell, stop);
    } catch (...) {
      give_up(std::current_exception());
    }
    for (std::thread& t : readers) t.join();
    time_.receive(latest_);
    // Nothing may still use the slots when they go, whatever happened.
    (void)device_.backend().synchronize();
    if (error_) std::rethrow_exception(error_);
    device_.sync();
    return report_;
  }

 private:
  static constexpr std::int64_t not_yet = -1;

  [[nodiscard]] std::size_t bytes_of(std::uint64_t i) const {
    return std::min<std::size_t>(options_.chunk_bytes, in_.size_bytes() - i * options_.chunk_bytes);
  }
  [[nodiscard]] slot& slot_of(std::uint64_t i) const { return *slots_[i % slots_.size()]; }

  void give_up(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    over_ = true;
    changed_.notify_all();
  }
  void publish(std::vector<std::int64_t>& times, std::uint64_t i) {
    const std::lock_guard lock(mutex_);
    times[i] = time_.stamp();
    changed_.notify_all();
  }
  // False if the run is over before that happens.
  bool await(const std::vector<std::int64_t>& times, std::uint64_t i) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return over_ || times[i] != not_yet; });
    if (times[i] == not_yet) return false;
    time_.receive(times[i]);
    return true;
  }

  void launch_all(const chunk_pipeline::compute& work, const chunk_pipeline::progress& tell,
                  const std::stop_token& stop) {
    for (std::uint64_t i = 0; i < count_; ++i) {
      if (!await(filled_, i)) return;
      if (stop.stop_requested()) {
        const std::lock_guard lock(mutex_);
        over_ = report_.stopped = true;
        changed_.notify_all();
        return;
      }
      slot& s = slot_of(i);
      const stream_ref stream(s.work);
      const std::size_t bytes = bytes_of(i);
      copy_async(s.there.data(), s.pinned.data(), bytes, stream);
      work({i, i * options_.chunk_bytes, s.there.as<std::byte>().first(bytes)}, stream);
      if (out_) copy_async(s.pinned.data(), s.there.data(), bytes, stream);
      s.done.record(stream);
      publish(launched_, i);
      report_.bytes += bytes;
      ++report_.chunks;
      if (tell) tell(static_cast<double>(i + 1) / static_cast<double>(count_));
    }
  }

  void read(unsigned r, std::int64_t start) noexcept {
    try {
      pthread_setname_np(pthread_self(), fmt::format("reader {}", r).c_str());
      time_.begin_at(start);
      for (std::uint64_t i = r; i < count_; i += options_.readers) {
        if (i >= slots_.size() && !retire(i - slots_.size())) break;
        if (over()) break;
        in_.read_at(i * options_.chunk_bytes, slot_of(i).pinned.as<std::byte>().first(bytes_of(i)));
        publish(filled_, i);
      }
      // The last pieces have no successor in their slots.
      for (std::uint64_t i = r; i < count_; i += options_.readers) {
        if (i + slots_.size() >= count_) retire(i);
      }
    } catch (...) {
      give_up(std::current_exception());
    }
    const std::lock_guard lock(mutex_);
    latest_ = std::max(latest_, time_.stamp());
  }

  bool over() {
    const std::lock_guard lock(mutex_);
    return over_;
  }

  bool retire(std::uint64_t i) {
    if (!await(launched_, i)) return false;
    slot& s = slot_of(i);
    s.done.sync();
    if (out_) out_->write_at(i * options_.chunk_bytes, s.pinned.as<std::byte>().first(bytes_of(i)));
    return true;
  }

  const chunk_options& options_;
  const device_ref& device_;
  const mapped_file& in_;
  mapped_file* out_;
  handover time_;
  std::uint64_t count_ = 0;
  std::vector<std::unique_ptr<slot>> slots_;
  chunk_report report_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<std::int64_t> filled_, launched_;  // when, by piece
  std::int64_t latest_ = 0;                      // when the last reader was done
  std::exception_ptr error_;
  bool over_ = false;
};

}  // namespace

chunk_pipeline::chunk_pipeline(chunk_options options, const device_ref& device) : options_(options), device_(device) {
  if (options_.chunk_bytes == 0 || options_.depth == 0 || options_.readers == 0) {
    throw error({status::invalid_value, 0, "chunk_pipeline", "chunk_bytes, depth and readers must be at least 1"});
  }
}

chunk_report chunk_pipeline::run(const mapped_file& in, mapped_file* out, const compute& work, const progress& tell,
                                 const std::stop_token& stop) const {
  if (out && out->size_bytes() < in.size_bytes()) {
    throw error({status::invalid_value, 0, "chunk_pipeline",
                 fmt::format("{}: {} bytes, the input has {}", out->path(), out->size_bytes(), in.size_bytes())});
  }
  if (out) (void)out->writable_bytes();  // says now, not after the first piece, that it is read-only
  if (!options_.overlap) return run_plain(in, out, work, tell, stop);
  return overlapped_run(options_, device_, in, out).run(work, tell, stop);
}

chunk_report chunk_pipeline::run_plain(const mapped_file& in, mapped_file* out, const compute& work,
                                       const progress& tell, const std::stop_token& stop) const {
  const stream_ref stream(device_);
  const std::size_t size = in.size_bytes();
  device_buffer there(std::min(options_.chunk_bytes, size), stream, "chunk");
  chunk_report report;
  for (std::size_t offset = 0; offset < size; offset += options_.chunk_bytes) {
    if (stop.stop_requested()) {
      report.stopped = true;
      break;
    }
    const scoped_range scope("chunk");
    const std::size_t bytes = std::min(options_.chunk_bytes, size - offset);
    in.require_whole();
    copy(there.data(), in.bytes().data() + offset, bytes, stream);
    work({report.chunks, offset, there.as<std::byte>().first(bytes)}, stream);
    stream.sync();
    if (out) {
      out->require_whole();
      copy(out->writable_bytes().data() + offset, there.data(), bytes, stream);
    }
    report.bytes += bytes;
    ++report.chunks;
    if (tell) tell(static_cast<double>(offset + bytes) / static_cast<double>(size));
  }
  return report;
}

}  // namespace sluice::runtime
