#include "core/trace/file/chunk_pages.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice::trace {
namespace {

/// Collects the chunks that a walk finds, and sorts them into index order.
class walked_lists final : public chunk_source::walk_events {
 public:
  void found(const chunk_info& chunk) override {
    if (is_summary(chunk.type)) summaries.push_back(chunk);
    if (is_known(chunk.type)) chunks.push_back(chunk);
  }
  void skipped(std::uint64_t /*at*/, std::uint64_t /*bytes*/) override {}
  void flushed(std::uint64_t /*next*/) override {}

  std::vector<chunk_info> chunks;
  std::vector<chunk_info> summaries;
};

}  // namespace

std::shared_ptr<const chunk_pages> chunk_pages::open(const chunk_source& source, std::uint64_t file_size) {
  std::shared_ptr<chunk_pages> output(new chunk_pages(source, file_size));
  return output->load() ? output : nullptr;
}

bool chunk_pages::load() {
  const auto end = from_.read_trailer(file_size_);
  if (!end || file_size_ < sizeof(file_header) + sizeof(trailer) + pages_mark_bytes) return false;
  const std::uint64_t mark_at = file_size_ - sizeof(trailer) - pages_mark_bytes;
  const auto is_index = [](const result<chunk_header>& header) {
    return header && is_sound(*header) && header->type == static_cast<std::uint16_t>(row_type::index);
  };
  const auto mark = from_.read_object<chunk_header>(mark_at);
  if (!is_index(mark) || mark->rows != 0 || mark->stored_bytes + sizeof(chunk_header) != pages_mark_bytes) return false;
  begin_ = end->index_offset;
  const auto list_at = static_cast<std::uint64_t>(mark->min_time);
  if (begin_ > mark_at || list_at < sizeof(file_header) || list_at > begin_) return false;
  const auto list = from_.read_object<chunk_header>(list_at);
  if (!is_index(list) || list_at + sizeof(chunk_header) + list->stored_bytes != begin_) return false;
  if (!from_.rows<index_page_row>(
          {row_type::index, list->rows, list_at, list->stored_bytes, list->raw_bytes, 0, 0, 0, 0}, pages_))
    return false;

  std::uint64_t at = 0, chunks = 0;
  for (const index_page_row& page : pages_) {
    const bool of_summaries = page.summaries != 0;
    if (page.offset != at || page.rows == 0 || page.rows > max_chunk_rows) return false;
    if (of_summaries == ((page.tables | page.events) != 0)) return false;
    if (lists_any(page, [](row_type type) { return !is_known(type) && !is_summary(type); })) return false;
    if (!of_summaries && pages_of_events_ != first_.size()) return false;
    if (!of_summaries) ++pages_of_events_;
    first_.push_back(chunks);
    at += sizeof(chunk_header) + page.stored_bytes;
    chunks += page.rows;
  }
  first_.push_back(chunks);
  kept_.resize(pages_.size());
  // Every chunk has a header in the file, which limits the number of chunks.
  return begin_ + at == mark_at && chunks <= file_size_ / sizeof(chunk_header);
}

result<void> chunk_pages::decode(std::size_t number, page& into) const {
  const index_page_row& about = pages_[number];
  const chunk_info where{row_type::index, about.rows, begin_ + about.offset, about.stored_bytes, 0, 0, 0, 0, 0};
  const std::size_t before = into.size();
  if (auto got = from_.read_index_page(where, into); !got) return got;
  const bool of_summaries = about.summaries != 0;
  const auto is_foreign = [=](const chunk_info& chunk) {
    return of_summaries ? !is_summary(chunk.type) : !is_known(chunk.type);
  };
  if (std::any_of(into.begin() + static_cast<std::ptrdiff_t>(before), into.end(), is_foreign))
    return fail(error_code::corrupt, "a page of the index lists other chunks than it should", from_.path(), {},
                where.offset);
  return {};
}

void chunk_pages::walk() const {
  walked_lists lists;
  std::uint64_t at = sizeof(file_header);
  from_.walk(at, file_size_, lists);
  std::stable_sort(lists.summaries.begin(), lists.summaries.end(), before_in_index{});
  const std::size_t listed = first_.back(), listed_before = first_[pages_of_events_];
  const std::size_t found =
      std::min(lists.chunks.size(), listed_before) + std::min(lists.summaries.size(), listed - listed_before);
  walked_chunks_ = std::move(lists.chunks);
  walked_chunks_.resize(listed_before);
  walked_chunks_.insert(walked_chunks_.end(), lists.summaries.begin(), lists.summaries.end());
  walked_chunks_.resize(listed);
  std::string said = "the index of the file is damaged; its chunks were found without it";
  if (found < listed) said += ", except " + std::to_string(listed - found) + " of " + std::to_string(listed);
  const std::scoped_lock lock(mutex_);
  damage_ = std::move(said);
}

std::string chunk_pages::damage() const {
  const std::scoped_lock lock(mutex_);
  return damage_;
}

chunk_pages::page chunk_pages::without_index(std::size_t number, const error& why) const {
  if (why.code == error_code::io) {  // The other chunks cannot be read either, such as after a connection has ended.
    const std::scoped_lock lock(mutex_);
    damage_ = why.message + ": some data is missing";
    return std::vector<chunk_info>(pages_[number].rows);
  }
  std::call_once(walked_, [this] { walk(); });
  return {walked_chunks_.begin() + static_cast<std::ptrdiff_t>(first_[number]),
          walked_chunks_.begin() + static_cast<std::ptrdiff_t>(first_[number + 1])};
}

std::shared_ptr<const chunk_pages::page> chunk_pages::read(std::size_t number) const {
  {
    const std::scoped_lock lock(mutex_);
    if (kept_[number]) return kept_[number];
  }
  page output;
  output.reserve(pages_[number].rows);
  if (const auto got = decode(number, output); !got) output = without_index(number, got.error());
  auto shared = std::make_shared<const page>(std::move(output));
  const std::scoped_lock lock(mutex_);
  if (!kept_[number]) kept_[number] = std::move(shared);
  return kept_[number];
}

void chunk_pages::read_all(std::size_t first, std::size_t end, std::vector<chunk_info>& infos) const {
  infos.reserve(infos.size() + first_[end] - first_[first]);
  for (std::size_t number = first; number < end; ++number) {
    const std::size_t before = infos.size();
    const auto got = decode(number, infos);
    if (got) continue;
    infos.resize(before);
    const page others = without_index(number, got.error());
    infos.insert(infos.end(), others.begin(), others.end());
  }
}

bool chunk_pages::read_tables(std::vector<chunk_info>& tables) const {
  for (std::size_t number = 0; number < pages_of_events_; ++number) {
    if (pages_[number].tables == 0) continue;
    page output;
    if (!decode(number, output)) return false;
    std::copy_if(output.begin(), output.end(), std::back_inserter(tables),
                 [](const chunk_info& chunk) { return is_table(chunk.type); });
  }
  return true;
}

}  // namespace sluice::trace
