// When the disk is full, dropped rows are counted, and the file reports them as soon as there is space again.
#include <unistd.h>

#include "core/base/format.hpp"
#include "core/trace/file/writer_state.hpp"

namespace sluice::trace {

std::string file_writer::state::full_disk_hint(std::size_t bytes) const {
  if (options.outlives_failures) return "free some space; what was recorded before is kept";
  return "the recording needs more than " + format_bytes(static_cast<double>(offset + bytes)) +
         ": free some space, or choose a folder with more space";
}

void file_writer::state::write_kept_frees() {
  std::vector<free_event>& frees = dropped.frees;
  std::size_t written = 0;
  while (written < frees.size() && !failure) {
    const std::size_t next = std::min(max_chunk_rows, frees.size() - written);
    write_chunk(std::span<const free_event>(frees).subspan(written, next));
    if (!failure) written += next;
  }
  frees.erase(frees.begin(), frees.begin() + static_cast<std::ptrdiff_t>(written));
}

void file_writer::state::write_losses() {
  write_kept_frees();
  if (failure) return;
  std::vector<loss_event> rows;
  for (const auto& [process, lost] : dropped.processes()) {
    loss_event row;
    row.id = static_cast<event_id>(++last_event);
    row.process = process;
    row.time = dropped.begin();
    row.end = dropped.end();
    row.events = lost.events;
    row.memory_events = lost.memory_events;
    rows.push_back(row);
  }
  if (!rows.empty()) write_chunk(std::span<const loss_event>(rows));
}

template <class Row>
std::optional<std::vector<Row>> file_writer::state::read_back(const index_row& chunk) const {
  std::vector<std::byte> bytes(chunk.stored_bytes);
  const auto at = static_cast<off_t>(chunk.offset + sizeof(chunk_header));
  if (::pread(fd, bytes.data(), bytes.size(), at) != static_cast<ssize_t>(bytes.size())) return std::nullopt;
  std::vector<Row> rows;
  if (!decode_rows<Row>(bytes, chunk.rows, rows)) return std::nullopt;
  return rows;
}

void file_writer::state::end_stopped() {
  const error why = *failure;
  failure.reset();
  flush_tables();
  if (!failure) write_losses();
  if (failure) dropped.give_up_frees();
  if (failure && failure->code == error_code::no_space) write_losses_over_last_chunks();
  losses_reported = !failure || dropped.processes().empty();
  failure = why;
}

void file_writer::state::write_losses_over_last_chunks() {
  constexpr std::uint64_t max_removed = std::uint64_t{1} << 20;
  auto& chunks = of<index_row>();
  const std::uint64_t end = offset;
  while (failure && !dropped.processes().empty() && !chunks.empty() && end - offset < max_removed) {
    const index_row last = chunks.back();
    const auto losses = last.type == row_type::loss ? read_back<loss_event>(last) : std::nullopt;
    const auto frees = last.type == row_type::free ? read_back<free_event>(last) : std::nullopt;
    if (::ftruncate(fd, static_cast<off_t>(last.offset)) != 0) break;
    chunks.pop_back();
    offset = last.offset;
    if (losses) {
      for (const loss_event& row : *losses) dropped.take(row);
    } else if (frees) {
      for (const free_event& row : *frees) dropped.take(row);
    } else {
      dropped.take(last.type, last.rows, last.min_time, last.max_time);
    }
    failure.reset();
    write_losses();
  }
}

}  // namespace sluice::trace
