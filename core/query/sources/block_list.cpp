#include "core/query/sources/block_list.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "core/base/files/full_disk.hpp"
#include "core/base/files/scratch_file.hpp"
#include "core/base/thread_scratch.hpp"

namespace sluice::query {
namespace {

/// The index of a part takes some 100 bytes per event.
constexpr std::uint64_t events_in_a_part = 300'000;

constexpr auto unknown = static_cast<std::uint64_t>(trace::unknown_time);

/// Encodes a time as its difference from the block's allocation, because small differences take few bytes.
std::uint64_t from_birth(std::uint64_t time, std::uint64_t born) {
  return time == unknown ? 0 : trace::zigzag(time - born) + 1;
}
std::uint64_t to_time(std::uint64_t distance, std::uint64_t born) {
  return distance == 0 ? unknown : born + trace::unzigzag(distance - 1);
}

/// True for columns that are stored as the difference from `born`.
constexpr bool is_from_birth(list_column column) {
  return column == list_column::died || column == list_column::first_use || column == list_column::last_use;
}

result<void> cannot(const char* subject, int why) {
  return fail(code_of_failed_write(why),
              std::string("cannot ") + subject + " the list of blocks: " + describe_errno(why), "a scratch file",
              "set TMPDIR to a folder with more space");
}

/// Writes or reads all of `bytes` with `call`, which is pwrite or pread.
template <class Call, class Byte>
result<void> move_bytes(Call call, const char* action, int descriptor, std::uint64_t offset, std::span<Byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t went = call(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (went < 0 && errno == EINTR) continue;
    if (went <= 0) return cannot(action, went < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(went));
    offset += static_cast<std::uint64_t>(went);
  }
  return {};
}

}  // namespace

block_list::~block_list() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::size_t block_list::chunks() const {
  const std::scoped_lock lock(mutex_);
  return chunks_.size();
}

block_list::chunk_facts block_list::facts(std::size_t chunk) const {
  const std::scoped_lock lock(mutex_);
  return chunks_[chunk]->facts;
}

result<void> block_list::extend(const std::function<bool()>& goes_on) {
  const std::scoped_lock lock(building_);
  if (complete()) return {};
  if (failed_) return fail(error_code::io, "the list of blocks could not be built", "a scratch file");
  const std::size_t first = sections_;
  const summary::section_list& sections = from_.sections();
  std::size_t last = first;
  std::uint64_t events = sections.events(first);
  while (last + 1 < sections.size() && events + sections.events(last + 1) <= events_in_a_part)
    events += sections.events(++last);
  const auto part = from_.get_index(first, last, index::section_scope::everything, goes_on);
  result<void> added;
  if (!part) {
    added = tl::unexpected(part.error());
    if (added.error().code == error_code::cancelled) return added;
  } else {
    added = add(**part, from_.find_run(first, last));
  }
  if (!added) {
    failed_ = true;
    return added;
  }
  sections_ = last + 1;
  return {};
}

result<void> block_list::add(const index::event_store& part, time_range run) {
  if (descriptor_ < 0) {
    auto output = scratch_file::make();
    if (!output) return tl::unexpected(output.error());
    descriptor_ = ::open(output->path().c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor_ < 0) return cannot("open", errno);
    encoder_.emplace(1);
  }
  const summary::store_blocks blocks(part, from_.snapshot());
  if (blocks.uses_known()) uses_known_ = true;
  const std::vector<std::uint32_t> places = blocks.begun_in(run);
  for (std::size_t i = 0; i < places.size(); i += rows_in_chunk) {
    const auto rows = std::span(places).subspan(i, std::min(rows_in_chunk, places.size() - i));
    block_values listed;
    for (std::size_t column = 0; column < list_columns; ++column)
      read_column(blocks, rows, static_cast<list_column>(column), listed);
    if (auto added = add_chunk(listed); !added) return added;
  }
  return {};
}

result<void> block_list::add_chunk(block_values& subject) {
  auto output = std::make_shared<chunk>();
  const std::vector<std::uint64_t>& born = subject[get_place(list_column::born)];
  const std::vector<std::uint64_t>& died = subject[get_place(list_column::died)];
  output->facts.rows = born.size();
  for (std::size_t i = 0; i < born.size(); ++i) {
    const auto birth = static_cast<trace::time_ns>(born[i]);
    output->facts.first_birth = std::min(output->facts.first_birth, birth);
    output->facts.last_birth = std::max(output->facts.last_birth, birth);
    if (died[i] != unknown)
      output->facts.first_death = std::min(output->facts.first_death, static_cast<trace::time_ns>(died[i]));
  }
  for (std::size_t i = 0; i < list_columns; ++i) {
    if (!is_from_birth(static_cast<list_column>(i))) continue;
    for (std::size_t row = 0; row < born.size(); ++row) subject[i][row] = from_birth(subject[i][row], born[row]);
  }
  output->offset = written_;
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < list_columns; ++i)
    output->layouts[i] = encoder_->encode(subject[i], {}, 0, habits_[i], bytes);
  if (auto put = move_bytes(::pwrite, "write", descriptor_, written_, std::span(std::as_const(bytes))); !put)
    return put;
  written_ += bytes.size();
  const std::scoped_lock lock(mutex_);
  chunks_.push_back(std::move(output));
  return {};
}

result<void> block_list::read(std::size_t chunk, list_column column, block_values& subject) const {
  std::vector<std::uint64_t>& values = subject[get_place(column)];
  if (!values.empty()) return {};
  std::shared_ptr<const block_list::chunk> source;
  {
    const std::scoped_lock lock(mutex_);
    source = chunks_[chunk];
  }
  values.resize(source->facts.rows);
  std::uint64_t offset = source->offset;
  for (std::size_t i = 0; i < get_place(column); ++i) offset += source->layouts[i].stored_bytes();
  const trace::column_layout& layout = source->layouts[get_place(column)];
  thread_scratch<std::byte> bytes;
  bytes->resize(layout.stored_bytes());
  if (auto got = move_bytes(::pread, "read", descriptor_, offset, std::span(*bytes)); !got) return got;
  if (!trace::decode_integers(layout, *bytes, {}, values)) return cannot("read", EIO);
  if (!is_from_birth(column)) return {};
  if (auto got = read(chunk, list_column::born, subject); !got) return got;
  const std::vector<std::uint64_t>& born = subject[get_place(list_column::born)];
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = to_time(values[i], born[i]);
  return {};
}

}  // namespace sluice::query
