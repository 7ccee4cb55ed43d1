#include "core/trace/writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/origin.hpp"
#include "core/replacement.hpp"
#include "core/trace/checksum.hpp"
#include "core/trace/codec.hpp"
#include "core/trace/same_file.hpp"
#include "core/trace/writer_inline.hpp"

namespace sluice::trace {
namespace {

struct transparent_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return XXH3_64bits(text.data(), text.size()); }
};

}  // namespace

struct file_writer::state : file_writer::waiting_rows {
  std::string path;   ///< Where the file is now.
  std::string named;  ///< Where it is, or will be: for errors.
  std::optional<replacement> unpublished;
  writer_options options;
  int fd = -1;
  std::uint64_t offset = 0;  ///< End of the last whole chunk.
  bool cut_off = false;      ///< Somebody else made the file shorter.
  std::uint64_t last_string = 0;
  std::optional<error> failure;
  std::unordered_map<std::string, string_id, transparent_hash, std::equal_to<>> strings;
  row_encoder encoder;
  std::vector<std::byte> stored;

  explicit state(const writer_options& how) : options(how), encoder(how.compression_level) {
    options.rows_per_chunk = std::clamp<std::size_t>(options.rows_per_chunk, 1, max_chunk_rows);
    const auto limit = [&](auto& rows) {
      if constexpr (requires { rows.limit(0); }) rows.limit(options.rows_per_chunk);
    };
    std::apply([&](auto&... each) { (limit(each), ...); }, buffers);
  }
  ~state() {
    if (fd >= 0) ::close(fd);
  }

  [[nodiscard]] file_header own_header() const {
    file_header header;
    header.flags = options.simulated ? file_flag_simulated : 0;
    header.realtime_origin = options.realtime_origin;
    header.checksum = header_checksum(header);
    return header;
  }

  bool write_file_header() {
    const file_header begin = own_header();
    say_origin(origin::stage::growing);
    return write_all(std::as_bytes(std::span(&begin, 1)));
  }

  /// A file that was a recording of this user's before, and is written anew by somebody else, must not go on as one.
  void say_origin(origin::stage now) const {
    const file_header begin = own_header();
    if (options.recorded_here) {
      origin::mark(fd, std::as_bytes(std::span(&begin, 1)), now);
    } else {
      origin::unmark(fd);
    }
  }

  [[nodiscard]] bool is_shorter_than_written() const {
    struct stat now {};
    return ::fstat(fd, &now) == 0 && S_ISREG(now.st_mode) && static_cast<std::uint64_t>(now.st_size) < offset;
  }

  [[nodiscard]] bool has_own_header() const {
    const file_header wanted = own_header();
    file_header found{};
    return ::pread(fd, &found, sizeof found, 0) == sizeof found && std::memcmp(&found, &wanted, sizeof found) == 0;
  }

  /// Reads a chunk of the file, header and all. False if it is not what was written.
  [[nodiscard]] bool read_back(const index_row& chunk, std::vector<std::byte>& bytes) const {
    bytes.resize(sizeof(chunk_header) + chunk.stored_bytes);
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t got =
          ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(chunk.offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      done += static_cast<std::size_t>(got);
    }
    chunk_header header;
    std::memcpy(&header, bytes.data(), sizeof header);
    return header.checksum == header_checksum(header) &&
           header.payload_checksum == XXH3_64bits(bytes.data() + sizeof header, chunk.stored_bytes);
  }

  /// The index and what says where it is. A failed flush leaves none: a reader walks what is there and says that the end is
  /// missing.
  void write_end() {
    trailer t;
    t.index_offset = offset;
    t.checksum = header_checksum(t);
    // In pages that stay in a processor's cache while they are read: all of them are, to open the file.
    constexpr std::size_t a_page = 8192;
    if (!failure) flush_rows<index_row>(a_page);
    if (!failure) write_all(std::as_bytes(std::span(&t, 1)));
    say_origin(origin::stage::closed);
  }

