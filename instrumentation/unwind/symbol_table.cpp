#include "instrumentation/unwind/symbol_table.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace sluice::unwind {
namespace {

constexpr std::size_t max_sections = 4096;

/// Returns the section headers; empty if they are damaged.
std::vector<Elf64_Shdr> read_sections(const module_image::source& file) {
  Elf64_Ehdr header;
  if (file(0, &header, sizeof header) != sizeof header || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr)) {
    return {};
  }
  std::vector<Elf64_Shdr> sections(std::min<std::size_t>(header.e_shnum, max_sections));
  const std::size_t bytes = sections.size() * sizeof(Elf64_Shdr);
  if (file(header.e_shoff, sections.data(), bytes) != bytes) return {};
  return sections;
}

const Elf64_Shdr* find_symbols(const std::vector<Elf64_Shdr>& sections) {
  for (const Elf64_Word wanted : {SHT_SYMTAB, SHT_DYNSYM})
    for (const Elf64_Shdr& each : sections)
      if (each.sh_type == wanted && each.sh_link < sections.size()) return &each;
  return nullptr;
}

}  // namespace

std::shared_ptr<const symbol_table> symbol_table::read(const module_image::source& file) {
  auto table = std::make_shared<symbol_table>();
  const std::vector<Elf64_Shdr> sections = read_sections(file);
  const Elf64_Shdr* const symbols = find_symbols(sections);
  if (symbols == nullptr) return table;
  table->names_ = sections[symbols->sh_link].sh_offset;
  table->names_bytes_ = sections[symbols->sh_link].sh_size;
  constexpr std::size_t at_once = 4096;
  const std::size_t count = std::min<std::size_t>(symbols->sh_size / sizeof(Elf64_Sym), max_symbols);
  std::vector<Elf64_Sym> part(std::min(at_once, count));
  for (std::size_t first = 0; first < count; first += at_once) {
    const std::size_t bytes = std::min(at_once, count - first) * sizeof(Elf64_Sym);
    const std::size_t got = file(symbols->sh_offset + first * sizeof(Elf64_Sym), part.data(), bytes);
    for (std::size_t i = 0; i < got / sizeof(Elf64_Sym); ++i) {
      const Elf64_Sym& each = part[i];
      const unsigned kind = ELF64_ST_TYPE(each.st_info);
      if ((kind != STT_FUNC && kind != STT_GNU_IFUNC) || each.st_shndx == SHN_UNDEF || each.st_size == 0) continue;
      if (each.st_size > std::numeric_limits<std::uint32_t>::max()) continue;
      table->functions_.push_back({each.st_value, static_cast<std::uint32_t>(each.st_size), each.st_name});
    }
    if (got != bytes) break;
  }
  // Of several functions at one address, the first in the file counts.
  std::stable_sort(table->functions_.begin(), table->functions_.end(),
                   [](const function& a, const function& b) { return a.begin < b.begin; });
  const auto same = std::unique(table->functions_.begin(), table->functions_.end(),
                                [](const function& a, const function& b) { return a.begin == b.begin; });
  table->functions_.erase(same, table->functions_.end());
  table->functions_.shrink_to_fit();
  return table;
}

std::string symbol_table::find_name(const module_image::source& file, std::uint64_t address) const {
  const auto after = std::upper_bound(functions_.begin(), functions_.end(), address,
                                      [](std::uint64_t at, const function& each) { return at < each.begin; });
  if (after == functions_.begin()) return {};
  const function& found = *std::prev(after);
  if (address - found.begin >= found.size || found.name >= names_bytes_) return {};
  std::string name(std::min<std::uint64_t>(max_name, names_bytes_ - found.name), '\0');
  name.resize(file(names_ + found.name, name.data(), name.size()));
  name.resize(std::min(name.find('\0'), name.size()));
  return name;
}

}  // namespace sluice::unwind
