#include "core/query/engine/block_list.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/files/full_disk.hpp"
#include "core/base/files/scratch_file.hpp"
#include "core/base/thread_scratch.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/metrics/statistics/unfreed.hpp"

namespace sluice::query {
namespace {

using metrics::listed_block;

/// The index of a part takes some 100 bytes per event.
constexpr std::uint64_t events_in_a_part = 300'000;

constexpr std::size_t get_place(list_column column) { return static_cast<std::size_t>(column); }

/// Encodes a time as its difference from the block's allocation, because small differences take few bytes.
std::uint64_t from_birth(trace::time_ns time, trace::time_ns born, trace::time_ns unknown) {
  if (time == unknown) return 0;
  return trace::zigzag(static_cast<std::uint64_t>(time) - static_cast<std::uint64_t>(born)) + 1;
}
std::uint64_t to_time(std::uint64_t distance, std::uint64_t born, trace::time_ns unknown) {
  return distance == 0 ? static_cast<std::uint64_t>(unknown) : born + trace::unzigzag(distance - 1);
}

/// True for columns that are stored as the difference from `born`.
constexpr bool is_from_birth(list_column column) {
  return column == list_column::died || column == list_column::first_use || column == list_column::last_use;
}

void put(const listed_block& block, bool unfreed, block_list::columns& to) {
  const auto add = [&](list_column column, std::uint64_t value) { to[get_place(column)].push_back(value); };
  add(list_column::block, raw(block.block));
  add(list_column::alloc, raw(block.alloc));
  add(list_column::process, raw(block.process));
  add(list_column::device, raw(block.device));
  add(list_column::stream, raw(block.stream));
  add(list_column::pool, raw(block.pool));
  add(list_column::name, raw(block.name));
  add(list_column::stack, raw(block.stack));
  add(list_column::born, static_cast<std::uint64_t>(block.born));
  add(list_column::died, from_birth(block.died, block.born, trace::unknown_time));
  add(list_column::address, block.address);
  add(list_column::bytes, block.bytes);
  add(list_column::traits, static_cast<std::uint64_t>(block.layer) |
                               static_cast<std::uint64_t>(block.kind) << block_traits::kind_at |
                               static_cast<std::uint64_t>(block.category.kind) << block_traits::category_at |
                               static_cast<std::uint64_t>(block.category.why) << block_traits::reason_at |
                               static_cast<std::uint64_t>(unfreed) << block_traits::unfreed_at);
  add(list_column::first_use, from_birth(block.first_use, block.born, trace::unknown_time));
  add(list_column::last_use, from_birth(block.last_use, block.born, trace::unknown_time));
  add(list_column::uses, block.uses);
}

result<void> cannot(const char* subject, int why) {
  return fail(code_of_failed_write(why),
              std::string("cannot ") + subject + " the list of blocks: " + describe_errno(why), "a scratch file",
              "set TMPDIR to a folder with more space");
}

result<void> write_at(int descriptor, std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return cannot("write", put < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
  return {};
}

result<void> read_at(int descriptor, std::uint64_t offset, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return cannot("read", got < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
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

std::vector<std::uint64_t> block_list::names() const {
  const std::scoped_lock lock(mutex_);
  return {names_.begin(), names_.end()};
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
  const trace::snapshot& trace = from_.snapshot();
  const auto facts = part.tensors(trace);
  const metrics::cut_end end(trace);
  const index::touch_index& touches = part.touches();
  if (!touches.empty()) uses_known_ = true;
  const std::span<const index::block_record> blocks = part.memory().blocks();
  columns listed;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const index::block_record& block = blocks[i];
    if (!block.allocated || !run.holds(block.born)) continue;
    const auto category = i < facts->categories.size() ? facts->categories[i] : index::block_category{};
    listed_block row = metrics::listed(block, category);
    if (!touches.empty()) row.set_uses(touches.of(block));
    put(row, metrics::is_unfreed(block, end), listed);
    if (listed[0].size() < rows_in_chunk) continue;
    if (auto added = add_chunk(listed); !added) return added;
    for (auto& each : listed) each.clear();
  }
  return listed[0].empty() ? result<void>{} : add_chunk(listed);
}

result<void> block_list::add_chunk(const columns& subject) {
  auto output = std::make_shared<chunk>();
  output->facts.rows = subject[0].size();
  for (std::size_t i = 0; i < subject[0].size(); ++i) {
    const auto born = static_cast<trace::time_ns>(subject[get_place(list_column::born)][i]);
    const auto died = static_cast<trace::time_ns>(
        to_time(subject[get_place(list_column::died)][i], static_cast<std::uint64_t>(born), INT64_MAX));
    output->facts.first_birth = std::min(output->facts.first_birth, born);
    output->facts.last_birth = std::max(output->facts.last_birth, born);
    output->facts.first_death = std::min(output->facts.first_death, died);
  }
  output->offset = written_;
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < list_columns; ++i)
    output->layouts[i] = encoder_->encode(subject[i], {}, 0, habits_[i], bytes);
  if (auto put = write_at(descriptor_, written_, bytes); !put) return put;
  written_ += bytes.size();
  const std::scoped_lock lock(mutex_);
  chunks_.push_back(std::move(output));
  for (const std::uint64_t name : subject[get_place(list_column::name)]) names_.insert(name);
  return {};
}

result<void> block_list::read(std::size_t chunk, list_column column, columns& subject) const {
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
  if (auto got = read_at(descriptor_, offset, *bytes); !got) return got;
  if (!trace::decode_integers(layout, *bytes, {}, values)) return cannot("read", EIO);
  if (!is_from_birth(column)) return {};
  if (auto got = read(chunk, list_column::born, subject); !got) return got;
  const std::vector<std::uint64_t>& born = subject[get_place(list_column::born)];
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = to_time(values[i], born[i], trace::unknown_time);
  return {};
}

listed_block block_list::select_block(const columns& subject, std::size_t row) {
  const auto get = [&](list_column column) { return subject[get_place(column)][row]; };
  const std::uint64_t traits = get(list_column::traits);
  const auto trait = [&](unsigned at) { return static_cast<std::uint8_t>(traits >> at & block_traits::mask); };
  listed_block block;
  block.block = trace::block_id{get(list_column::block)};
  block.alloc = trace::event_id{get(list_column::alloc)};
  block.process = trace::process_id{get(list_column::process)};
  block.device = trace::device_id{get(list_column::device)};
  block.stream = trace::stream_id{get(list_column::stream)};
  block.pool = trace::pool_id{get(list_column::pool)};
  block.name = trace::string_id{get(list_column::name)};
  block.stack = trace::stack_id{get(list_column::stack)};
  block.born = static_cast<trace::time_ns>(get(list_column::born));
  block.died = static_cast<trace::time_ns>(get(list_column::died));
  block.address = get(list_column::address);
  block.bytes = get(list_column::bytes);
  block.layer = static_cast<trace::layer>(trait(0));
  block.kind = static_cast<trace::memory_kind>(trait(block_traits::kind_at));
  block.category = {static_cast<index::category>(trait(block_traits::category_at)),
                    static_cast<index::category_reason>(trait(block_traits::reason_at))};
  block.first_use = static_cast<trace::time_ns>(get(list_column::first_use));
  block.last_use = static_cast<trace::time_ns>(get(list_column::last_use));
  block.uses = get(list_column::uses);
  return block;
}

}  // namespace sluice::query