  /// All of it or none: what did not fit is cut off again.
  bool write_all(std::span<const std::byte> bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t wrote = ::pwrite(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) {
        const int why = wrote < 0 ? errno : ENOSPC;
        const bool full = why == ENOSPC || why == EDQUOT || why == EFBIG;
        failure = error{full ? error_code::no_space : error_code::io, "cannot write: " + describe_errno(why), named,
                        offset, full ? "free some space; what was recorded before is kept" : ""};
        if (::ftruncate(fd, static_cast<off_t>(offset)) != 0) failure->hint += "; the file may end in a broken chunk";
        return false;
      }
      done += static_cast<std::size_t>(wrote);
    }
    offset += bytes.size();
    return true;
  }

  using time_pair = std::pair<time_ns, time_ns>;

  /// Encodes and writes rows, at most `max_chunk_rows` of them. `over`: what the chunk says of its time.
  template <class Row>
  void write_chunk(std::span<const Row> rows, std::optional<time_pair> over = std::nullopt) {
    stored.assign(sizeof(chunk_header), std::byte{});
    row_encoder::outcome encoded = encoder.encode(rows, stored);
    if (encoded.decoded_bytes > max_chunk_bytes && rows.size() > 1) {
      write_chunk(rows.first(rows.size() / 2), over);
      write_chunk(rows.subspan(rows.size() / 2), over);
      return;
    }
    if (over) std::tie(encoded.extent.min_time, encoded.extent.max_time) = *over;
    write_stored(type_of_row<Row>, rows.size(), encoded);
  }

  /// The same of rows that are columns, whose chunk is never too large.
  template <class Row>
  void write_chunk(row_columns<Row>& rows) {
    static_assert(max_chunk_rows * field_count<Row> * sizeof(std::uint64_t) < max_chunk_bytes / 2);
    stored.assign(sizeof(chunk_header), std::byte{});
    const row_encoder::outcome encoded = encoder.encode(rows, stored);
    write_stored(type_of_row<Row>, rows.size(), encoded);
  }

  /// Writes the payload in `stored`, behind the room that it has for the header.
  void write_stored(row_type type, std::size_t rows, const row_encoder::outcome& encoded) {
    const row_extent& extent = encoded.extent;
    const std::size_t packed = stored.size() - sizeof(chunk_header);
    chunk_header header;
    header.type = static_cast<std::uint16_t>(type);
    header.rows = static_cast<std::uint32_t>(rows);
    header.raw_bytes = static_cast<std::uint32_t>(encoded.decoded_bytes);
    header.stored_bytes = static_cast<std::uint32_t>(packed);
    header.flags = chunk_flag_columns;
    header.min_time = extent.min_time;
    header.max_time = extent.max_time;
    header.payload_checksum = XXH3_64bits(stored.data() + sizeof header, packed);
    header.checksum = header_checksum(header);
    std::memcpy(stored.data(), &header, sizeof header);
    const std::uint64_t at = offset;
    cut_off = cut_off || is_shorter_than_written();  // Now: what is written next makes it long again.
    if (!write_all(stored) || type == row_type::index) return;
    of<index_row>().push_back({type, header.rows, at, header.stored_bytes, header.raw_bytes, header.min_time,
                               header.max_time, extent.lowest_event, extent.highest_event});
  }

  /// `most`: rows of a chunk that holds no events.
  template <class Row>
  void flush_rows(std::size_t most = max_chunk_rows) {
    buffer<Row>& rows = of<Row>();
    if constexpr (is_event_row<Row>) {
      if (rows.size() != 0 && !failure) write_chunk(rows);
    } else {
      for (std::size_t at = 0; at < rows.size() && !failure; at += most) {
        write_chunk(std::span<const Row>(rows).subspan(at, std::min(most, rows.size() - at)));
      }
    }
    rows.clear();
  }

  void flush_tables() {
#define SLUICE_FLUSH(row, kind) \
  if constexpr (is_table(row_type::kind)) flush_rows<row>();
    SLUICE_FOR_EACH_ROW(SLUICE_FLUSH)
#undef SLUICE_FLUSH
  }

  [[nodiscard]] bool takes_rows() const { return fd >= 0 && !failure; }

  template <class Row>
  void write_if_full() {
    if (of<Row>().size() < options.rows_per_chunk) return;
    flush_tables();
    flush_rows<Row>();
  }

  void flush_all() {
    flush_tables();
#define SLUICE_FLUSH(row, kind) \
  if constexpr (is_event(row_type::kind)) flush_rows<row>();
    SLUICE_FOR_EACH_ROW(SLUICE_FLUSH)
#undef SLUICE_FLUSH
  }

  /// Takes the place that the file was made for.
  result<void> publish() {
    if (!unpublished) return {};
    if (auto placed = unpublished->commit(); !placed) return placed;
    unpublished.reset();
    path = named;
    return {};
  }

  result<void> outcome() const {
    if (failure) return tl::unexpected<error>(*failure);
    return {};
  }
};

