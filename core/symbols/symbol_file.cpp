#include "core/symbols/symbol_file.hpp"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <fmt/format.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>

#include "core/base/format.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::symbols {
namespace {

/// Limits for the cost of a corrupt file. Real units nest and overlap less.
constexpr std::size_t max_places = 64;
constexpr std::size_t max_units_back = 16;
constexpr std::size_t max_nested_scopes = 4096;

std::string hexadecimal(const unsigned char* bytes, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

/// Returns the build id from the notes in `data`; empty if there is none.
std::string build_id_in(Elf_Data* data) {
  GElf_Nhdr note;
  std::size_t name = 0;
  std::size_t value = 0;
  for (std::size_t at = 0; data != nullptr && (at = gelf_getnote(data, at, &note, &name, &value)) > 0;) {
    const auto* bytes = static_cast<const unsigned char*>(data->d_buf);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof "GNU" &&
        std::memcmp(bytes + name, "GNU", sizeof "GNU") == 0)
      return hexadecimal(bytes + value, note.n_descsz);
  }
  return {};
}

std::string get_build_id(Elf* elf) {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_NOTE) continue;
    if (std::string id = build_id_in(elf_getdata(section, nullptr)); !id.empty()) return id;
  }
  // A file without section headers still has segments.
  std::size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return {};
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr || header.p_type != PT_NOTE) continue;
    Elf_Data* data = elf_getdata_rawchunk(elf, static_cast<std::int64_t>(header.p_offset), header.p_filesz,
                                          header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    if (std::string id = build_id_in(data); !id.empty()) return id;
  }
  return {};
}

/// Reads .gnu_debugaltlink directly, because libdw itself would open any file that is named there.
std::string read_supplement_id(Dwarf* debug) {
  const char* name = nullptr;
  const void* id = nullptr;
  const ssize_t bytes = dwelf_dwarf_gnu_debugaltlink(debug, &name, &id);
  if (bytes <= 0) return {};
  return hexadecimal(static_cast<const unsigned char*>(id), static_cast<std::size_t>(bytes));
}

/// True if every string in the string sections is terminated. If the last string of a section is not, libdw (0.188)
/// reads source paths past the end of that section.
bool texts_end(Elf* elf) {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return false;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) return false;
    const char* name = elf_strptr(elf, names, header.sh_name);
    // The sections are ".debug_str", ".debug_line_str", ".zdebug_str", ".debug_str.dwo" and so on. libdw has already
    // decompressed them.
    if (name == nullptr || std::strstr(name, "debug_") == nullptr || std::strstr(name, "_str") == nullptr ||
        std::strstr(name, "_str_offsets") != nullptr)
      continue;
    const Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr || data->d_size == 0) continue;
    if (static_cast<const char*>(data->d_buf)[data->d_size - 1] != '\0') return false;
  }
  return true;
}

struct unit_range {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  Dwarf_CU* unit = nullptr;
};

struct symbol {
  std::uint64_t low = 0;
  std::uint64_t bytes = 0;
  const char* name = nullptr;  ///< Points into the file's string table.
};

bool is_function(const GElf_Sym& entry) {
  const auto type = GELF_ST_TYPE(entry.st_info);
  return (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) && entry.st_shndx != SHN_UNDEF &&
         entry.st_value != 0;
}

std::string get_name(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  for (const unsigned which : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name}) {
    if (dwarf_attr_integrate(die, which, &attribute) == nullptr) continue;
    if (const char* text = dwarf_formstring(&attribute); text != nullptr) return readable_name(text);
  }
  return {};
}

std::uint64_t number(Dwarf_Die* die, unsigned which) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  return dwarf_attr(die, which, &attribute) != nullptr && dwarf_formudata(&attribute, &value) == 0 ? value : 0;
}

/// Returns the functions around an address, innermost first: inlined functions, then the function that contains them.
/// libdw's dwarf_getscopes (0.188) does the same, but leaks memory and recurses without a limit if a file is
/// damaged.
std::vector<Dwarf_Die> functions_at(Dwarf_Die* unit, std::uint64_t address) {
  std::vector<Dwarf_Die> found;
  Dwarf_Die scope;
  int end = dwarf_child(unit, &scope);
  for (std::size_t depth = 0; end == 0 && depth < max_nested_scopes;) {
    if (dwarf_haspc(&scope, address) <= 0) {
      end = dwarf_siblingof(&scope, &scope);
      continue;
    }
    const int tag = dwarf_tag(&scope);
    if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) found.push_back(scope);
    Dwarf_Die parent = scope;
    end = dwarf_child(&parent, &scope);
    ++depth;
  }
  std::reverse(found.begin(), found.end());
  return found;
}

