// Reads bytes as an ELF file with debug information, and looks up functions and lines at addresses from the file
// itself. The input is | address u64 | file |.
#include "core/symbols/symbol_file.hpp"

#include <elf.h>

#include <cstring>
#include <utility>

#include "tests/fuzz/memory_file.hpp"

namespace sluice::fuzz::symbol_file {
namespace {

/// The maximum number of places that symbol_file returns for an address, however deeply the file nests inlined
/// functions.
constexpr std::size_t max_places = 64;

void ask(symbols::symbol_file& file, std::uint64_t address) {
  if (file.find_lines(address).size() > max_places) __builtin_trap();
  (void)file.find_function(address);
}

void run(std::span<const std::uint8_t> input) {
  std::uint64_t address = 0;
  if (input.size() < sizeof address) return;
  std::memcpy(&address, input.data(), sizeof address);
  const memory_file content(input.subspan(sizeof address));
  auto file = regular_file::open(content.path());
  if (!file) __builtin_trap();
  const auto opened = symbols::symbol_file::open(std::move(*file), content.path(), false);
  if (!opened) return;
  (void)(*opened)->build_id();
  (void)(*opened)->supplement_id();
  for (const std::uint64_t offset : {0U, 1U, 16U, 4096U}) ask(**opened, address + offset);
  ask(**opened, UINT64_MAX);
}

/// A file with only a symbol and a build id.
bytes small_file() {
  struct {
    Elf64_Ehdr head;
    Elf64_Shdr sections[5];
    Elf64_Sym symbols[2];
    struct {
      Elf64_Nhdr head;
      char name[4];
      unsigned char id[20];
    } note;
    char names[48];
  } file{};
  std::memcpy(file.head.e_ident, ELFMAG, SELFMAG);
  file.head.e_ident[EI_CLASS] = ELFCLASS64;
  file.head.e_ident[EI_DATA] = ELFDATA2LSB;
  file.head.e_ident[EI_VERSION] = EV_CURRENT;
  file.head.e_type = ET_DYN;
  file.head.e_machine = EM_X86_64;
  file.head.e_version = EV_CURRENT;
  file.head.e_shoff = offsetof(decltype(file), sections);
  file.head.e_ehsize = sizeof file.head;
  file.head.e_shentsize = sizeof file.sections[0];
  file.head.e_shnum = 5;
  file.head.e_shstrndx = 4;
  const auto section = [&](int at, Elf64_Word type, std::size_t offset, std::size_t size, std::size_t entry) {
    Elf64_Shdr& s = file.sections[at];
    s.sh_type = type;
    s.sh_offset = offset;
    s.sh_size = size;
    s.sh_entsize = entry;
    s.sh_addralign = 8;
  };
  section(1, SHT_PROGBITS, 0, 0x100, 0);
  file.sections[1].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  section(2, SHT_SYMTAB, offsetof(decltype(file), symbols), sizeof file.symbols, sizeof file.symbols[0]);
  file.sections[2].sh_link = 4;
  section(3, SHT_NOTE, offsetof(decltype(file), note), sizeof file.note, 0);
  section(4, SHT_STRTAB, offsetof(decltype(file), names), sizeof file.names, 0);
  std::memcpy(file.names + 1, "_ZN6sluice4fuzz3runEv", 22);
  file.symbols[1] = {1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 0x10, 0x40};
  file.note.head = {4, sizeof file.note.id, NT_GNU_BUILD_ID};
  std::memcpy(file.note.name, "GNU", 4);
  bytes input(8);
  input[0] = 0x10;
  const auto* begin = reinterpret_cast<const std::uint8_t*>(&file);
  input.insert(input.end(), begin, begin + sizeof file);
  return input;
}

/// Seeds with debug information are in the corpus.
std::vector<bytes> seeds() { return {small_file()}; }

}  // namespace
}  // namespace sluice::fuzz::symbol_file

sluice::fuzz::target sluice::fuzz::symbol_file_target() {
  return {"symbol_file", symbol_file::run, symbol_file::seeds};
}