file_writer::file_writer(std::unique_ptr<state> s) : state_(std::move(s)), waiting_(state_.get()) {}
file_writer::file_writer(file_writer&&) noexcept = default;
file_writer& file_writer::operator=(file_writer&&) noexcept = default;
file_writer::~file_writer() {
  if (state_) static_cast<void>(close());
}

namespace {

/// The lock tells readers that the file still grows; the system lets go of it however we end. False if another recording has it.
bool lock_for_writing(int fd) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  return ::fcntl(fd, F_OFD_SETLK, &whole) == 0 || (errno != EAGAIN && errno != EACCES);
}

tl::unexpected<error> still_written(const std::string& path) {
  return fail(error_code::io, "another recording is being written into it", path, "name another file");
}

/// Refuses a file that another recorder has open for writing.
result<void> check_not_written(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return {};
  struct flock found {};
  found.l_type = F_RDLCK;
  const bool taken = ::fcntl(fd, F_OFD_GETLK, &found) == 0 && found.l_type != F_UNLCK;
  ::close(fd);
  return taken ? still_written(path) : result<void>{};
}

/// Opens what cannot be replaced, and empties it: a scratch file without a name, or a device such as /dev/full.
result<int> open_in_place(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return fail(error_code::io, "cannot create: " + describe_errno(errno), path, "name another file");
  // EINVAL: a device has no length.
  if (!lock_for_writing(fd) || (::ftruncate(fd, 0) != 0 && errno != EINVAL)) {
    const int why = errno;
    ::close(fd);
    return fail(error_code::io, "cannot empty: " + describe_errno(why), path, "name another file");
  }
  return fd;
}

bool is_device(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISCHR(found.st_mode);
}

}  // namespace

/// An empty file that becomes `path` when it is published. Errors: io, no_space, invalid_argument.
result<std::unique_ptr<file_writer::state>> file_writer::begin(const std::string& path, const writer_options& options) {
  auto s = std::make_unique<state>(options);
  s->path = s->named = path;
  if (is_device(path)) {
    const auto fd = open_in_place(path);
    if (!fd) return tl::unexpected<error>(fd.error());
    s->fd = *fd;
  } else {
    auto made = replacement::of_file(path);
    if (!made) return tl::unexpected<error>(made.error());
    s->path = made->path();
    s->fd = made->take_descriptor();
    s->unpublished.emplace(std::move(*made));
    lock_for_writing(s->fd);
  }
  if (!s->write_file_header()) return tl::unexpected<error>(*s->failure);
  return s;
}

result<file_writer> file_writer::create_unpublished(const std::string& path, const writer_options& options) {
  if (auto allowed = check_not_written(path); !allowed) return tl::unexpected<error>(allowed.error());
  auto s = begin(path, options);
  if (!s) return tl::unexpected<error>(s.error());
  return file_writer(std::move(*s));
}

result<file_writer> file_writer::create(const std::string& path, const writer_options& options) {
  auto made = create_unpublished(path, options);
  if (!made) return made;
  if (auto published = made->publish(); !published) return tl::unexpected<error>(published.error());
  return made;
}

result<file_writer> file_writer::create(const scratch_file& scratch, const writer_options& options) {
  auto s = std::make_unique<state>(options);
  s->path = s->named = scratch.path();
  const auto fd = open_in_place(scratch.path());
  if (!fd) return tl::unexpected<error>(fd.error());
  s->fd = *fd;
  if (!s->write_file_header()) return tl::unexpected<error>(*s->failure);
  return file_writer(std::move(s));
}

result<void> file_writer::publish() {
  state& s = *state_;
  if (!s.unpublished) return {};
  if (auto allowed = check_not_written(s.named); !allowed) return allowed;
  return s.publish();
}

