#include "core/trace/file/reader.hpp"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include "core/base/chunk_cache.hpp"
#include "core/base/thread_scratch.hpp"
#include "core/trace/columns/codec.hpp"
#include "core/trace/file/byte_source.hpp"
#include "core/trace/file/checksum.hpp"

namespace sluice::trace {
namespace {

bool is_known(row_type type) {
#define SLUICE_KNOWN(row, kind) \
  if (type == row_type::kind) return true;
  SLUICE_FOR_EACH_ROW(SLUICE_KNOWN)
#undef SLUICE_KNOWN
  return false;
}

constexpr std::size_t most_stored = ZSTD_COMPRESSBOUND(max_chunk_bytes);
/// The source of a recording whose rows are elsewhere.
class no_rows final : public byte_source {
 public:
  explicit no_rows(const outline& about) : byte_source(about.path), there_{about.file_bytes, about.growing, {}} {}
  result<extent> look() override { return there_; }
  result<std::size_t> read_at(std::uint64_t /*offset*/, std::span<std::byte> /*into*/) const override {
    return fail(error_code::unavailable, "the rows of the recording are not here", name());
  }

 private:
  const extent there_;
};

/// For a larger chunk (by its index entry) the header is checked before memory is allocated for the rest.
constexpr std::size_t read_at_once = std::size_t{64} << 10;

bool is_sound(const chunk_header& header) {
  return header.magic == chunk_magic && header.checksum == header_checksum(header) && header.rows <= max_chunk_rows &&
         header.raw_bytes <= max_chunk_bytes && header.stored_bytes <= most_stored;
}

template <class Row>
auto& table_of(tables& all) {
  if constexpr (std::is_same_v<Row, string_row>)
    return all.strings;
  else if constexpr (std::is_same_v<Row, host_row>)
    return all.hosts;
  else if constexpr (std::is_same_v<Row, process_row>)
    return all.processes;
  else if constexpr (std::is_same_v<Row, thread_row>)
    return all.threads;
  else if constexpr (std::is_same_v<Row, device_row>)
    return all.devices;
  else if constexpr (std::is_same_v<Row, context_row>)
    return all.contexts;
  else if constexpr (std::is_same_v<Row, stream_row>)
    return all.streams;
  else if constexpr (std::is_same_v<Row, pool_row>)
    return all.pools;
  else if constexpr (std::is_same_v<Row, counter_row>)
    return all.counters;
  else if constexpr (std::is_same_v<Row, stack_row>)
    return all.stacks;
  else if constexpr (std::is_same_v<Row, frame_row>)
    return all.frames;
  else if constexpr (std::is_same_v<Row, module_row>)
    return all.modules;
  else
    return all.sources;
}

}  // namespace

struct file::state {
  const std::shared_ptr<byte_source> source;
  const std::string& path = source->name();
  file_header about;
  bool recorded_here = false;
  std::shared_ptr<const local_files> local;
  const reader_options options;
  mutable chunk_cache cache;
  mutable std::mutex mutex;  ///< Protects all members below.
  /// Its own `file_` is null, because a cycle of file and snapshot would never be freed.
  std::shared_ptr<const snapshot> latest;
  std::weak_ptr<const snapshot> handed_out;    ///< `latest` as returned to callers, with `file_`.
  std::uint64_t walked = sizeof(file_header);  ///< Offset of the next unread chunk header.
  std::set<std::uint16_t> unknown_types;
  std::vector<chunk_info> summaries;  ///< Found so far; shown once all are there.

  state(std::shared_ptr<byte_source> from, const reader_options& how)
      : source(std::move(from)), options(how), cache(how.cache_bytes) {}

  /// Reads exactly `bytes`. Error `corrupt` if the file ends before.
  result<void> read_exactly(std::uint64_t offset, std::span<std::byte> bytes) const {
    const auto got = source->read_at(offset, bytes);
    if (!got) return tl::unexpected<error>(got.error());
    if (*got < bytes.size()) {
      return fail(error_code::corrupt, "the file ends in the middle of a chunk", path, {}, offset + *got);
    }
    return {};
  }

