#include "instrumentation/writer/record_decoder/recorded_process.hpp"

#include <algorithm>

namespace sluice::writer {

using namespace trace;

process_id process_list::find_parent(const producer_identity& identity) const {
  process_id parent{};
  if (identity.parent_pid == 0) return parent;
  for (const auto& process : processes_) {
    const process_row& row = process->names.row;
    if (row.pid == identity.parent_pid || row.container_pid == identity.parent_pid) parent = process->names.id;
  }
  return parent;
}

std::uint64_t process_list::count_heard() const {
  return static_cast<std::uint64_t>(
      std::count_if(processes_.begin(), processes_.end(), [](const auto& process) { return process->heard; }));
}

void process_list::settle(const turn_clock& now, bool everything, block_writer& writer) {
  for (const auto& process : processes_) {
    process->blocks.settle(now, everything, writer.begin());
    writer.write();
    process->work.settle(now, everything);
  }
}

void process_list::write_freed(block_writer& writer) {
  for (const auto& process : processes_) {
    process->blocks.write_freed(writer.begin());
    writer.write();
  }
}

}  // namespace sluice::writer