void file_writer::publish_where_it_is() {
  if (!state_->unpublished) return;
  state_->unpublished->keep();
  state_->unpublished.reset();
  state_->named = state_->path;
}

string_id file_writer::intern(std::string_view text) {
  if (text.empty()) return string_id::none;
  if (const auto known = state_->strings.find(text); known != state_->strings.end()) return known->second;
  const auto id = static_cast<string_id>(++state_->last_string);
  state_->strings.emplace(text, id);
  add(string_row{id, std::string(text)});
  return id;
}

event_id file_writer::next_event() { return static_cast<event_id>(++state_->last_event); }

std::uint64_t file_writer::events() const { return state_->last_event; }

/// What was started before is filled in now.
template <class Row>
void file_writer::make_room() {
  state_->write_if_full<Row>();
  row_columns<Row>& rows = state_->of<Row>();
  if (state_->takes_rows()) {
    rows.cut();
  } else {
    rows.clear();
  }
}

template <class Row>
std::uint64_t file_writer::add(const Row& row) {
  state& s = *state_;
  if constexpr (is_event_row<Row>) {
    row_columns<Row>& rows = s.of<Row>();
    if (!rows.has_room()) make_room<Row>();
    const event_id id = row.id == event_id::none ? next_event() : row.id;
    rows.add(row).id = id;
    s.write_if_full<Row>();
    return raw(id);
  } else {
    if (s.takes_rows()) s.of<Row>().push_back(row);
    s.write_if_full<Row>();
    return 0;
  }
}

result<void> file_writer::flush() {
  if (state_->fd >= 0) state_->flush_all();
  return state_->outcome();
}

template <class Row>
void file_writer::add_summary(std::span<const Row> rows, std::optional<std::pair<time_ns, time_ns>> over) {
  static_assert(is_summary(type_of_row<Row>));
  if (state_->fd < 0) return;
  state_->flush_all();
  for (std::size_t at = 0; at < rows.size() && !state_->failure; at += max_chunk_rows) {
    state_->write_chunk(rows.subspan(at, std::min(max_chunk_rows, rows.size() - at)), over);
  }
}

result<void> file_writer::close() {
  if (state_->fd < 0) return state_->outcome();
  state_->flush_all();
  state_->write_end();
  if (::close(state_->fd) != 0 && !state_->failure) {
    state_->failure =
        error{error_code::io, "cannot close: " + describe_errno(errno), state_->named, error::no_offset, {}};
  }
  state_->fd = -1;
  return state_->outcome();
}

result<std::uint64_t> file_writer::mark() {
  const auto flushed = flush();
  if (!flushed) return tl::unexpected<error>(flushed.error());
  return state_->offset;
}

/// A file with the chunks of `from`, less the events before `mark`, that becomes `path` when it is published.
result<file_writer::rewritten> file_writer::rewrite(const state& from, const std::string& path, std::uint64_t mark,
                                                    unreadable_chunks broken) {
  auto begun = begin(path, from.options);
  if (!begun) return tl::unexpected<error>(begun.error());
  rewritten made{std::move(*begun)};
  state& to = *made.file;
  std::vector<std::byte> bytes;
  for (const index_row& chunk : from.of<index_row>()) {
    if (chunk.offset < mark && !is_table(chunk.type)) continue;
    if (chunk.offset >= mark && made.behind == 0) made.behind = to.offset;
    if (!from.read_back(chunk, bytes)) {
      if (broken == unreadable_chunks::fail) return fail(error_code::io, "cannot be read back", from.named, {});
      ++made.unreadable;
      continue;
    }
    index_row moved = chunk;
    moved.offset = to.offset;
    if (!to.write_all(bytes)) return tl::unexpected<error>(*to.failure);
    to.of<index_row>().push_back(moved);
  }
  if (made.behind == 0) made.behind = to.offset;
  if (to.failure) return tl::unexpected<error>(*to.failure);
  return made;
}

/// Goes on in what was rewritten. The file so far is closed.
void file_writer::take_over(rewritten made) {
  state& s = *state_;
  std::swap(s.fd, made.file->fd);
  s.offset = made.file->offset;
  s.of<index_row>() = std::move(made.file->of<index_row>());
}