  template <class Object>
  result<Object> read_object(std::uint64_t offset) const {
    Object object;
    if (auto got = read_exactly(offset, std::as_writable_bytes(std::span(&object, 1))); !got) {
      return tl::unexpected<error>(got.error());
    }
    return object;
  }

  /// The payload of a chunk, in `memory`.
  result<std::span<const std::byte>> payload(const chunk_info& chunk, std::vector<std::byte>& memory) const {
    chunk_header header;
    const std::size_t first = sizeof header + std::min<std::size_t>(chunk.stored_bytes, read_at_once);
    memory.resize(first);
    if (auto got = read_exactly(chunk.offset, memory); !got) return tl::unexpected<error>(got.error());
    std::memcpy(&header, memory.data(), sizeof header);
    if (!is_sound(header) || header.type != static_cast<std::uint16_t>(chunk.type) || header.rows != chunk.rows ||
        header.stored_bytes != chunk.stored_bytes) {
      return fail(error_code::corrupt, "the index names a chunk that is not there", path, {}, chunk.offset);
    }
    memory.resize(sizeof header + header.stored_bytes);
    if (auto got = read_exactly(chunk.offset + first, std::span(memory).subspan(first)); !got)
      return tl::unexpected<error>(got.error());
    const std::span<const std::byte> stored = std::span(memory).subspan(sizeof header);
    if (XXH3_64bits(stored.data(), stored.size()) != header.payload_checksum) {
      return fail(error_code::corrupt, "a chunk's checksum is wrong", path, "the file was damaged", chunk.offset);
    }
    if ((header.flags & chunk_flag_columns) == 0)
      return fail(error_code::corrupt, "a chunk's payload has an unknown form", path, {}, chunk.offset);
    return stored;
  }

  /// Calls `decode` with a chunk's payload, and adds this file's path and offset to its error.
  template <class Decode>
  result<void> decode_chunk(const chunk_info& chunk, Decode&& decode) const {
    thread_scratch<std::byte> memory;
    const auto stored = payload(chunk, *memory);
    if (!stored) return tl::unexpected<error>(stored.error());
    result<void> decoded = decode(*stored);
    if (!decoded) {
      decoded.error().file = path;
      decoded.error().offset = chunk.offset;
    }
    return decoded;
  }

  template <class Row>
  result<void> rows(const chunk_info& chunk, std::vector<Row>& into, column_set<Row> wanted = {}) const {
    return decode_chunk(
        chunk, [&](std::span<const std::byte> stored) { return decode_rows<Row>(stored, chunk.rows, into, wanted); });
  }

  template <class Row>
  result<void> values(const chunk_info& chunk, row_values<Row>& into, column_set<Row> wanted) const {
    return decode_chunk(
        chunk, [&](std::span<const std::byte> stored) { return decode_values<Row>(stored, chunk.rows, into, wanted); });
  }

  // --- building a snapshot ------------------------------------------------------------------------------------------

  /// The chunks found by a refresh, from which the next snapshot is made.
  struct growth {
    std::vector<chunk_info> chunks;
    std::vector<chunk_info> summaries;
    std::vector<std::string> warnings;
    bool complete = false;

    void add(const chunk_info& chunk) { (is_summary(chunk.type) ? summaries : chunks).push_back(chunk); }

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

