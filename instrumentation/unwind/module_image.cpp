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

std::shared_ptr<const module_image> module_image::read(const source& file, bool evaluations) {
  std::shared_ptr<module_image> image(new module_image);
  if (!image->read_headers(file)) return nullptr;
  image->read_tables(file);
  if (evaluations) image->find_evaluation(file);
  return image;
}

std::shared_ptr<const module_image> module_image::read(int descriptor, bool evaluations) {
  return read(
      [descriptor](std::uint64_t offset, void* to, std::size_t count) -> std::size_t {
        std::size_t done = 0;
        while (done < count && offset + done < static_cast<std::uint64_t>(INT64_MAX)) {
          const ssize_t got =
              pread(descriptor, static_cast<char*>(to) + done, count - done, static_cast<off_t>(offset + done));
          if (got <= 0) break;
          done += static_cast<std::size_t>(got);
        }
        return done;
      },
      evaluations);
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
  return read(
      [begin, size](std::uint64_t offset, void* to, std::size_t count) -> std::size_t {
        if (offset >= size) return 0;
        count = std::min<std::size_t>(count, size - offset);
        std::memcpy(to, begin + offset, count);
        return count;
      },
      false);
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
  section_offset_ = header.e_shoff;
  section_count_ = header.e_shentsize == sizeof(Elf64_Shdr) ? header.e_shnum : 0U;
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

// ----------------------------------------------------------------------------------------------------------- symbols

void module_image::find_evaluation(const source& file) {
  constexpr std::uint32_t max_sections = 4096;
  std::vector<Elf64_Shdr> sections(std::min(section_count_, max_sections));
  const std::size_t bytes = sections.size() * sizeof sections[0];
  if (file(section_offset_, sections.data(), bytes) != bytes) return;
  for (const Elf64_Shdr& section : sections) {
    const bool symbols = section.sh_type == SHT_DYNSYM || section.sh_type == SHT_SYMTAB;
    if (!symbols || section.sh_link >= sections.size()) continue;
    if (find_in_symbols(file, &section, &sections[section.sh_link])) return;
  }
}

bool module_image::find_in_symbols(const source& file, const void* table, const void* names) {
  constexpr char wanted[] = "_PyEval_EvalFrameDefault";
  constexpr std::size_t max_names = std::size_t{32} << 20, max_symbols = std::size_t{1} << 20, at_once = 1024;
  const auto& where = *static_cast<const Elf64_Shdr*>(table);
  const auto& strings = *static_cast<const Elf64_Shdr*>(names);
  std::vector<char> text(std::min<std::size_t>(strings.sh_size, max_names));
  text.resize(file(strings.sh_offset, text.data(), text.size()));
  const std::size_t count = std::min<std::size_t>(where.sh_size / sizeof(Elf64_Sym), max_symbols);
  std::vector<Elf64_Sym> symbols(at_once);
  for (std::size_t first = 0; first < count; first += at_once) {
    const std::size_t bytes = std::min(at_once, count - first) * sizeof symbols[0];
    const std::size_t got = file(where.sh_offset + first * sizeof symbols[0], symbols.data(), bytes);
    for (std::size_t i = 0; i < got / sizeof symbols[0]; ++i) {
      const Elf64_Sym& symbol = symbols[i];
      const bool fits = symbol.st_name < text.size() && text.size() - symbol.st_name >= sizeof wanted;
      const bool sound = symbol.st_value < highest_address && symbol.st_size < highest_address;
      if (!fits || !sound || std::memcmp(text.data() + symbol.st_name, wanted, sizeof wanted) != 0) continue;
      evaluation_begin_ = symbol.st_value;
      evaluation_end_ = symbol.st_value + symbol.st_size;
      return true;
    }
    if (got != bytes) return false;
  }
  return false;
}

}  // namespace sluice::unwind