result<std::uint64_t> file_writer::drop_before(std::uint64_t mark) {
  state& s = *state_;
  if (s.fd < 0 || s.failure) return mark;
  if (!finds_same_file(s.path, s.fd).value_or(true))
    return fail(error_code::io, "cannot replace itself: another file has its name", s.named, {});
  auto made = rewrite(s, s.path, mark);
  if (!made) return tl::unexpected<error>(made.error());
  if (auto published = made->file->publish(); !published) return tl::unexpected<error>(published.error());
  const std::uint64_t behind = made->behind;
  take_over(std::move(*made));
  return behind;
}

result<std::size_t> file_writer::move_to(const std::string& path) {
  state& s = *state_;
  if (s.fd < 0) return fail(error_code::invalid_argument, "is closed already", s.path);
  static_cast<void>(flush());  // What does not fit is reported by `close`.
  auto made = rewrite(s, path, 0, unreadable_chunks::pass_over);
  if (!made) return tl::unexpected<error>(made.error());
  if (auto published = made->file->publish(); !published) return tl::unexpected<error>(published.error());
  const std::size_t unreadable = made->unreadable;
  take_over(std::move(*made));
  s.path = s.named = path;
  s.cut_off = false;
  return unreadable;
}

result<void> file_writer::copy_to(const std::string& path) {
  const auto flushed = flush();
  if (!flushed || state_->fd < 0) return flushed;
  auto made = rewrite(*state_, path, 0);
  if (!made) return tl::unexpected<error>(made.error());
  made->file->write_end();
  if (auto written = made->file->outcome(); !written) return written;
  return made->file->publish();
}

file_fate file_writer::fate() const {
  const state& s = *state_;
  struct stat now {};
  if (s.fd < 0 || ::fstat(s.fd, &now) != 0 || !S_ISREG(now.st_mode)) return file_fate::kept;
  if (now.st_nlink == 0) return file_fate::deleted;
  if (s.cut_off || s.is_shorter_than_written() || !s.has_own_header()) return file_fate::damaged;
  return is_at_its_path() ? file_fate::kept : file_fate::moved;
}

std::string file_writer::place() const {
  std::error_code none;
  const auto found = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(state_->fd), none);
  return none ? state_->path : found.string();
}

void file_writer::follow() { state_->path = state_->named = place(); }

bool file_writer::is_at_its_path() const { return finds_same_file(state_->path, state_->fd).value_or(false); }

result<file_writer> file_writer::create_beside() const {
  auto s = begin(state_->path, state_->options);
  if (!s) return tl::unexpected<error>(s.error());
  return file_writer(std::move(*s));
}

result<void> file_writer::yield_place_to(file_writer& other) {
  state& s = *state_;
  if (!is_at_its_path()) return fail(error_code::io, "cannot be replaced: another file has its name", s.named, {});
  if (auto published = other.state_->publish(); !published) return published;
  // The lock goes last: who sees that nobody writes this file any more finds the other one.
  ::close(std::exchange(s.fd, -1));
  s.offset = other.bytes_written();
  return {};
}

std::uint64_t file_writer::bytes_written() const { return state_->offset; }
const std::string& file_writer::path() const { return state_->path; }
const writer_options& file_writer::options() const { return state_->options; }

#define SLUICE_INSTANTIATE(row, kind) template std::uint64_t file_writer::add<row>(const row&);
SLUICE_FOR_EACH_ROW(SLUICE_INSTANTIATE)
#undef SLUICE_INSTANTIATE
template void file_writer::make_room<alloc_event>();
template void file_writer::make_room<free_event>();
template void file_writer::make_room<kernel_event>();
template void file_writer::make_room<api_call_event>();
template void file_writer::make_room<touch_event>();
#define SLUICE_INSTANTIATE(row, kind)                                    \
  template void file_writer::add_summary<row>(std::span<const row> rows, \
                                              std::optional<std::pair<time_ns, time_ns>> over);
SLUICE_FOR_EACH_SUMMARY_ROW(SLUICE_INSTANTIATE)
#undef SLUICE_INSTANTIATE

}  // namespace sluice::trace
