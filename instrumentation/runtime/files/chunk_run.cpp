#include "instrumentation/runtime/files/chunk_run.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/state/layer_log.hpp"

namespace sluice::runtime {

std::int64_t chunk_clock::now() const {
  if (clock_) return clock_->now();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// --- the source of a piece ---------------------------------------------------------------------------------

chunk_source_choice::chunk_source_choice(chunk_source wanted, bool can_register, std::uint64_t count,
                                         std::uint64_t parts, std::uint64_t depth, unsigned readers)
    : parts_(parts), depth_(depth), readers_(readers) {
  if (wanted != chunk_source::automatic) {
    fixed_ = wanted == chunk_source::registered && !can_register ? chunk_source::staged : wanted;
  } else if (!can_register || depth < registered_trials || count < 4 * depth) {
    fixed_ = chunk_source::staged;
  }
}

bool chunk_source_choice::decided() const noexcept {
  return staged_.size() == depth_ * parts_ && registered_.size() == registered_trials;
}

bool chunk_source_choice::known(std::uint64_t i) const noexcept {
  // Does not wait for the trial: the pieces right after it are staged until it ends.
  return fixed_ != chunk_source::automatic || i < 2 * depth_ || decided();
}

chunk_source chunk_source_choice::of(std::uint64_t i) const {
  if (fixed_ != chunk_source::automatic) return fixed_;
  if (i < 2 * depth_)
    return i >= depth_ && i < depth_ + registered_trials ? chunk_source::registered : chunk_source::staged;
  // A registered piece must also be unregistered, which the trial does not measure.
  constexpr double with_unregistering = 1.5;
  return registered_rate() > with_unregistering * staged_rate() ? chunk_source::registered : chunk_source::staged;
}

void chunk_source_choice::filled(std::uint64_t i, chunk_source source, std::size_t bytes, std::int64_t ns,
                                 std::int64_t now) {
  if (fixed_ != chunk_source::automatic || i >= depth_ + registered_trials) return;
  (source == chunk_source::registered ? registered_ : staged_)
      .push_back(static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(ns, 1)) * 1e9);
  decided_at_ = std::max(decided_at_, now);
}

namespace {

// The median, so that a single disturbed piece does not decide.
double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

double chunk_source_choice::staged_rate() const { return readers_ * median(staged_); }

double chunk_source_choice::registered_rate() const { return median(registered_); }

void chunk_source_choice::cannot_register() noexcept { fixed_ = chunk_source::staged; }

void chunk_source_choice::add_to(chunk_report& report) const {
  if (fixed_ != chunk_source::automatic) {
    report.source = fixed_;
  } else if (decided()) {
    report.source = of(2 * depth_);
    report.staged_rate = staged_rate();
    report.registered_rate = registered_rate();
  }
}

// --- the run -----------------------------------------------------------------------------------------------

namespace {

std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// True if the whole mapping is already page-locked.
bool is_pinned(const mapped_file& file, const device_ref& device) {
  const auto bytes = file.bytes();
  return device.find_memory_space(bytes.data()) == memory_space::pinned &&
         device.find_memory_space(&bytes.back()) == memory_space::pinned;
}

chunk_source wanted_source(const chunk_options& options, const mapped_file& in, const device_ref& device) {
  if (is_pinned(in, device)) return chunk_source::pinned;
  return options.source == chunk_source::pinned ? chunk_source::automatic : options.source;
}

// Registered pieces stay registered to the end, because unregistering waits for the
// whole device. So all of them must fit into memory, with space left for other use.
bool can_register(const chunk_options& options, const mapped_file& in) {
  const auto half = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) / 2 * page_bytes();
  return in.access() == file_access::read_only && options.chunk_bytes % page_bytes() == 0 && in.size_bytes() <= half;
}

}  // namespace

chunk_run::chunk_run(const chunk_options& options, const device_ref& device,
                     const std::vector<std::unique_ptr<chunk_slot>>& slots, const mapped_file& in, mapped_file* out)
    : options_(options),
      device_(device),
      slots_(slots),
      in_(in),
      out_(out),
      time_(device.backend().clock()),
      count_((in.size_bytes() + options.chunk_bytes - 1) / options.chunk_bytes),
      depth_(std::min<std::uint64_t>(slots.size(), count_)),
      parts_((options.chunk_bytes + largest_part - 1) / largest_part),
      from_(count_, chunk_source::staged),
      choice_(wanted_source(options, in, device), can_register(options, in), count_, parts_, depth_, reader_count()),
      planned_(count_, chunk_source::automatic),
      passed_(count_),
      filled_(count_, not_yet),
      launched_(count_, not_yet),
      filled_at_(count_, not_yet),
      to_fill_(count_, parts_),
      to_retire_(count_, parts_),
      end_(count_),
      failed_at_(count_) {}

unsigned chunk_run::reader_count() const {
  return static_cast<unsigned>(std::min<std::uint64_t>(options_.readers, depth_ * parts_));
}

chunk_run::range chunk_run::part(std::uint64_t i, std::uint64_t k) const {
  const std::size_t begin = k * largest_part, end = get_bytes(i);
  return {std::min(begin, end), begin < end ? std::min(largest_part, end - begin) : 0};
}

std::span<std::byte> chunk_run::staging(std::uint64_t i, range which) const {
  return get_slot(i).pinned.as<std::byte>().subspan(which.begin, which.bytes);
}

std::size_t chunk_run::get_bytes(std::uint64_t i) const {
  return std::min<std::size_t>(options_.chunk_bytes, in_.size_bytes() - get_offset(i));
}

std::byte* chunk_run::mapped(std::uint64_t i) const {
  return const_cast<std::byte*>(in_.bytes().data()) + get_offset(i);  // driver calls do not accept const pointers
}

chunk_report chunk_run::run(const chunk_pipeline::compute& work, const chunk_pipeline::progress& on_progress,
                            const std::stop_token& stop) {
  const std::int64_t start = time_.now();
  const unsigned count = reader_count();
  std::vector<std::thread> readers;
  try {
    for (unsigned r = 0; r < count; ++r) readers.emplace_back([this, r, count, start] { read(r, count, start); });
    launch_all(work, on_progress, stop);
  } catch (...) {
    // A thread could not be started, or the progress callback threw: let running pieces finish first.
    fail_at(launched_count_, launched_count_, std::current_exception());
  }
  for (std::thread& t : readers) t.join();
  time_.receive(latest_);
  // No work may still use the slots at the next run, even after an error.
  for (const auto& slot : slots_) {
    const auto done = device_.backend().sync_stream(stream_ref(slot->work).handle());
    if (!done && !error_) error_ = std::make_exception_ptr(error(done.error()));
  }
  unregister_all();
  if (error_) rethrow();
  choice_.add_to(report_);
  return report_;
}

void chunk_run::rethrow() const {
  try {
    std::rethrow_exception(error_);
  } catch (const error& e) {
    const std::uint64_t good = std::min<std::uint64_t>(get_offset(failed_at_), in_.size_bytes());
    backend::failure failure = e.cause();
    if (out_) failure.detail += fmt::format("; the first {} bytes of {} are complete", good, out_->path());
    throw chunk_error(std::move(failure), good);
  }
}

// --- enqueuing ---------------------------------------------------------------------------------------------

void chunk_run::launch_all(const chunk_pipeline::compute& work, const chunk_pipeline::progress& on_progress,
                           const std::stop_token& stop) {
  for (std::uint64_t i = 0; i < count_; ++i) {
    if (!await_filled(i)) return;
    if (stop.stop_requested()) {
      report_.stopped = true;
      return stop_at(i);
    }
    try {
      launch(i, work);
    } catch (...) {
      return fail_at(i, i, std::current_exception());
    }
    {
      const std::lock_guard lock(mutex_);
      launched_[i] = time_.now();
      launched_count_ = i + 1;
    }
    launched_more_.notify_all();
    if (on_progress) on_progress(static_cast<double>(i + 1) / static_cast<double>(count_));
  }
}

void chunk_run::launch(std::uint64_t i, const chunk_pipeline::compute& work) {
  chunk_slot& s = get_slot(i);
  const stream_ref stream(s.work);
  const std::size_t bytes = get_bytes(i);
  const void* source = from_[i] == chunk_source::staged ? s.pinned.data() : mapped(i);
  copy_async(s.there.data(), source, bytes, stream);
  work({i, get_offset(i), s.there.as<std::byte>().first(bytes)}, stream);
  if (out_) copy_async(s.pinned.data(), s.there.data(), bytes, stream);
  s.done.record(stream);
}

// --- reading and writing -----------------------------------------------------------------------------------

void chunk_run::read(unsigned reader, unsigned readers, std::int64_t start) noexcept {
  pthread_setname_np(pthread_self(), fmt::format("reader {}", reader).c_str());
  time_.begin_at(start);
  for (std::uint64_t turn = 0;; ++turn) {
    const std::uint64_t taken = time_.simulated() ? reader + turn * readers : next_.fetch_add(1);
    const std::uint64_t i = taken / parts_, k = taken % parts_;
    if (i >= count_ + depth_) break;  // the last pieces are retired in extra turns after the last piece
    if (i >= depth_) retire(i - depth_, k);
    if (i < count_) fill(i, k);
  }
  const std::lock_guard lock(mutex_);
  latest_ = std::max(latest_, time_.now());
}

void chunk_run::fill(std::uint64_t i, std::uint64_t k) noexcept {
  range mine = part(i, k);
  std::int64_t ns = 0;
  chunk_source source = chunk_source::automatic;
  try {
    source = await_source(i, k);
    if (source == chunk_source::automatic) return;
    if (source != chunk_source::staged && k == 0) {
      const bool ready = source != chunk_source::registered || register_piece(i, ns);
      from_[i] = ready ? source : chunk_source::staged;
      if (!ready) {
        source = chunk_source::staged;
        for (const std::uint64_t other : stage_instead(i)) stage(i, part(i, other));
      }
    }
    if (source == chunk_source::staged) {
      const std::int64_t begin = time_.now();
      stage(i, mine);
      ns = time_.now() - begin;
    }
  } catch (...) {
    return fail_at(i, i, std::current_exception());
  }
  const std::lock_guard lock(mutex_);
  const std::int64_t now = time_.now();
  if (source == chunk_source::registered) mine = {0, get_bytes(i)};
  if (source == chunk_source::staged || k == 0) choice_.filled(i, source, mine.bytes, ns, now);
  filled_at_[i] = std::max(filled_at_[i], now);
  if (--to_fill_[i] != 0) return;
  filled_[i] = filled_at_[i];
  filled_more_.notify_one();
  if (i < 2 * depth_) launched_more_.notify_all();  // readers may wait for the end of the trial
}

void chunk_run::stage(std::uint64_t i, range which) const {
  if (which.bytes != 0) in_.read_at(get_offset(i) + which.begin, staging(i, which));
}

std::vector<std::uint64_t> chunk_run::stage_instead(std::uint64_t i) {
  const std::lock_guard lock(mutex_);
  planned_[i] = chunk_source::staged;
  choice_.cannot_register();
  launched_more_.notify_all();
  // The readers of other parts see the new plan; they stage their parts after writing out the results in that space.
  return std::exchange(passed_[i], {});
}

bool chunk_run::register_piece(std::uint64_t i, std::int64_t& ns) {
  // One thread at a time, like the driver, so that the measured time contains no waiting.
  const std::lock_guard alone(registering_);
  const std::uint64_t logged = layer_log::on() ? layer_log::now() : 0;
  const std::int64_t begin = time_.now();
  // Loads the pages. Fails if the file has become shorter, where an
  // access would raise SIGBUS. Staging then finds the end of the file.
  if (madvise(mapped(i), get_bytes(i), MADV_POPULATE_READ) != 0 && errno != EINVAL) return false;
  if (!device_.backend().register_host(mapped(i), get_bytes(i), {.read_only = true})) return false;
  ns = time_.now() - begin;
  layer_log::file_io(trace::file_operation::map, in_.path(), get_offset(i), get_bytes(i), logged);
  return true;
}

void chunk_run::unregister_all() noexcept {
  for (std::uint64_t i = 0; i < count_; ++i) {
    if (from_[i] == chunk_source::registered) (void)device_.backend().unregister_host(mapped(i));
  }
}

void chunk_run::retire(std::uint64_t i, std::uint64_t k) noexcept {
  if (!await_launched(i)) return;
  const range mine = part(i, k);
  try {
    get_slot(i).done.sync();
    // If the file was truncated meanwhile, the data copied from the lost pages is not the file's.
    if (from_[i] != chunk_source::staged) in_.require_whole();
    if (out_ && mine.bytes != 0) out_->write_at(get_offset(i) + mine.begin, staging(i, mine));
  } catch (...) {
    std::unique_lock lock(mutex_);
    const std::uint64_t end = launched_count_;
    lock.unlock();
    return fail_at(i, end, std::current_exception());
  }
  const std::lock_guard lock(mutex_);
  if (--to_retire_[i] != 0) return;
  report_.bytes += get_bytes(i);
  ++report_.chunks;
}

// --- communication between threads -------------------------------------------------------------------------

void chunk_run::stop_at(std::uint64_t end) {
  const std::lock_guard lock(mutex_);
  end_ = std::min(end_, end);
  filled_more_.notify_all();
  launched_more_.notify_all();
}

void chunk_run::fail_at(std::uint64_t at, std::uint64_t end, std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    if (!error_ || at < failed_at_) {
      error_ = std::move(error);
      failed_at_ = at;
    }
  }
  stop_at(end);
}

