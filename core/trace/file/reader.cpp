#include "core/trace/file/reader.hpp"

#include <algorithm>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/thread_scratch.hpp"
#include "core/trace/columns/codec.hpp"
#include "core/trace/file/byte_source.hpp"
#include "core/trace/file/checksum.hpp"
#include "core/trace/file/chunk_cache.hpp"
#include "core/trace/file/chunk_pages.hpp"
#include "core/trace/file/chunk_source.hpp"

namespace sluice::trace {
namespace {

/// This bit is set in the offset of a summary chunk that is in the second of two files. No file is that long.
constexpr std::uint64_t in_rest = std::uint64_t{1} << 63U;

template <class Row>
auto& get_table(tables& all_tables) {
  if constexpr (std::is_same_v<Row, string_row>)
    return all_tables.strings;
  else if constexpr (std::is_same_v<Row, host_row>)
    return all_tables.hosts;
  else if constexpr (std::is_same_v<Row, process_row>)
    return all_tables.processes;
  else if constexpr (std::is_same_v<Row, thread_row>)
    return all_tables.threads;
  else if constexpr (std::is_same_v<Row, device_row>)
    return all_tables.devices;
  else if constexpr (std::is_same_v<Row, context_row>)
    return all_tables.contexts;
  else if constexpr (std::is_same_v<Row, stream_row>)
    return all_tables.streams;
  else if constexpr (std::is_same_v<Row, pool_row>)
    return all_tables.pools;
  else if constexpr (std::is_same_v<Row, counter_row>)
    return all_tables.counters;
  else if constexpr (std::is_same_v<Row, stack_row>)
    return all_tables.stacks;
  else if constexpr (std::is_same_v<Row, frame_row>)
    return all_tables.frames;
  else if constexpr (std::is_same_v<Row, module_row>)
    return all_tables.modules;
  else
    return all_tables.sources;
}

}  // namespace

struct file::state {
  const chunk_source source;
  const std::string& path = source.path();
  file_header about;
  bool recorded_here = false;
  std::shared_ptr<const local_files> local;
  const reader_options options;
  mutable chunk_cache cache;
  mutable std::mutex mutex;  ///< Protects all members below.
  /// The `file_` of this snapshot is null, because a cycle of file and snapshot would never be freed.
  std::shared_ptr<const snapshot> latest;
  std::weak_ptr<const snapshot> handed_out;    ///< `latest` as returned to callers, with its `file_` set.
  std::uint64_t walked = sizeof(file_header);  ///< Offset of the first chunk header that has not been read yet.
  std::set<std::uint16_t> unknown_types;
  std::vector<chunk_info> summaries;  ///< The summaries found so far. They are shown once all are known.

  state(std::shared_ptr<byte_source> origin, const reader_options& method)
      : source(std::move(origin)), options(method), cache(method.cache_bytes) {}

  // --- building a snapshot ------------------------------------------------------------------------------------------

  /// The chunks that a refresh has found, from which the next snapshot is made.
  struct growth {
    std::vector<chunk_info> chunks;
    std::vector<chunk_info> summaries;
    std::vector<std::string> warnings;
    bool complete = false;

    void add(const chunk_info& chunk) { (is_summary(chunk.type) ? summaries : chunks).push_back(chunk); }
    void add_skipped(std::uint64_t at, std::uint64_t bytes) {
      warnings.push_back("skipped " + std::to_string(bytes) + " damaged bytes at byte " + std::to_string(at));
    }

    struct extent {
      std::size_t chunks = 0, summaries = 0, warnings = 0;
    };
    [[nodiscard]] extent size() const { return {chunks.size(), summaries.size(), warnings.size()}; }
    void cut(const extent& to) {
      chunks.resize(to.chunks);
      summaries.resize(to.summaries);
      warnings.resize(to.warnings);
    }
  };

