#include "instrumentation/capture/stacks/python_code.hpp"

#include <sys/uio.h>
#include <unistd.h>

namespace sluice::capture {

namespace {

constexpr std::int64_t code_unit = 2;  // Size of an instruction in bytes.

struct line_table {
  const std::uint8_t* at;
  const std::uint8_t* end;
};

/// Python 3.8 and 3.9 (Objects/lnotab_notes.txt): pairs of (code bytes, lines), each relative to the previous pair.
std::int64_t line_by_lnotab(line_table table, std::int64_t line, std::int64_t wanted) {
  std::int64_t address = 0;
  for (; table.end - table.at >= 2; table.at += 2) {
    address += table.at[0];
    if (address > wanted) break;
    line += static_cast<std::int8_t>(table.at[1]);
  }
  return line;
}

/// Python 3.10 (PEP 626): pairs of (code bytes, lines); -128 lines means that the code has no line.
std::int64_t line_by_ranges(line_table table, std::int64_t line, std::int64_t wanted) {
  std::int64_t address = 0;
  for (; table.end - table.at >= 2; table.at += 2) {
    const auto lines = static_cast<std::int8_t>(table.at[1]);
    address += table.at[0];
    if (lines != INT8_MIN) line += lines;
    if (address > wanted) return lines == INT8_MIN ? 0 : line;
  }
  return 0;
}

/// Decodes the signed number at `at`, which consists of 6-bit groups, lowest first. It has at most 32 bits, and the sum
/// of all in a table cannot overflow, even if the bytes are not a table.
std::int64_t signed_varint(const std::uint8_t* at, const std::uint8_t* end) {
  constexpr unsigned max_bits = 36;
  std::uint64_t value = 0;
  for (unsigned shift = 0; at < end && shift < max_bits; ++at, shift += 6) {
    value |= std::uint64_t{*at & 63U} << shift;
    if ((*at & 64U) == 0) break;
  }
  const auto magnitude = static_cast<std::int64_t>(value >> 1);
  return (value & 1) != 0 ? -magnitude : magnitude;
}

/// Python 3.11 and later (Objects/locations.md): an entry starts with a byte that contains the top bit, the kind and
/// the length in instructions.
std::int64_t line_by_locations(line_table table, std::int64_t line, std::int64_t wanted) {
  std::int64_t address = 0;
  while (table.at < table.end) {
    const unsigned kind = (*table.at >> 3) & 15U;
    const std::int64_t length = ((*table.at & 7) + 1) * code_unit;
    ++table.at;
    const bool none = kind == 15;
    if (kind == 13 || kind == 14) line += signed_varint(table.at, table.end);
    if (kind >= 10 && kind <= 12) line += kind - 10;
    address += length;
    if (address > wanted) return none ? 0 : line;
    while (table.at < table.end && (*table.at & 128U) == 0) ++table.at;
  }
  return 0;
}

/// Reads memory through the kernel, so that freed memory causes no fault. When the table of a code object's copies
/// grows, Python replaces it, and frees the old table when no thread that runs Python can be reading it. But this
/// thread may be reading while Python regards it as waiting.
bool read_safely(const void* source, void* to, std::size_t bytes) {
  const iovec there{const_cast<void*>(source), bytes};
  const iovec here{to, bytes};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

/// Start of the copy of the code that contains `position`; 0 if no copy contains it.
std::uint64_t copy_with(const python_layout& layout, const code_place& place, python_position position) {
  constexpr std::int64_t max_threads = 4096;
  const auto bytes = static_cast<std::uint64_t>(place.units) * std::uint64_t{code_unit};
  const auto holds = [&](std::uint64_t begin) { return position - begin <= bytes; };
  const std::uint64_t own = place.code + layout.code.instructions;
  if (holds(own)) return own;
  const char* table = reinterpret_cast<const char*>(place.copies);
  std::int64_t count = 0;
  if (table == nullptr || !read_safely(table, &count, sizeof count)) return 0;
  for (std::int64_t i = 0; i < count && i < max_threads; ++i) {
    std::uint64_t copy = 0;
    if (!read_safely(table + sizeof count + static_cast<std::uint64_t>(i) * sizeof copy, &copy, sizeof copy)) return 0;
    if (copy != 0 && holds(copy)) return copy;
  }
  return 0;
}

/// Writes the character as UTF-8 to `to`; returns its size, at most 4 bytes.
std::size_t encode(std::uint32_t c, char* to) {
  const auto byte = [](std::uint32_t value) { return static_cast<char>(static_cast<std::uint8_t>(value)); };
  if ((c >= 0xD800 && c < 0xE000) || c > 0x10FFFF) c = 0xFFFD;
  if (c < 0x80) {
    to[0] = byte(c);
    return 1;
  }
  if (c < 0x800) {
    to[0] = byte(0xC0 | c >> 6);
    to[1] = byte(0x80 | (c & 63));
    return 2;
  }
  if (c < 0x10000) {
    to[0] = byte(0xE0 | c >> 12);
    to[1] = byte(0x80 | (c >> 6 & 63));
    to[2] = byte(0x80 | (c & 63));
    return 3;
  }
  to[0] = byte(0xF0 | c >> 18);
  to[1] = byte(0x80 | (c >> 12 & 63));
  to[2] = byte(0x80 | (c >> 6 & 63));
  to[3] = byte(0x80 | (c & 63));
  return 4;
}

}  // namespace

std::int64_t get_address(const python_layout& layout, const code_place& place, python_position position) noexcept {
  if (layout.family == python_family::frame_objects) {
    const auto last = static_cast<std::int32_t>(static_cast<std::uint32_t>(position));
    return layout.lines == python_lines::ranges ? last * code_unit : last;
  }
  if (layout.copies != 0) {
    const std::uint64_t begin = copy_with(layout, place, position);
    return begin == 0 ? -1 : static_cast<std::int64_t>(position - begin);
  }
  return static_cast<std::int64_t>(position - (place.code + layout.code.instructions));
}

std::uint32_t find_line(const python_layout& layout, const line_query& query) noexcept {
  std::int64_t line = query.first_line;
  if (query.address >= 0 && query.table != nullptr) {
    const line_table range{query.table, query.table + query.bytes};
    switch (layout.lines) {
      case python_lines::lnotab:
        line = line_by_lnotab(range, line, query.address);
        break;
      case python_lines::ranges:
        line = line_by_ranges(range, line, query.address);
        break;
      case python_lines::locations:
        line = line_by_locations(range, line, query.address);
        break;
    }
  }
  return line > 0 && line <= INT32_MAX ? static_cast<std::uint32_t>(line) : 0;
}

std::uint32_t get_line(const python_layout& layout, const void* code, python_position position) noexcept {
  code_place place{reinterpret_cast<std::uint64_t>(code), 0, 0};
  if (layout.copies != 0) {
    place.units = read_at<std::int64_t>(code, layout.length());
    place.copies = read_at<std::uint64_t>(code, layout.copies);
  }
  line_query query{nullptr, 0, read_at<std::int32_t>(code, layout.code.first_line),
                   get_address(layout, place, position)};
  const void* table = read_at<const void*>(code, layout.code.line_table);
  if (table != nullptr) {
    query.table = static_cast<const std::uint8_t*>(table) + layout.bytes_data();
    query.bytes = read_at<std::uint64_t>(table, layout.length());
  }
  return find_line(layout, query);
}

text_view read_utf8(const python_layout& layout, const void* unicode, char* buffer, std::size_t room) noexcept {
  if (unicode == nullptr) return {buffer, 0};
  // State bits: interned : 2 (or 8), kind : 3, compact : 1, ascii : 1
  const std::uint32_t state = read_at<std::uint32_t>(unicode, layout.unicode_state()) >> layout.kind_bits;
  const unsigned width = state & 7U;
  const bool compact = (state >> 3 & 1U) != 0, ascii = (state >> 4 & 1U) != 0;
  // A later 3.14 release might use another layout, and no text is better than a wrong text.
  if (layout.without_gil && (!compact || (width != 1 && width != 2 && width != 4))) return {buffer, 0};
  const auto length = static_cast<std::size_t>(read_at<std::int64_t>(unicode, layout.length()));
  const char* object = static_cast<const char*>(unicode);
  const char* data = object + (ascii ? layout.ascii_data : layout.unicode_data);
  if (!compact) data = read_at<const char*>(unicode, layout.unicode_data);
  if (data == nullptr) return {buffer, 0};
  if (ascii) return {data, length};
  std::size_t used = 0;
  for (std::size_t i = 0; i < length && room - used >= 4; ++i) {
    std::uint32_t c = 0;
    if (width == 1) c = read_at<std::uint8_t>(data, i);
    if (width == 2) c = read_at<std::uint16_t>(data, i * 2);
    if (width == 4) c = read_at<std::uint32_t>(data, i * 4);
    used += encode(c, buffer + used);
  }
  return {buffer, used};
}

}  // namespace sluice::capture
