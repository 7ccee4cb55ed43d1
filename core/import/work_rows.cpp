#include "core/import/work_rows.hpp"

namespace sluice::importing {
namespace {

/// Returns the direction of a copy from a letter for each side: host, device or array and, on Intel's GPUs, system
/// memory or shared memory.
trace::direction get_direction(char source, char to) {
  const auto on_host = [](char side) { return side == 'H' || side == 'M'; };
  const auto on_device = [](char side) { return side == 'D' || side == 'A' || side == 'S'; };
  if (source == 'P' && to == 'P') return trace::direction::p2p;
  if (on_host(source) && on_host(to)) return trace::direction::h2h;
  if (on_host(source) && on_device(to)) return trace::direction::h2d;
  if (on_device(source) && on_host(to)) return trace::direction::d2h;
  return on_device(source) && on_device(to) ? trace::direction::d2d : trace::direction::unknown;
}

/// Returns the position of the letter for the side before `at`. In words of mixed case, this letter is the last capital
/// before `at` that four or six letters follow. In words of capitals, it is the first letter.
std::size_t letter_before(std::string_view name, std::size_t at, std::string_view middle) {
  if (at == 0) return std::string_view::npos;
  if (middle == "To") return name.find_last_of("HDP", at);
  if (middle == "_TO_") return name.find_last_of('_', at - 1) + 1;
  return at - 1;
}

trace::direction get_direction(std::string_view name) {
  for (const std::string_view middle : {"to", "2", "To", "_TO_"}) {
    for (auto at = name.find(middle); at != std::string_view::npos; at = name.find(middle, at + 1)) {
      const std::size_t before = letter_before(name, at, middle), behind = at + middle.size();
      if (before == std::string_view::npos || behind >= name.size()) continue;
      const trace::direction found = get_direction(name[before], name[behind]);
      if (found != trace::direction::unknown) return found;
    }
  }
  return trace::direction::unknown;
}

}  // namespace

trace::memory_kind memory_of_word(std::string_view word) {
  if (word == "Pageable" || word == "Memory") return trace::memory_kind::host;
  if (word == "Pinned") return trace::memory_kind::pinned;
  if (word == "Device") return trace::memory_kind::device;
  if (word == "Managed" || word == "Shared") return trace::memory_kind::managed;
  if (word == "Array") return trace::memory_kind::array;
  return trace::memory_kind::unknown;
}

void read_copy_name(std::string_view name, trace::transfer_event& into) {
  into.direction = get_direction(name);
  const std::size_t open = name.find('('), arrow = name.find(" -> "), close = name.rfind(')');
  const bool has_sides = open < arrow && arrow != std::string_view::npos && close != std::string_view::npos;
  if (!has_sides || arrow + 4 > close) return;
  into.source_kind = memory_of_word(name.substr(open + 1, arrow - open - 1));
  into.destination_kind = memory_of_word(name.substr(arrow + 4, close - arrow - 4));
}

void fill_device_sides(trace::transfer_event& row) {
  using enum trace::direction;
  const bool between = row.direction == d2d || row.direction == p2p;
  if ((between || row.direction == d2h) && row.source_kind == trace::memory_kind::unknown)
    row.source_kind = trace::memory_kind::device;
  if ((between || row.direction == h2d) && row.destination_kind == trace::memory_kind::unknown)
    row.destination_kind = trace::memory_kind::device;
}

void set_shape(trace::kernel_event& kernel_row, const std::uint32_t (&grid)[3], const std::uint32_t (&block)[3]) {
  kernel_row.grid_x = grid[0];
  kernel_row.grid_y = grid[1];
  kernel_row.grid_z = grid[2];
  kernel_row.block_x = block[0];
  kernel_row.block_y = block[1];
  kernel_row.block_z = block[2];
}

}  // namespace sluice::importing