  /// Reads the chunks that the index lists. Returns an error if there is no usable trailer.
  result<growth> indexed(std::uint64_t file_size) const {
    const auto end_mark = source.read_trailer(file_size);
    if (!end_mark) return tl::unexpected<error>(end_mark.error());
    std::vector<chunk_info> pages;
    std::size_t lines_of_all = 0;
    for (std::uint64_t at = end_mark->index_offset; at < file_size - sizeof(trailer);) {
      const auto header = source.read_object<chunk_header>(at);
      if (!header) return tl::unexpected<error>(header.error());
      if (!is_sound(*header) || header->type != static_cast<std::uint16_t>(row_type::index)) {
        return fail(error_code::corrupt, "the index is damaged", path, {}, at);
      }
      pages.push_back({row_type::index, header->rows, at, header->stored_bytes, header->raw_bytes, 0, 0, 0, 0});
      lines_of_all += header->rows;
      at += sizeof(chunk_header) + header->stored_bytes;
    }
    // Every chunk has a header in the file, which limits the number of chunks.
    if (lines_of_all > file_size / sizeof(chunk_header)) {
      return fail(error_code::corrupt, "the index lists more chunks than the file can hold", path, {},
                  end_mark->index_offset);
    }
    growth found;
    found.complete = true;
    // Reserved memory that is never written to takes no physical memory.
    found.chunks.reserve(lines_of_all);
    found.summaries.reserve(lines_of_all);
    std::vector<chunk_info> listed;
    for (const chunk_info& page : pages) {
      listed.clear();
      if (auto got = source.read_index_page(page, listed); !got) return tl::unexpected<error>(got.error());
      for (const chunk_info& chunk : listed) found.add(chunk);
    }
    return found;
  }

  /// Walks chunk headers, starting where the previous walk ended; in a growing file, up to the end of the last flush.
  /// Damage followed by valid chunks is skipped with a warning.
  void walk(const byte_source::extent& there, growth& found) {
    struct finds final : chunk_source::walk_events {
      explicit finds(growth& subject) : found_(subject) {}
      void found(const chunk_info& chunk) override { found_.add(chunk); }
      void skipped(std::uint64_t at, std::uint64_t bytes) override { found_.add_skipped(at, bytes); }
      void flushed(std::uint64_t next) override {
        behind_flush = next;
        until = found_.size();
      }
      growth& found_;
      std::uint64_t behind_flush = 0;
      growth::extent until;
    } to(found);
    to.behind_flush = walked;
    found.complete = source.walk(walked, there.bytes, to);
    if (!there.growing || found.complete || options.for_its_writer || !marks_flushes(about.major, about.minor)) return;
    found.cut(to.until);
    walked = to.behind_flush;
  }

  template <class Row>
  void load_table(const chunk_info& chunk, tables& into, std::vector<std::string>& warnings) {
    std::vector<Row> decoded;
    if (auto got = source.rows<Row>(chunk, decoded); !got) {
      warnings.push_back(got.error().to_string());
      return;
    }
    for (Row& row : decoded) get_table<Row>(into).put(std::move(row));
  }

  void load_tables(std::span<const chunk_info> fresh, tables& into, std::vector<std::string>& warnings) {
    for (const chunk_info& chunk : fresh) {
      switch (chunk.type) {
#define SLUICE_LOAD(row, kind)                                                      \
  case row_type::kind:                                                              \
    if constexpr (is_table(row_type::kind)) load_table<row>(chunk, into, warnings); \
    break;
        SLUICE_FOR_EACH_ROW(SLUICE_LOAD)
#undef SLUICE_LOAD
        default:
          break;
      }
    }
  }