  /// Reads the chunks listed by the index. Error if there is no usable trailer.
  result<growth> indexed(std::uint64_t file_size) const {
    if (file_size < sizeof(file_header) + sizeof(trailer)) return fail(error_code::corrupt, "no index", path);
    const std::uint64_t trailer_at = file_size - sizeof(trailer);
    const auto end_mark = read_object<trailer>(trailer_at);
    if (!end_mark) return tl::unexpected<error>(end_mark.error());
    if (end_mark->magic != trailer_magic || end_mark->checksum != header_checksum(*end_mark)) {
      return fail(error_code::corrupt, "no index", path);
    }
    std::vector<chunk_info> pages;
    std::size_t lines_of_all = 0;
    for (std::uint64_t at = end_mark->index_offset; at < trailer_at;) {
      const auto header = read_object<chunk_header>(at);
      if (!header) return tl::unexpected<error>(header.error());
      if (!is_sound(*header) || header->type != static_cast<std::uint16_t>(row_type::index)) {
        return fail(error_code::corrupt, "the index is damaged", path, {}, at);
      }
      pages.push_back({row_type::index, header->rows, at, header->stored_bytes, header->raw_bytes, 0, 0, 0, 0});
      lines_of_all += header->rows;
      at += sizeof(chunk_header) + header->stored_bytes;
    }
    // Every chunk has a header in the file.
    if (lines_of_all > file_size / sizeof(chunk_header)) {
      return fail(error_code::corrupt, "the index names more chunks than the file can hold", path, {},
                  end_mark->index_offset);
    }
    growth found;
    found.complete = true;
    // Reserved memory that is never written to takes no physical memory.
    found.chunks.reserve(lines_of_all);
    found.summaries.reserve(lines_of_all);
    std::vector<index_row> lines;
    for (const chunk_info& page : pages) {
      if (auto got = rows<index_row>(page, lines); !got) return tl::unexpected<error>(got.error());
      for (const index_row& line : lines) {
        if (line.offset < sizeof(file_header) || line.offset >= page.offset || line.rows > max_chunk_rows) {
          return fail(error_code::corrupt, "the index names a chunk outside the file", path, {}, page.offset);
        }
        found.add({line.type, line.rows, line.offset, line.stored_bytes, line.raw_bytes, line.min_time, line.max_time,
                   line.lowest_event, line.highest_event});
      }
    }
    return found;
  }

  /// Returns the offset of the next valid chunk header from `from` on; `file_size` if there is none.
  std::uint64_t find_chunk(std::uint64_t from, std::uint64_t file_size) const {
    std::vector<std::byte> window(std::size_t{1} << 20);
    while (from + sizeof(chunk_header) <= file_size) {
      const std::size_t length = static_cast<std::size_t>(std::min<std::uint64_t>(window.size(), file_size - from));
      if (!read_exactly(from, std::span(window).first(length))) return file_size;
      for (std::size_t i = 0; i + sizeof(chunk_header) <= length; ++i) {
        chunk_header header;
        std::memcpy(&header.magic, window.data() + i, sizeof header.magic);
        if (header.magic != chunk_magic) continue;
        std::memcpy(&header, window.data() + i, sizeof header);
        if (is_sound(header)) return from + i;
      }
      if (from + length == file_size) return file_size;
      from += length - sizeof(chunk_header) + 1;
    }
    return file_size;
  }

  /// Walks chunk headers from where the last walk ended, in a growing file up to the end of its last flush. A damaged end
  /// of file may still be being written, so it is ignored. Damage with valid chunks behind it is skipped with a warning.
  void walk(const byte_source::extent& there, growth& found) {
    std::uint64_t flushed = walked;
    growth::extent until;
    walk_to_the_end(there.bytes, found, [&] {
      flushed = walked;
      until = found.size();
    });
    if (!there.growing || found.complete || options.for_its_writer || !marks_flushes(about.major, about.minor)) return;
    found.cut(until);
    walked = flushed;
  }

