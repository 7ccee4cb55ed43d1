#include "instrumentation/unwind/module_image.hpp"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace sluice::unwind {

namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t highest_address = std::uint64_t{1} << 47;

template <class T>
bool read_value(const module_image::source& file, std::uint64_t offset, T& value) {
  return file(offset, &value, sizeof value) == sizeof value;
}

/// The first words of .eh_frame_hdr, in the form that all linkers write.
struct table_header {
  std::uint8_t version, frame_encoding, count_encoding, table_encoding;
  std::int32_t frame;  ///< .eh_frame, relative to this member.
  std::uint32_t count;
};
struct table_row {
  std::int32_t function, entry;  ///< Relative to the header.
};

bool is_usual(const table_header& header) {
  return header.version == 1 && header.frame_encoding == 0x1b && header.count_encoding == 0x03 &&
         header.table_encoding == 0x3b;
}

}  // namespace

module_image::source module_image::read_from(int descriptor) {
  return [descriptor](std::uint64_t offset, void* to, std::size_t count) -> std::size_t {
    std::size_t done = 0;
    while (done < count && offset + done < static_cast<std::uint64_t>(INT64_MAX)) {
      const ssize_t got =
          pread(descriptor, static_cast<char*>(to) + done, count - done, static_cast<off_t>(offset + done));
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  };
}

std::shared_ptr<const module_image> module_image::read(const source& file) {
  std::shared_ptr<module_image> image(new module_image);
  if (!image->read_headers(file)) return nullptr;
  image->read_tables(file);
  return image;
}

std::shared_ptr<const module_image> module_image::read_vdso() {
  const auto* const begin = reinterpret_cast<const char*>(getauxval(AT_SYSINFO_EHDR));
  if (begin == nullptr) return nullptr;
  // The kernel's own image. It has no sections beyond its loaded pages; its first segment covers all of them.
  Elf64_Ehdr header;
  std::memcpy(&header, begin, sizeof header);
  std::uint64_t size = 0;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part;
    std::memcpy(&part, begin + header.e_phoff + i * sizeof part, sizeof part);
    if (part.p_type == PT_LOAD) size = std::max(size, part.p_offset + part.p_filesz);
  }
  return read([begin, size](std::uint64_t offset, void* to, std::size_t count) -> std::size_t {
    if (offset >= size) return 0;
    count = std::min<std::size_t>(count, size - offset);
    std::memcpy(to, begin + offset, count);
    return count;
  });
}

module_image::~module_image() {
  if (memory_ != nullptr) munmap(memory_, memory_bytes_);
}

// ----------------------------------------------------------------------------------------------------------- headers

bool module_image::read_headers(const source& file) {
  constexpr unsigned max_headers = 256;
  Elf64_Ehdr header;
  if (!read_value(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64 ||
      header.e_phentsize != sizeof(Elf64_Phdr)) {
    return false;
  }
  begin_ = highest_address;
  for (unsigned i = 0; i < std::min<unsigned>(header.e_phnum, max_headers); ++i) {
    Elf64_Phdr part;
    if (!read_value(file, header.e_phoff + i * sizeof part, part)) break;
    const bool sound = part.p_vaddr < highest_address && part.p_memsz < highest_address &&
                       part.p_offset < highest_address && part.p_filesz <= part.p_memsz;
    if (!sound) continue;
    if (part.p_type == PT_LOAD) {
      segments_.push_back({part.p_vaddr, part.p_offset, part.p_filesz, part.p_memsz, (part.p_flags & PF_X) != 0});
      begin_ = std::min(begin_, part.p_vaddr & ~(page - 1));
      end_ = std::max(end_, part.p_vaddr + part.p_memsz);
    }
    if (part.p_type == PT_GNU_EH_FRAME) table_address_ = part.p_vaddr;
    if (part.p_type == PT_NOTE && build_id_.empty()) read_build_id(file, part.p_offset, part.p_filesz);
  }
  return !segments_.empty();
}

void module_image::read_build_id(const source& file, std::uint64_t offset, std::uint64_t bytes) {
  constexpr std::uint64_t max_bytes = 4096, max_id = 32;
  std::vector<char> notes(std::min(bytes, max_bytes));
  notes.resize(file(offset, notes.data(), notes.size()));
  for (std::size_t at = 0; notes.size() - at >= sizeof(Elf64_Nhdr);) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    const std::uint64_t name = at + sizeof note;
    const std::uint64_t content = name + ((note.n_namesz + 3ULL) & ~3ULL);
    const std::uint64_t next = content + ((note.n_descsz + 3ULL) & ~3ULL);
    if (next > notes.size()) return;
    const bool ours = note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz <= max_id &&
                      std::memcmp(notes.data() + name, "GNU", 4) == 0;
    if (ours) return build_id_.assign(notes.data() + content, notes.data() + content + note.n_descsz);
    at = next;
  }
}