/// Returns the absolute path of a file, because in a unit, file names are relative to its compilation directory.
std::string absolute(const char* file, Dwarf_Die* unit) {
  namespace fs = std::filesystem;
  if (file == nullptr || file[0] == '\0') return {};
  Dwarf_Attribute attribute;
  const char* folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
  const fs::path path = folder != nullptr && file[0] != '/' ? fs::path(folder) / file : fs::path(file);
  return path.lexically_normal().string();
}

}  // namespace

struct symbol_file::state {
  int descriptor = -1;
  Elf* elf = nullptr;
  Dwarf* debug = nullptr;
  std::string build_id;
  std::string folder;  ///< The folder that contains the file.
  bool follow_split = false;
  std::string supplement_id;
  std::unique_ptr<symbol_file> supplement;
  std::optional<std::vector<unit_range>> units;  ///< Sorted by `low`. Created on first use.
  std::optional<std::vector<symbol>> table;      ///< Created on first use.

  state() = default;
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() {
    if (debug != nullptr) dwarf_end(debug);
    if (elf != nullptr) elf_end(elf);
    if (descriptor >= 0) ::close(descriptor);
  }

  /// Reads the address ranges of every unit, because not every compiler writes .debug_aranges.
  void list_units() {
    units.emplace();
    if (debug == nullptr || (!supplement_id.empty() && supplement == nullptr)) return;
    Dwarf_CU* unit = nullptr;
    Dwarf_Half version = 0;
    std::uint8_t type = 0;
    Dwarf_Die die;
    while (dwarf_get_units(debug, unit, &unit, &version, &type, &die, nullptr) == 0) {
      if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
      Dwarf_Addr base = 0;
      Dwarf_Addr low = 0;
      Dwarf_Addr high = 0;
      for (std::ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &low, &high)) > 0;)
        if (low < high) units->push_back({low, high, unit});
    }
    std::sort(units->begin(), units->end(), [](const auto& a, const auto& b) { return a.low < b.low; });
  }

  /// True if libdw may open the files that a unit with split debug information names: each of them is a regular file,
  /// or does not exist.
  [[nodiscard]] bool may_follow(Dwarf_Die* skeleton) const {
    if (!follow_split) return false;
    Dwarf_Attribute attribute;
    const char* name = dwarf_formstring(dwarf_attr(skeleton, DW_AT_dwo_name, &attribute));
    if (name == nullptr) name = dwarf_formstring(dwarf_attr(skeleton, DW_AT_GNU_dwo_name, &attribute));
    const char* compiled_in = dwarf_formstring(dwarf_attr(skeleton, DW_AT_comp_dir, &attribute));
    if (name == nullptr) return false;
    const std::filesystem::path here = folder;
    for (const auto& path : {here / name, here / (compiled_in != nullptr ? compiled_in : "") / name}) {
      std::error_code none;
      const auto status = std::filesystem::status(path, none);
      if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) return false;
    }
    return true;
  }

  Dwarf_CU* unit_at(std::uint64_t address) {
    if (!units) list_units();
    auto after = std::upper_bound(units->begin(), units->end(), address,
                                  [](std::uint64_t a, const unit_range& range) { return a < range.low; });
    for (std::size_t i = 0; i < max_units_back && after != units->begin(); ++i)
      if ((--after)->high > address) return after->unit;
    return nullptr;
  }

  void read_table(Elf_Scn* section, const GElf_Shdr& header) {
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr || header.sh_entsize == 0) return;
    const std::size_t count = header.sh_size / header.sh_entsize;
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Sym entry;
      if (gelf_getsym(data, static_cast<int>(i), &entry) == nullptr || !is_function(entry)) continue;
      const char* name = elf_strptr(elf, header.sh_link, entry.st_name);
      if (name == nullptr || name[0] == '\0') continue;
      table->push_back({entry.st_value, entry.st_size != 0 ? entry.st_size : rest_of_section(entry), name});
    }
  }

  /// Returns the length of the section from the symbol on. Symbols of hand-written assembly have no length, so they get
  /// this length. A later symbol takes precedence.
  std::uint64_t rest_of_section(const GElf_Sym& entry) {
    GElf_Shdr header;
    Elf_Scn* section = elf_getscn(elf, entry.st_shndx);
    if (section == nullptr || gelf_getshdr(section, &header) == nullptr) return 0;
    const std::uint64_t offset = entry.st_value - header.sh_addr;
    return offset < header.sh_size ? header.sh_size - offset : 0;
  }

  void list_symbols() {
    table.emplace();
    for (const unsigned wanted : {SHT_SYMTAB, SHT_DYNSYM}) {
      for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) != nullptr && header.sh_type == wanted) read_table(section, header);
      }
      if (!table->empty()) break;
    }
    // If several symbols have the same address, the longest comes last, so it is the symbol that is found.
    std::stable_sort(table->begin(), table->end(), [](const symbol& a, const symbol& b) {
      return a.low != b.low ? a.low < b.low : a.bytes < b.bytes;
    });
  }
};

