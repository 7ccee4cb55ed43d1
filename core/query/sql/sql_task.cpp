#include "core/query/sql/sql_task.hpp"

#include <chrono>

#include "core/base/threads/lower_priority.hpp"
#include "core/query/sql/sql_text.hpp"

namespace sluice::query {
namespace {

using steady = std::chrono::steady_clock;
constexpr auto between_looks = std::chrono::milliseconds(50);

}  // namespace

const std::string& sql_result::text(std::uint64_t row, std::size_t column) const {
  return blocks[row / block_rows]->cells[(row % block_rows) * columns.size() + column];
}
bool sql_result::is_number(std::uint64_t row, std::size_t column) const {
  return blocks[row / block_rows]->numbers[(row % block_rows) * columns.size() + column];
}
std::uint64_t sql_result::id(std::uint64_t row, std::size_t column) const {
  return static_cast<std::uint64_t>(blocks[row / block_rows]->values[(row % block_rows) * columns.size() + column]);
}

sql_task::sql_task(std::shared_ptr<const trace::snapshot> trace, std::string text, sql_task_options options)
    : trace_(std::move(trace)), text_(std::move(text)), options_(std::move(options)) {
  if (auto started = thread_.start_or_run([this] { work(); }, "query"); !started) {
    made_.failure = started.error();
    publish(true);
  }
}

sql_task::sql_task(std::string text, const asker& ask, std::function<void()> wake) : text_(std::move(text)) {
  withdraw_ = ask(text_, [into = shown_, wake = std::move(wake)](sql_result came) {
    came.done = true;
    into->put(std::make_shared<const sql_result>(std::move(came)));
    if (wake) wake();
  });
}

sql_task::~sql_task() {
  cancel();
  thread_.join();
}

void sql_task::cancel() {
  if (cancelled_.exchange(true) || !withdraw_ || done()) return;
  withdraw_();
  auto result = std::make_shared<sql_result>();
  result->done = true;
  result->failure = error{error_code::cancelled, "the query was stopped", {}, error::no_offset, {}};
  shown_->put(std::move(result));
}

void sql_task::shown::put(std::shared_ptr<const sql_result> next) {
  const std::scoped_lock lock(mutex);
  if (done.load(std::memory_order_relaxed)) return;  // The query was stopped already.
  result = std::move(next);
  if (result->done) done.store(true, std::memory_order_release);
}

std::shared_ptr<const sql_result> sql_task::found() const {
  const std::scoped_lock lock(shown_->mutex);
  return shown_->result;
}

void sql_task::publish(bool last) {
  made_.done = last;
  auto now = std::make_shared<sql_result>(made_);
  if (!block_.cells.empty()) now->blocks.push_back(std::make_shared<const sql_block>(block_));
  shown_->put(std::move(now));
  if (options_.wake) options_.wake();
}

void sql_task::work() {
  lower_priority();
  const auto begin = steady::now();
  const auto seconds = [&] { return std::chrono::duration<double>(steady::now() - begin).count(); };
  sql_options options;
  options.cancelled = &cancelled_;
  const auto opened = sql_database::open(trace_, options);
  const auto run = [&]() -> result<void> {
    if (!opened) return tl::unexpected(opened.error());
    auto rows = (*opened)->prepare(text_);
    if (!rows) return tl::unexpected(rows.error());
    made_.columns.assign(rows->columns().begin(), rows->columns().end());
    publish(false);
    std::size_t bytes = 0;
    auto reported = steady::now();
    for (;;) {
      const auto more = rows->step();
      if (!more) return tl::unexpected(more.error());
      if (!*more) return {};
      if (made_.rows >= options_.rows || bytes >= options_.bytes) {
        made_.cut = true;
        return {};
      }
      for (std::size_t i = 0; i < made_.columns.size(); ++i) {
        const cell value = rows->at(i);
        block_.cells.push_back(to_text(value));
        block_.values.push_back(value.integer);
        block_.numbers.push_back(value.type == cell::kind::integer || value.type == cell::kind::real);
        bytes += block_.cells.back().size() + sizeof(std::string) + sizeof(std::int64_t);
      }
      if (++made_.rows % sql_result::block_rows == 0) {
        made_.blocks.push_back(std::make_shared<const sql_block>(std::move(block_)));
        block_ = {};
      }
      if (made_.rows % 64 == 0 && steady::now() - reported > between_looks) {
        reported = steady::now();
        made_.seconds = seconds();
        publish(false);
      }
    }
  };
  if (auto ran = run(); !ran) made_.failure = ran.error();
  made_.seconds = seconds();
  publish(true);
}

}  // namespace sluice::query