std::optional<std::uint64_t> module_image::find_address(std::uint64_t offset) const {
  // The loader maps whole pages, so a mapping may begin before its segment does, in a page that belongs to the segment
  // before, too. (The linker lld does not align segments in the file.) The mappings that are looked for are of code.
  for (const bool code : {true, false}) {
    for (const segment& s : segments_) {
      const std::uint64_t first = s.offset & ~(page - 1);
      if (s.executable != code || offset < first || offset >= s.offset + s.file_bytes) continue;
      return s.address - (s.offset - first) + (offset - first);
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> module_image::find_offset(std::uint64_t address) const {
  for (const segment& s : segments_) {
    if (address >= s.address && address < s.address + s.file_bytes) return s.offset + (address - s.address);
  }
  return std::nullopt;
}

unwind_rule module_image::find_rule(std::uint64_t address) const {
  if (memory_ == nullptr) return {unwind_rule::guess};
  return find_unwind_rule(image_, address - memory_begin_ + reinterpret_cast<std::uint64_t>(memory_));
}

// ------------------------------------------------------------------------------------------------------------ tables

std::uint64_t module_image::copy(const source& file, std::uint64_t address, std::uint64_t bytes) {
  for (const segment& s : segments_) {
    if (address < s.address || address >= s.address + s.file_bytes) continue;
    bytes = std::min(bytes, s.address + s.file_bytes - address);
    return file(s.offset + (address - s.address), static_cast<char*>(memory_) + (address - memory_begin_), bytes);
  }
  return 0;
}

/// The table of functions (.eh_frame_hdr) says where their entries (.eh_frame) are; the last one ends the part to read.
void module_image::read_tables(const source& file) {
  table_header header;
  const auto offset = find_offset(table_address_);
  if (table_address_ == 0 || !offset || !read_value(file, *offset, header) || !is_usual(header)) return;
  const std::uint64_t rows_bytes = std::uint64_t{header.count} * sizeof(table_row);
  if (header.count == 0 || rows_bytes > max_table_bytes) return;
  std::vector<table_row> rows(header.count);
  if (file(*offset + sizeof header, rows.data(), rows_bytes) != rows_bytes) return;
  const auto relative = [&](std::int32_t to) { return table_address_ + static_cast<std::uint64_t>(std::int64_t{to}); };
  const auto last = std::max_element(rows.begin(), rows.end(),
                                     [](const table_row& a, const table_row& b) { return a.entry < b.entry; });
  const std::uint64_t frame = relative(header.frame) + offsetof(table_header, frame);
  const std::uint64_t last_entry = relative(last->entry);
  std::uint32_t last_bytes = 0;
  const auto last_offset = find_offset(last_entry);
  if (!last_offset || !read_value(file, *last_offset, last_bytes)) return;
  const std::uint64_t frame_end = last_entry + sizeof last_bytes + std::min<std::uint64_t>(last_bytes, page);
  if (frame >= frame_end || frame_end - frame > max_table_bytes) return;
  const std::uint64_t table_end = table_address_ + sizeof header + rows_bytes;
  const std::uint64_t begin = std::min(frame, table_address_) & ~(page - 1);
  const std::uint64_t end = std::max(frame_end, table_end);
  constexpr std::uint64_t max_distance = std::uint64_t{4} << 30;  // Offsets have 32 bits. Holes use no memory.
  if (end - begin > max_distance) return;
  void* const memory =
      mmap(nullptr, end - begin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  memory_ = memory;
  memory_begin_ = begin;
  memory_bytes_ = end - begin;
  const std::uint64_t here = reinterpret_cast<std::uint64_t>(memory_) - memory_begin_;
  image_.eh_frame_header = here + table_address_;
  const auto add = [&](std::uint64_t first, std::uint64_t bytes) {
    image_.segments[image_.count++] = {here + first, here + first + copy(file, first, bytes), false};
  };
  add(table_address_, table_end - table_address_);
  add(frame, frame_end - frame);
}

}  // namespace sluice::unwind