symbol_file::symbol_file(std::unique_ptr<state> s) : state_(std::move(s)) {}
symbol_file::~symbol_file() = default;

const std::string& symbol_file::build_id() const { return state_->build_id; }
const std::string& symbol_file::supplement_id() const { return state_->supplement_id; }

void symbol_file::supplement(std::unique_ptr<symbol_file> file) {
  if (file == nullptr || file->state_->debug == nullptr || state_->debug == nullptr) return;
  dwarf_setalt(state_->debug, file->state_->debug);
  state_->supplement = std::move(file);
}

result<std::unique_ptr<symbol_file>> symbol_file::open(regular_file file, const std::string& path, bool follow_split) {
  static std::once_flag once;
  std::call_once(once, [] { elf_version(EV_CURRENT); });
  auto output = std::make_unique<state>();
  output->descriptor = file.release();
  output->folder = std::filesystem::path(path).parent_path().string();
  output->follow_split = follow_split;
  output->elf = elf_begin(output->descriptor, ELF_C_READ, nullptr);
  if (output->elf == nullptr || elf_kind(output->elf) != ELF_K_ELF)
    return fail(error_code::foreign, "is not an ELF file", path);
  output->build_id = get_build_id(output->elf);
  output->debug = dwarf_begin_elf(output->elf, DWARF_C_READ, nullptr);
  if (output->debug != nullptr && !texts_end(output->elf)) {
    dwarf_end(output->debug);
    output->debug = nullptr;
  }
  if (output->debug != nullptr) output->supplement_id = read_supplement_id(output->debug);
  return std::unique_ptr<symbol_file>(new symbol_file(std::move(output)));
}

std::vector<code_location> symbol_file::find_lines(std::uint64_t address) {
  std::vector<code_location> places;
  Dwarf_CU* unit = state_->unit_at(address);
  if (unit == nullptr) return places;
  Dwarf_Die whole;
  Dwarf_Die split{};
  std::uint8_t type = 0;
  if (dwarf_cu_info(unit, nullptr, &type, &whole, nullptr, nullptr, nullptr, nullptr) != 0) return places;
  const bool is_split = type == DW_UT_skeleton && state_->may_follow(&whole);
  if (is_split && dwarf_cu_info(unit, nullptr, nullptr, nullptr, &split, nullptr, nullptr, nullptr) != 0) return places;
  // With split debug information, the lines are in the skeleton unit, and the functions are in the other file.
  Dwarf_Die* of_functions = is_split && split.addr != nullptr ? &split : &whole;

  code_location at;
  if (Dwarf_Line* line = dwarf_getsrc_die(&whole, address); line != nullptr) {
    int row = 0;
    if (dwarf_lineno(line, &row) == 0 && row > 0) at.line = static_cast<std::uint64_t>(row);
    at.file = absolute(dwarf_linesrc(line, nullptr, nullptr), &whole);
  }
  Dwarf_Files* files = nullptr;
  std::size_t file_count = 0;
  for (Dwarf_Die& function : functions_at(of_functions, address)) {
    if (places.size() == max_places) break;
    at.function = get_name(&function);
    at.inlined = dwarf_tag(&function) == DW_TAG_inlined_subroutine;
    places.push_back(at);
    if (!at.inlined) break;
    at = {};
    at.line = number(&function, DW_AT_call_line);
    const std::uint64_t called_from = number(&function, DW_AT_call_file);
    if (files == nullptr && dwarf_getsrcfiles(of_functions, &files, &file_count) != 0) files = nullptr;
    if (files != nullptr && called_from < file_count)
      at.file = absolute(dwarf_filesrc(files, called_from, nullptr, nullptr), &whole);
  }
  if (places.empty() && at.line > 0) places.push_back(at);
  return places;
}

std::string symbol_file::find_function(std::uint64_t address) {
  if (!state_->table) state_->list_symbols();
  const std::vector<symbol>& table = *state_->table;
  auto after =
      std::upper_bound(table.begin(), table.end(), address, [](std::uint64_t a, const symbol& s) { return a < s.low; });
  if (after == table.begin()) return {};
  const symbol& found = *(after - 1);
  return address - found.low < found.bytes ? readable_name(found.name) : std::string();
}

}  // namespace sluice::symbols