  /// `at_flush`: called behind the mark of each flush.
  template <class Call>
  void walk_to_the_end(std::uint64_t file_size, growth& found, const Call& at_flush) {
    while (walked + sizeof(chunk_header) <= file_size) {
      const auto header = read_object<chunk_header>(walked);
      if (!header) return;
      if (!is_sound(*header)) {
        if (is_trailer(walked)) {
          found.complete = true;
          return;
        }
        const std::uint64_t next = find_chunk(walked, file_size);
        if (next == file_size) return;
        found.warnings.push_back("skipped " + std::to_string(next - walked) + " damaged bytes at byte " +
                                 std::to_string(walked));
        walked = next;
        continue;
      }
      const std::uint64_t next = walked + sizeof(chunk_header) + header->stored_bytes;
      if (next > file_size) return;
      const auto type = static_cast<row_type>(header->type);
      if (type != row_type::index) {
        found.add({type, header->rows, walked, header->stored_bytes, header->raw_bytes, header->min_time,
                   header->max_time, 0, 0});
      }
      walked = next;
      if (is_flush_mark(header->type, header->rows)) at_flush();
    }
    if (walked + sizeof(trailer) <= file_size && is_trailer(walked)) found.complete = true;
  }

  bool is_trailer(std::uint64_t at) const {
    const auto end_mark = read_object<trailer>(at);
    return end_mark && end_mark->magic == trailer_magic && end_mark->checksum == header_checksum(*end_mark);
  }

