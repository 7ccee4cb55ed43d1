#include "core/query/sql/sql_track.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "core/base/lower_case.hpp"
#include "core/base/saturating.hpp"
#include "core/base/threads/lower_priority.hpp"
#include "core/index/event_store.hpp"
#include "core/timeline/slice_kind.hpp"

namespace sluice::query {
namespace {

std::optional<std::size_t> column_named(std::span<const sql_column> columns,
                                        std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (lower_case(columns[i].name) == name) return i;
  return std::nullopt;
}

/// Returns the number in a cell, rounded, or nullopt if the cell has no number.
std::optional<time_ns> number_in(const cell& subject) {
  if (subject.type == cell::kind::integer) return subject.integer;
  if (subject.type == cell::kind::real && !std::isnan(subject.real)) return saturating_cast<time_ns>(subject.real);
  return std::nullopt;
}

/// Returns at most `longest` bytes of a text, without an incomplete character at the end.
std::string_view cut_text(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return text;
  std::size_t size = longest;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) --size;
  return text.substr(0, size);
}

}  // namespace

std::optional<track_columns> find_track_columns(std::span<const sql_column> columns) {
  const auto begin = column_named(columns, {"begin", "start", "time", "born", "timestamp"});
  if (!begin) return std::nullopt;
  track_columns output;
  output.begin = *begin;
  output.end = column_named(columns, {"end", "stop", "died"});
  output.duration = column_named(columns, {"duration", "lifetime"});
  output.name = column_named(columns, {"name", "label", "line", "text"});
  for (std::size_t i = 0; i < columns.size() && !output.id; ++i)
    if (columns[i].id == id_kind::event || columns[i].id == id_kind::block) output.id = i;
  return output;
}

std::string_view sql_track::name(trace::string_id id) const {
  const std::uint64_t at = raw(id);
  return at == 0 || at > names_.size() ? std::string_view{} : names_[at - 1];
}

trace::string_id sql_track::intern(std::string_view name) {
  const std::string_view cut = cut_text(name, longest_name);
  if (cut.empty()) return trace::string_id::none;
  if (const auto known = known_names_.find(std::string(cut)); known != known_names_.end())
    return trace::string_id{known->second};
  if (names_.size() >= name_limit) return trace::string_id::none;
  names_.emplace_back(cut);
  known_names_.emplace(names_.back(), names_.size());
  return trace::string_id{names_.size()};
}

void sql_track::add(const sql_statement& row, const track_columns& columns) {
  const auto begin = number_in(row.at(columns.begin));
  if (!begin) {
    ++left_out_;
    return;
  }
  timeline::slice_item item;
  item.begin = bounded(*begin);
  std::optional<time_ns> end;
  if (columns.end) end = number_in(row.at(*columns.end));
  if (!columns.end && columns.duration)
    if (const auto duration = number_in(row.at(*columns.duration))) end = saturating_sum(item.begin, *duration);
  // A result whose rows are single points in time has neither column.
  if (!columns.end && !columns.duration) end = item.begin;
  item.end = std::max(item.begin, end ? bounded(*end) : end_of_all_);
  item.kind = static_cast<std::uint8_t>(timeline::slice_kind::range);
  if (columns.name) {
    const cell name = row.at(*columns.name);
    if (name.type == cell::kind::text) item.name = intern(name.text);
  }
  if (columns.id) {
    const cell id = row.at(*columns.id);
    if (id.type == cell::kind::integer && id.integer > 0)
      item.event = trace::event_id{static_cast<std::uint64_t>(id.integer)};
  }
  slices_.add(item);
}

/// Assigns the rows to lanes. Discards rows in lanes that are not drawn, so that drawing does not iterate over them.
void sql_track::settle() {
  slices_.settle();
  rows_ = slices_.size();
  lanes_ = slices_.lanes();
  if (lanes_ <= drawn_lanes) return;
  timeline::slice_set drawn;
  slices_.for_each(all_time.begin, all_time.end, [&](const timeline::slice_item& each, std::uint16_t lane) {
    if (lane < drawn_lanes) drawn.add(each);
  });
  drawn.settle();
  slices_ = std::move(drawn);
}

void sql_track::draw(time_range range, std::uint32_t width, std::vector<timeline::drawn_slice>& out) const {
  const time_range shown = bounded(range);
  slices_.draw(shown.begin, shown.end, std::max<std::uint32_t>(width, 1), out);
}

sql_track_task::sql_track_task(std::shared_ptr<const trace::snapshot> trace, std::string text,
                               sql_track_options options)
    : trace_(std::move(trace)), text_(std::move(text)), options_(std::move(options)) {
  const auto run = [this] {
    lower_priority();
    auto found = read();
    {
      const std::scoped_lock lock(mutex_);
      if (found) track_ = std::move(*found);
      if (!found) failure_ = found.error();
    }
    done_.store(true, std::memory_order_release);
    if (options_.wake) options_.wake();
  };
  if (auto started = thread_.start_or_run(run, "query"); !started) {
    failure_ = started.error();
    done_ = true;
  }
}

sql_track_task::~sql_track_task() {
  cancelled_ = true;
  thread_.join();
}

std::shared_ptr<const sql_track> sql_track_task::track() const {
  const std::scoped_lock lock(mutex_);
  return track_;
}

std::optional<error> sql_track_task::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

result<std::shared_ptr<const sql_track>> sql_track_task::read() {
  sql_options options;
  options.cancelled = &cancelled_;
  options.deadline = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                            std::chrono::duration<double>(options_.seconds));
  const auto opened = sql_database::open(trace_, options);
  if (!opened) return tl::unexpected(opened.error());
  auto rows = (*opened)->prepare(text_);
  if (!rows) return tl::unexpected(rows.error());
  const auto columns = find_track_columns(rows->columns());
  if (!columns)
    return fail(error_code::invalid_argument, "the rows have no time", "query", "select a column named begin or time");
  auto output = std::make_shared<sql_track>();
  output->end_of_all_ = index::recorded_range(*trace_).end;
  output->ids_are_blocks_ = columns->id && rows->columns()[*columns->id].id == id_kind::block;
  for (;;) {
    const auto more = rows->step();
    if (!more) return tl::unexpected(more.error());
    if (!*more) break;
    if (rows_.load(std::memory_order_relaxed) >= sql_track::row_limit) {
      output->cut_ = true;
      break;
    }
    rows_.fetch_add(1, std::memory_order_relaxed);
    output->add(*rows, *columns);
  }
  output->settle();
  output->known_names_ = {};
  return output;
}

}  // namespace sluice::query
