#include "core/summary/passes/reorder_thread.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/threads/lower_priority.hpp"
#include "core/summary/passes/planned_sections.hpp"

namespace sluice::summary {
namespace {

/// If a recording takes more rounds than this, it is read less often.
constexpr std::uint64_t rounds = 32;
/// Each round copies the tables. If the tables have more rows than this, the copies would cost more than they save at
/// the end.
constexpr std::size_t max_table_rows = std::size_t{1} << 20;

bool has_name(const trace::file_writer& file) { return !file.path().starts_with("/proc/self/fd/"); }

std::size_t rows_in(const trace::tables& tables) {
  return tables.strings.rows().size() + tables.stacks.rows().size() + tables.frames.rows().size();
}

}  // namespace

void reorder_thread::poll(const trace::file_writer& file) {
  if (given_up_ || stopping_ || file.events() < options_.min_events) return;
  const std::uint64_t round = std::clamp(file.events() / rounds, options_.events_a_round,
                                         std::max(options_.events_a_round, options_.max_events_a_round));
  if (file.events() - looked_at_ < round) return;
  looked_at_ = file.events();
  if (!std::exchange(begun_, true)) begin(file);
  {
    const std::scoped_lock lock(mutex_);
    due_ = true;
  }
  changed_.notify_one();
}

void reorder_thread::begin(const trace::file_writer& file) {
  given_up_ = true;
  if (!has_threads() || !file.is_at_its_path()) return;
  path_ = file.path();
  auto beside = reordered_copy::beside(file, options_.section_events);
  if (!beside || has_name((*beside)->file())) return;
  copy_ = std::move(*beside);
  given_up_ = false;
  if (!thread_.start([this] { work(); })) give_up();
}

void reorder_thread::give_up() {
  given_up_ = true;
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
}

std::unique_ptr<reordered_copy> reorder_thread::take() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
  if (given_up_) copy_.reset();
  return std::move(copy_);
}

void reorder_thread::work() {
  lower_priority();
  try {
    using steady = std::chrono::steady_clock;
    const auto opened = trace::file::open(path_, {.cache_bytes = 0});
    if (!opened) given_up_ = true;
    while (opened && is_due()) {
      const auto begin = steady::now();
      if (!go_on_with(**opened)) break;
      // Rest for half as long as the work took. The thread and the writer together take at most one core.
      const auto end = steady::now();
      std::unique_lock lock(mutex_);
      changed_.wait_until(lock, end + (end - begin) / 2, [this] { return stopping_.load(); });
    }
  } catch (const std::exception&) {  // Out of memory.
    given_up_ = true;
  }
  if (given_up_) copy_.reset();
}

trace::time_ns reorder_thread::newest_time(const trace::snapshot& now) {
  newest_ = std::max(newest_, newest_begin(now.chunks().subspan(std::exchange(chunks_, now.chunks().size()))));
  return newest_;
}

/// Waits until there is more to do. Returns false if the thread must stop.
bool reorder_thread::is_due() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping_ || due_; });
  due_ = false;
  return !stopping_;
}

bool reorder_thread::go_on_with(trace::file& growing) {
  std::error_code none;
  const auto room = std::filesystem::space(std::filesystem::path(path_).parent_path(), none);
  if (none || room.available < options_.min_room) given_up_ = true;
  if (given_up_ || !growing.refresh()) {
    given_up_ = true;
    return false;
  }
  auto now = growing.latest();
  if (!now->warnings().empty() || rows_in(now->tables()) > max_table_rows) given_up_ = true;
  if (given_up_) return false;
  const trace::time_ns over = newest_time(*now) - options_.waits_for_late_rows;
  const auto grown = copy_->grow(std::move(now), over, [this] { return !stopping_; });
  if (!grown && grown.error().code != error_code::cancelled) given_up_ = true;
  if (grown) copy_->sum_up_so_far([this] { return !stopping_; });
  return grown.has_value();
}

}  // namespace sluice::summary