  template <class Row>
  void load_table(const chunk_info& chunk, tables& into, std::vector<std::string>& warnings) {
    std::vector<Row> decoded;
    if (auto got = rows<Row>(chunk, decoded); !got) {
      warnings.push_back(got.error().to_string());
      return;
    }
    for (Row& row : decoded) table_of<Row>(into).put(std::move(row));
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

  /// Reads what the file has beyond the latest snapshot; null if nothing. The caller holds the mutex.
  std::shared_ptr<snapshot> grow(const byte_source::extent& there);
};

std::shared_ptr<snapshot> file::state::grow(const byte_source::extent& there) {
  if (latest && latest->complete()) return nullptr;
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
  if (latest) chunks.insert(chunks.begin(), latest->chunks_->begin(), latest->chunks_->end());
  next->tables_ = std::move(all_tables);
  next->chunks_ = std::make_shared<const std::vector<chunk_info>>(std::move(chunks));
  std::vector<chunk_info> shown;
  if (found.complete) {
    shown = std::exchange(summaries, {});  // They are complete now.
  } else if (options.for_its_writer) {
    shown = summaries;
  }
  next->summaries_ = std::make_shared<const std::vector<chunk_info>>(std::move(shown));
  next->warnings_ = std::make_shared<const std::vector<std::string>>(std::move(warnings));
  next->version_ = latest ? latest->version_ + 1 : 1;
  next->file_bytes_ = there.bytes;
  next->complete_ = found.complete;
  next->growing_ = growing && !found.complete;
  next->recorded_here_ = recorded_here;
  next->local_ = local;
  next->simulated_ = (about.flags & file_flag_simulated) != 0;
  next->realtime_origin_ = about.realtime_origin;
  return next;
}

const std::string& snapshot::path() const { return file_->path(); }

std::shared_ptr<const snapshot> snapshot::with_summaries(const snapshot& other) const {
  auto made = std::make_shared<snapshot>(*this);
  made->summaries_ = other.summaries_;
  made->summaries_file_ = other.summaries_file_ ? other.summaries_file_ : other.file_;
  return made;
}

std::shared_ptr<const snapshot> snapshot::with_warning(std::string line) const {
  auto made = std::make_shared<snapshot>(*this);
  auto lines = *warnings_;
  lines.push_back(std::move(line));
  made->warnings_ = std::make_shared<const std::vector<std::string>>(std::move(lines));
  return made;
}

outline snapshot::about() const {
  return {path(), tables_, *warnings_, file_bytes_, begin_, end_, realtime_origin_, complete_, growing_, simulated_};
}

file::file(std::unique_ptr<state> s) : state_(std::move(s)) {}
file::~file() = default;
const std::string& file::path() const { return state_->path; }

result<std::shared_ptr<file>> file::open(const std::string& path, const reader_options& options) {
  auto source = open_local_source(path);
  if (!source) return tl::unexpected(source.error());
  return open(std::move(*source), options);
}

result<std::shared_ptr<file>> file::open(std::shared_ptr<byte_source> source, const reader_options& options) {
  auto s = std::make_unique<state>(std::move(source), options);
  const std::string& path = s->path;
  const auto header = s->read_object<file_header>(0);
  if (!header || header->magic != file_magic) {
    return fail(error_code::foreign, "not a Sluice recording", path,
                "expected a file that `sluice record` or `sluice demo` wrote", 0);
  }
  if (header->major > format_major) {
    return fail(error_code::newer_version,
                "written in format " + std::to_string(header->major) + ", this program reads up to " +
                    std::to_string(format_major),
                path, "open it with a newer Sluice");
  }
  if (header->major < oldest_major) {
    return fail(error_code::foreign,
                "written in format " + std::to_string(header->major) + ", a trial format from before the first release",
                path, "record the program again");
  }
  if (header->checksum != header_checksum(*header)) {
    return fail(error_code::corrupt, "the file's header is damaged", path, "take an undamaged copy, or record again",
                0);
  }
  s->about = *header;
  s->recorded_here = s->source->is_recorded_here(std::as_bytes(std::span(&s->about, 1)));
  s->local = std::make_shared<const local_files>(s->recorded_here, options.sources_from);
  const auto there = s->source->look();
  if (!there) return tl::unexpected<error>(there.error());
  std::shared_ptr<file> opened(new file(std::move(s)));
  const std::scoped_lock lock(opened->state_->mutex);
  opened->state_->latest = opened->state_->grow(*there);
  return opened;
}

std::shared_ptr<file> file::without_rows(outline about) {
  auto s = std::make_unique<state>(std::make_shared<no_rows>(about), reader_options{});
  s->local = std::make_shared<const local_files>();
  auto only = std::make_shared<snapshot>();
  only->tables_ = std::move(about.tables);
  only->chunks_ = only->summaries_ = std::make_shared<const std::vector<chunk_info>>();
  only->warnings_ = std::make_shared<const std::vector<std::string>>(std::move(about.warnings));
  only->version_ = 1;
  only->file_bytes_ = about.file_bytes;
  only->begin_ = about.begin;
  only->end_ = about.end;
  only->complete_ = about.complete;
  only->growing_ = about.growing;
  only->simulated_ = about.simulated;
  only->local_ = s->local;
  only->realtime_origin_ = about.realtime_origin;
  s->latest = std::move(only);
  return std::shared_ptr<file>(new file(std::move(s)));
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
  const auto there = state_->source->look();
  if (!there) return tl::unexpected<error>(there.error());
  auto next = state_->grow(*there);
  if (!next) return false;
  state_->latest = std::move(next);
  return true;
}

result<std::shared_ptr<file>> file::successor() const {
  auto next = state_->source->successor();
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
  if (auto got = state_->rows<Row>(chunk, decoded, wanted); !got) return tl::unexpected<error>(got.error());
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
  if (auto got = state_->rows<Row>(chunk, *decoded, column_set<Row>::of(&Row::time, &Row::end)); !got)
    return tl::unexpected<error>(got.error());
  auto made = std::make_shared<spans>();
  made->reserve(decoded->size());
  for (const Row& row : *decoded) made->push_back({row.time, row.end});
  state_->cache.put(key, made, made->size() * sizeof(row_span));
  return std::shared_ptr<const spans>(std::move(made));
}

template <class Row>
result<void> file::read_into(const chunk_info& chunk, std::vector<Row>& rows, column_set<Row> wanted) const {
  return state_->rows<Row>(chunk, rows, wanted);
}

template <class Row>
result<void> file::read_values(const chunk_info& chunk, row_values<Row>& rows, column_set<Row> wanted) const {
  return state_->values<Row>(chunk, rows, wanted);
}

result<void> file::read_bits(const chunk_info& chunk, std::uint16_t number, std::uint64_t usual,
                             std::vector<std::uint64_t>& values) const {
  return state_->decode_chunk(chunk, [&](std::span<const std::byte> stored) {
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