bool chunk_run::await_filled(std::uint64_t i) {
  std::unique_lock lock(mutex_);
  filled_more_.wait(lock, [&] { return i >= end_ || filled_[i] != not_yet; });
  if (i >= end_) return false;
  time_.receive(filled_[i]);
  return true;
}

bool chunk_run::await_launched(std::uint64_t i) {
  std::unique_lock lock(mutex_);
  launched_more_.wait(lock, [&] { return i >= end_ || launched_[i] != not_yet; });
  if (launched_[i] == not_yet) return false;
  time_.receive(launched_[i]);
  return true;
}

chunk_source chunk_run::await_source(std::uint64_t i, std::uint64_t k) {
  std::unique_lock lock(mutex_);
  if (planned_[i] == chunk_source::automatic && i < end_) {
    launched_more_.wait(lock, [&] { return i >= end_ || choice_.known(i); });
    if (i < end_ && planned_[i] == chunk_source::automatic) planned_[i] = choice_.of(i);
  }
  // Also without waiting: real thread timing must not affect the simulated clock.
  if (i >= 2 * depth_) time_.receive(choice_.decided_at());
  if (i >= end_) return chunk_source::automatic;
  if (planned_[i] == chunk_source::registered && k != 0) passed_[i].push_back(k);
  return planned_[i];
}

}  // namespace sluice::runtime
