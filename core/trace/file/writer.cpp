#include "core/trace/file/writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/files/regular_file.hpp"
#include "core/trace/file/byte_source.hpp"
#include "core/trace/file/same_file.hpp"
#include "core/trace/file/writer_state.hpp"

namespace sluice::trace {

file_writer::file_writer(std::unique_ptr<state> s) : state_(std::move(s)), waiting_(state_.get()) {}
file_writer::file_writer(file_writer&&) noexcept = default;
file_writer& file_writer::operator=(file_writer&&) noexcept = default;
file_writer::~file_writer() {
  if (state_) static_cast<void>(close());
}

namespace {

/// Takes the lock that shows readers that the file is growing. It is released when the file is closed, at the latest
/// when the process ends. Returns false if another writer holds it.
bool lock_for_writing(int fd) {
  struct flock whole {};  // Locks all bytes, so that no other process can claim the file in order to replace it.
  whole.l_type = F_WRLCK;
  return ::fcntl(fd, F_OFD_SETLK, &whole) == 0 || (errno != EAGAIN && errno != EACCES);
}

/// Opens and empties a file that cannot be replaced: an unnamed scratch file, or a device such as /dev/full.
result<int> open_in_place(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return fail(error_code::io, "cannot create: " + describe_errno(errno), path, "choose another name");
  // EINVAL: a device has no length.
  if (!lock_for_writing(fd) || (::ftruncate(fd, 0) != 0 && errno != EINVAL)) {
    const int why = errno;
    ::close(fd);
    return fail(error_code::io, "cannot empty: " + describe_errno(why), path, "choose another name");
  }
  return fd;
}

bool is_device(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISCHR(found.st_mode);
}

}  // namespace

/// Creates an empty file that `publish` moves to `path`. Errors: io, no_space, invalid_argument.
result<std::unique_ptr<file_writer::state>> file_writer::begin(const std::string& path, const writer_options& options) {
  auto s = std::make_unique<state>(options);
  s->path = s->named = path;
  if (is_device(path)) {
    const auto fd = open_in_place(path);
    if (!fd) return tl::unexpected<error>(fd.error());
    s->fd = *fd;
  } else {
    auto output = replacement::of_file(path);
    if (!output) return tl::unexpected<error>(output.error());
    s->write_to(std::move(*output));
    lock_for_writing(s->fd);
  }
  if (!s->write_file_header()) return tl::unexpected<error>(*s->failure);
  return s;
}

bool holds_nothing(const std::string& path) {
  const auto file = regular_file::open(path);
  if (!file || file->bytes() > sizeof(file_header)) return false;
  if (file->bytes() == 0) return true;
  std::uint64_t magic = 0;
  return file->bytes() == sizeof(file_header) && ::pread(file->descriptor(), &magic, sizeof magic, 0) == sizeof magic &&
         magic == file_magic && !has_writer(file->descriptor());
}

namespace {

/// How often, at most, a name is checked again because another program has changed its file.
constexpr int max_tries = 100;

}  // namespace

result<file_writer> file_writer::create_unpublished(const std::string& path, const writer_options& options) {
  for (int i = 0;; ++i) {
    auto s = begin(path, options);
    if (!s) return tl::unexpected<error>(s.error());
    const bool new_name = !(*s)->unpublished || !(*s)->unpublished->replaces_another();
    const auto claimed = new_name ? replacement::claim::got : (*s)->unpublished->claim_target();
    if (claimed == replacement::claim::changed && i < max_tries) continue;
    if (claimed == replacement::claim::taken || claimed == replacement::claim::changed)
      return fail(error_code::io, "another recording is being written to it", path, "choose another name");
    const bool free = new_name || (claimed == replacement::claim::got && holds_nothing(path));
    if (!free && !options.replaces)
      return fail(error_code::invalid_argument, "exists", path, "replace it with --force, or choose another name");
    return file_writer(std::move(*s));
  }
}

result<file_writer> file_writer::create_claimed(const std::string& path, const writer_options& options) {
  for (int i = 0;; ++i) {
    auto unpublished = create_unpublished(path, options);
    if (!unpublished || !unpublished->state_->unpublished || unpublished->state_->unpublished->replaces_another())
      return unpublished;
    if (auto published = unpublished->publish(); published) {
      return unpublished;
    } else if (i == max_tries) {
      return tl::unexpected<error>(published.error());
    }
    // Meanwhile, another program has taken the name. The next try finds that program's file, or the name free again.
  }
}

result<file_writer> file_writer::create(const std::string& path, const writer_options& options) {
  auto unpublished = create_unpublished(path, options);
  if (!unpublished) return unpublished;
  if (auto published = unpublished->publish(); !published) return tl::unexpected<error>(published.error());
  return unpublished;
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

result<void> file_writer::publish() { return state_->publish(); }

void file_writer::publish_where_it_is() {
  if (!state_->unpublished) return;
  state_->unpublished->keep();
  state_->unpublished.reset();
  state_->named = state_->path;
}

void file_writer::discard() {
  state& s = *state_;
  if (s.fd < 0) return;
  if (!s.unpublished && is_at_its_path()) ::unlink(s.path.c_str());
  s.unpublished.reset();
  ::close(std::exchange(s.fd, -1));
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

/// Must not be called before the caller of `start` has filled the row that `start` returned.
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
  if (state_->fd >= 0) {
    state_->flush_all();
    if (!state_->unpublished) state_->write_flush_mark();  // Only the writer itself reads a file that is not published.
  }
  return state_->outcome();
}

result<void> file_writer::outcome() const { return state_->outcome(); }
bool file_writer::is_stopped() const { return state_->is_stopped(); }
bool file_writer::says_losses() const { return state_->losses_reported; }

std::optional<dropped_rows> file_writer::resume() {
  state& s = *state_;
  if (s.fd < 0 || !s.is_stopped()) return std::nullopt;
  s.failure.reset();
  s.flush_tables();
  if (!s.failure) s.write_losses();
  if (s.failure) return std::nullopt;
  return std::exchange(s.dropped, {});
}

const dropped_rows& file_writer::dropped() const { return state_->dropped; }

template <class Row>
void file_writer::add_summary(std::span<const Row> rows, std::optional<std::pair<time_ns, time_ns>> over) {
  static_assert(is_summary(type_of_row<Row>));
  if (state_->fd < 0) return;
  state_->flush_all();
  for (std::size_t at = 0; at < rows.size() && !state_->failure; at += max_chunk_rows) {
    state_->write_chunk(rows.subspan(at, std::min(max_chunk_rows, rows.size() - at)), over);
  }
}

result<void> file_writer::add_summaries_of(const file_writer& source) {
  if (const auto flushed = flush(); !flushed) return flushed;
  state& to = *state_;
  std::vector<std::byte> bytes;
  for (const index_row& chunk : source.state_->of<index_row>()) {
    if (!is_summary(chunk.type)) continue;
    if (!source.state_->read_back(chunk, bytes))
      return fail(error_code::io, "cannot be read back", source.state_->named, {}, chunk.offset);
    if (!to.write_copy(chunk, bytes)) break;
  }
  return to.outcome();
}

result<void> file_writer::close() {
  if (state_->fd < 0) return state_->outcome();
  state_->flush_all();
  if (state_->is_stopped()) state_->end_stopped();
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

/// Creates a file that will be published as `path`, with all chunks of `source` except the chunks of events before
/// `mark`.
result<file_writer::rewritten> file_writer::rewrite(const state& source, const std::string& path, std::uint64_t mark,
                                                    unreadable_chunks broken) {
  auto begun = begin(path, source.options);
  if (!begun) return tl::unexpected<error>(begun.error());
  rewritten output;
  output.file = std::move(*begun);
  state& to = *output.file;
  std::vector<std::byte> bytes;
  for (const index_row& chunk : source.of<index_row>()) {
    if (chunk.offset < mark && !is_table(chunk.type)) continue;
    if (chunk.offset >= mark && output.behind == 0) output.behind = to.offset;
    if (!source.read_back(chunk, bytes)) {
      if (broken == unreadable_chunks::fail) return fail(error_code::io, "cannot be read back", source.named, {});
      ++output.unreadable;
      output.lost.take(chunk.type, chunk.rows, chunk.min_time, chunk.max_time);
      continue;
    }
    if (!to.write_copy(chunk, bytes)) return tl::unexpected<error>(*to.failure);
  }
  if (output.behind == 0) output.behind = to.offset;
  to.write_flush_mark();
  if (to.failure) return tl::unexpected<error>(*to.failure);
  return output;
}

/// Continues in the rewritten file, and closes the previous file.
void file_writer::take_over(rewritten output) {
  state& s = *state_;
  std::swap(s.fd, output.file->fd);
  s.offset = output.file->offset;
  s.marked_until = output.file->marked_until;
  s.of<index_row>() = std::move(output.file->of<index_row>());
}

result<std::uint64_t> file_writer::drop_before(std::uint64_t mark) {
  state& s = *state_;
  if (s.fd < 0 || s.failure) return mark;
  if (!finds_same_file(s.path, s.fd).value_or(true))
    return fail(error_code::io, "cannot replace itself: another file has its name", s.named, {});
  auto output = rewrite(s, s.path, mark);
  if (!output) return tl::unexpected<error>(output.error());
  if (auto published = output->file->publish(); !published) return tl::unexpected<error>(published.error());
  const std::uint64_t behind = output->behind;
  take_over(std::move(*output));
  return behind;
}

result<std::size_t> file_writer::move_to(const std::string& path) {
  state& s = *state_;
  if (s.fd < 0) return fail(error_code::invalid_argument, "is closed already", s.path);
  static_cast<void>(flush());  // If a write fails, `close` reports this.
  auto output = rewrite(s, path, 0, unreadable_chunks::pass_over);
  if (!output) return tl::unexpected<error>(output.error());
  if (auto published = output->file->publish(); !published) return tl::unexpected<error>(published.error());
  const std::size_t unreadable = output->unreadable;
  s.dropped.add(output->lost);
  take_over(std::move(*output));
  s.path = s.named = path;
  s.cut_off = false;
  if (!s.failure) s.write_losses();  // Otherwise, the losses are written by `close`.
  if (!s.failure) s.dropped = {};
  return unreadable;
}

result<void> file_writer::copy_to(const std::string& path) {
  const auto flushed = flush();
  if (!flushed || state_->fd < 0) return flushed;
  auto output = rewrite(*state_, path, 0);
  if (!output) return tl::unexpected<error>(output.error());
  output->file->write_end();
  if (auto written = output->file->outcome(); !written) return written;
  return output->file->publish();
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
  writer_options like_this = state_->options;
  like_this.outlives_failures = false;  // If the disk has no space for the new file, this file must be kept.
  auto output = replacement::of_unnamed_file(state_->path);
  if (!output) return tl::unexpected<error>(output.error());
  auto s = std::make_unique<state>(like_this);
  s->named = state_->path;
  s->write_to(std::move(*output));
  lock_for_writing(s->fd);
  if (!s->write_file_header()) return tl::unexpected<error>(*s->failure);
  return file_writer(std::move(s));
}

result<void> file_writer::yield_place_to(file_writer& other) {
  state& s = *state_;
  if (!is_at_its_path()) return fail(error_code::io, "cannot be replaced: another file has its name", s.named, {});
  if (auto published = other.state_->publish(); !published) return published;
  // Release the lock last, so that a reader that sees this file without a writer finds the new file.
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