  /// Reads the data that was added to the file after the latest snapshot. Returns null if there is none. The caller
  /// must hold the mutex.
  std::shared_ptr<snapshot> grow(const byte_source::extent& there);
  /// Returns the first snapshot of a file whose index is read in pages; null if the file has no such index or the index
  /// is damaged.
  std::shared_ptr<snapshot> open_in_pages(const byte_source::extent& there);
  void set_rest(snapshot& next, const byte_source::extent& there, bool complete) const;
};

void file::state::set_rest(snapshot& next, const byte_source::extent& there, bool complete) const {
  next.version_ = latest ? latest->version_ + 1 : 1;
  next.file_bytes_ = there.bytes;
  next.complete_ = complete;
  next.growing_ = there.growing && !complete;
  next.recorded_here_ = recorded_here;
  next.local_ = local;
  next.simulated_ = (about.flags & file_flag_simulated) != 0;
  next.realtime_origin_ = about.realtime_origin;
}

std::shared_ptr<snapshot> file::state::open_in_pages(const byte_source::extent& there) {
  const auto pages = chunk_pages::open(source, there.bytes);
  std::vector<chunk_info> of_tables;
  if (!pages || !pages->read_tables(of_tables)) return nullptr;
  auto next = std::make_shared<snapshot>();
  std::vector<std::string> warnings;
  if (!there.remark.empty()) warnings.push_back(there.remark);
  auto tables = std::make_shared<trace::tables>();
  load_tables(of_tables, *tables, warnings);
  next->tables_ = std::move(tables);
  const std::size_t events = pages->pages_of_events();
  next->chunks_ = std::make_shared<const chunk_list>(pages, 0, events);
  next->summaries_ = std::make_shared<const chunk_list>(pages, events, pages->pages().size());
  std::tie(next->begin_, next->end_) = next->chunks_->times();
  next->warnings_ = std::make_shared<const std::vector<std::string>>(std::move(warnings));
  set_rest(*next, there, true);
  return next;
}

std::shared_ptr<snapshot> file::state::grow(const byte_source::extent& there) {
  if (latest && latest->complete()) return nullptr;
  if (!latest)
    if (auto opened = open_in_pages(there)) return opened;
  const bool growing = there.growing;
  growth found;
  bool by_index = false;
  if (!latest) {
    if (auto listed = indexed(there.bytes)) {
      found = std::move(*listed);
      by_index = true;
    }
  }
  if (!by_index) walk(there, found);
  if (!there.remark.empty()) found.warnings.push_back(there.remark);
  const bool more = !found.chunks.empty() || !found.summaries.empty() || !there.remark.empty();
  if (latest && !more && !found.complete && growing == latest->growing()) return nullptr;

  auto next = std::make_shared<snapshot>();
  auto all_tables = latest ? latest->tables_ : std::make_shared<const trace::tables>();
  auto warnings = latest ? *latest->warnings_ : std::vector<std::string>{};
  warnings.insert(warnings.end(), found.warnings.begin(), found.warnings.end());
  if (std::any_of(found.chunks.begin(), found.chunks.end(), [](const chunk_info& c) { return is_table(c.type); })) {
    auto grown = std::make_shared<trace::tables>(*all_tables);
    load_tables(found.chunks, *grown, warnings);
    all_tables = std::move(grown);
  }
  next->begin_ = latest ? latest->begin_ : INT64_MAX;
  next->end_ = latest ? latest->end_ : INT64_MIN;
  if (summaries.empty()) {
    summaries = std::move(found.summaries);
  } else {
    summaries.insert(summaries.end(), found.summaries.begin(), found.summaries.end());
  }
  std::erase_if(found.chunks, [&](const chunk_info& chunk) {
    if (is_known(chunk.type)) return false;
    if (unknown_types.insert(static_cast<std::uint16_t>(chunk.type)).second) {
      warnings.push_back("rows of kind " + std::to_string(static_cast<unsigned>(chunk.type)) +
                         " are not known to this version and were skipped");
    }
    return true;
  });
  for (const chunk_info& chunk : found.chunks) {
    if (!is_event(chunk.type) || chunk.type == row_type::attribute || chunk.type == row_type::link) continue;
    next->begin_ = std::min(next->begin_, chunk.min_time);
    next->end_ = std::max(next->end_, chunk.max_time);
  }
  auto chunks = std::move(found.chunks);
  if (latest) chunks.insert(chunks.begin(), latest->chunks().begin(), latest->chunks().end());
  next->tables_ = std::move(all_tables);
  next->chunks_ = std::make_shared<const chunk_list>(std::move(chunks));
  std::vector<chunk_info> shown;
  if (found.complete) {
    shown = std::exchange(summaries, {});  // The list is now complete.
  } else if (options.for_its_writer) {
    shown = summaries;
  }
  next->summaries_ = std::make_shared<const chunk_list>(std::move(shown));
  next->warnings_ = std::make_shared<const std::vector<std::string>>(std::move(warnings));
  set_rest(*next, there, found.complete);
  return next;
}

const std::string& snapshot::path() const { return file_->path(); }

std::vector<std::string> snapshot::warnings() const {
  std::vector<std::string> lines = *warnings_;
  for (const auto& list : {chunks_, summaries_})
    if (std::string line = list->damage(); !line.empty() && std::find(lines.begin(), lines.end(), line) == lines.end())
      lines.push_back(std::move(line));
  return lines;
}

std::shared_ptr<const snapshot> snapshot::with_summaries(const snapshot& other) const {
  auto output = std::make_shared<snapshot>(*this);
  output->summaries_ = other.summaries_;
  output->summaries_file_ = other.summaries_file_ ? other.summaries_file_ : other.file_;
  return output;
}

std::shared_ptr<const snapshot> snapshot::with_summaries(const snapshot& settled, const snapshot& rest) const {
  auto output = std::make_shared<snapshot>(*with_summaries(settled));
  std::vector<chunk_info> infos(settled.summaries().begin(), settled.summaries().end());
  for (chunk_info chunk : rest.summaries()) {
    chunk.offset |= in_rest;
    infos.push_back(chunk);
  }
  output->summaries_ = std::make_shared<const chunk_list>(std::move(infos));
  output->rest_file_ = rest.file_;
  return output;
}

bool snapshot::are_settled(std::span<const chunk_info> summaries) const {
  return rest_file_ != nullptr && std::all_of(summaries.begin(), summaries.end(),
                                              [](const chunk_info& each) { return (each.offset & in_rest) == 0; });
}

snapshot::stored_summary snapshot::get_summary(const chunk_info& chunk) const {
  const file& settled = summaries_file_ ? *summaries_file_ : *file_;
  if (rest_file_ == nullptr || (chunk.offset & in_rest) == 0) return {settled, chunk};
  chunk_info there = chunk;
  there.offset &= ~in_rest;
  return {*rest_file_, there};
}

std::shared_ptr<const snapshot> snapshot::with_warning(std::string line) const {
  auto output = std::make_shared<snapshot>(*this);
  auto lines = *warnings_;
  lines.push_back(std::move(line));
  output->warnings_ = std::make_shared<const std::vector<std::string>>(std::move(lines));
  return output;
}

file::file(std::unique_ptr<state> s) : state_(std::move(s)) {}
file::~file() = default;
const std::string& file::path() const { return state_->path; }
std::shared_ptr<byte_source> file::source() const { return state_->source.shared_bytes(); }

result<std::shared_ptr<file>> file::open(const std::string& path, const reader_options& options) {
  auto source = open_local_source(path);
  if (!source) return tl::unexpected(source.error());
  return open(std::move(*source), options);
}

result<std::shared_ptr<file>> file::open(std::shared_ptr<byte_source> source, const reader_options& options) {
  auto s = std::make_unique<state>(std::move(source), options);
  const std::string& path = s->path;
  const auto header = s->source.read_object<file_header>(0);
  if (!header || header->magic != file_magic) {
    return fail(error_code::foreign, "not a Sluice recording", path,
                "expected a file that `sluice record` or `sluice demo` wrote", 0);
  }
  if (header->major > format_major) {
    return fail(error_code::newer_version,
                "was written in format " + std::to_string(header->major) +
                    ", but this program reads only formats up to " + std::to_string(format_major),
                path, "open it with a newer Sluice");
  }
  if (header->major < oldest_major) {
    return fail(
        error_code::foreign,
        "was written in format " + std::to_string(header->major) + ", a trial format from before the first release",
        path, "record the program again");
  }
  if (header->checksum != header_checksum(*header)) {
    return fail(error_code::corrupt, "the file's header is damaged", path, "take an undamaged copy, or record again",
                0);
  }
  s->about = *header;
  s->recorded_here = s->source.bytes().is_recorded_here(std::as_bytes(std::span(&s->about, 1)));
  s->local = std::make_shared<const local_files>(s->recorded_here, options.sources_from);
  const auto there = s->source.bytes().poll();
  if (!there) return tl::unexpected<error>(there.error());
  std::shared_ptr<file> opened(new file(std::move(s)));
  const std::scoped_lock lock(opened->state_->mutex);
  opened->state_->latest = opened->state_->grow(*there);
  return opened;
}

std::shared_ptr<const snapshot> file::latest() const {
  const std::scoped_lock lock(state_->mutex);
  if (auto known = state_->handed_out.lock(); known && known->version_ == state_->latest->version_) return known;
  auto handed = std::make_shared<snapshot>(*state_->latest);
  handed->file_ = shared_from_this();
  state_->handed_out = handed;
  return handed;
}

result<bool> file::refresh() {
  const std::scoped_lock lock(state_->mutex);
  const auto there = state_->source.bytes().poll();
  if (!there) return tl::unexpected<error>(there.error());
  auto next = state_->grow(*there);
  if (!next) return false;
  state_->latest = std::move(next);
  return true;
}

result<std::shared_ptr<file>> file::successor() const {
  auto next = state_->source.bytes().successor();
  if (!next) return tl::unexpected<error>(next.error());
  if (*next == nullptr) return nullptr;
  return open(std::move(*next), state_->options);
}

bool file::adopt(const std::shared_ptr<const snapshot>& amended) {
  const std::scoped_lock lock(state_->mutex);
  if (amended->file_.get() != this || amended->version_ != state_->latest->version_) return false;
  auto kept = std::make_shared<snapshot>(*amended);
  kept->file_.reset();
  state_->latest = std::move(kept);
  state_->handed_out = amended;
  return true;
}

template <class Row>
result<std::shared_ptr<const std::vector<Row>>> file::read(const chunk_info& chunk, column_set<Row> wanted) const {
  const chunk_cache::key key{chunk.offset, wanted.bits()};
  if (auto known = state_->cache.find(key)) return std::static_pointer_cast<const std::vector<Row>>(known);
  std::vector<Row> decoded;
  if (auto got = state_->source.rows<Row>(chunk, decoded, wanted); !got) return tl::unexpected<error>(got.error());
  auto rows = std::make_shared<const std::vector<Row>>(std::move(decoded));
  state_->cache.put(key, rows, rows->size() * sizeof(Row));
  return rows;
}

template <class Row>
result<std::shared_ptr<const std::vector<row_span>>> file::read_spans(const chunk_info& chunk) const {
  using spans = std::vector<row_span>;
  const chunk_cache::key key{chunk.offset, chunk_cache::spans};
  if (auto known = state_->cache.find(key)) return std::static_pointer_cast<const spans>(known);
  thread_scratch<Row> decoded;
  if (auto got = state_->source.rows<Row>(chunk, *decoded, column_set<Row>::of(&Row::time, &Row::end)); !got)
    return tl::unexpected<error>(got.error());
  auto output = std::make_shared<spans>();
  output->reserve(decoded->size());
  for (const Row& row : *decoded) output->push_back({row.time, row.end});
  state_->cache.put(key, output, output->size() * sizeof(row_span));
  return std::shared_ptr<const spans>(std::move(output));
}

template <class Row>
result<void> file::read_into(const chunk_info& chunk, std::vector<Row>& rows, column_set<Row> wanted) const {
  return state_->source.rows<Row>(chunk, rows, wanted);
}

template <class Row>
result<void> file::read_values(const chunk_info& chunk, row_values<Row>& rows, column_set<Row> wanted) const {
  return state_->source.values<Row>(chunk, rows, wanted);
}

result<void> file::read_bits(const chunk_info& chunk, std::uint16_t number, std::uint64_t usual,
                             std::vector<std::uint64_t>& values) const {
  return state_->source.decode_chunk(chunk, [&](std::span<const std::byte> stored) {
    return decode_column(stored, chunk.rows, number, usual, values);
  });
}

#define SLUICE_INSTANTIATE(row, kind)                                                                                 \
  template result<std::shared_ptr<const std::vector<row>>> file::read<row>(const chunk_info&, column_set<row>) const; \
  template result<void> file::read_into<row>(const chunk_info&, std::vector<row>&, column_set<row>) const;
SLUICE_FOR_EACH_ROW(SLUICE_INSTANTIATE)
SLUICE_FOR_EACH_SUMMARY_ROW(SLUICE_INSTANTIATE)
#undef SLUICE_INSTANTIATE
template result<std::shared_ptr<const std::vector<row_span>>> file::read_spans<boundary_block_row>(
    const chunk_info&) const;
template result<std::shared_ptr<const std::vector<row_span>>> file::read_spans<block_uses_row>(const chunk_info&) const;
#define SLUICE_INSTANTIATE(row) \
  template result<void> file::read_values<row>(const chunk_info&, row_values<row>&, column_set<row>) const;
SLUICE_FOR_EACH_ROW_OF_TILES(SLUICE_INSTANTIATE)
#undef SLUICE_INSTANTIATE

}  // namespace sluice::trace
