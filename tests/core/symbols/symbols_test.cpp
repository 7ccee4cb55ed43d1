#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/symbols/resolver.hpp"
#include "tests/core/symbols/sample.hpp"
#include "tests/programs.hpp"

namespace sluice::symbols {

void PrintTo(const code_location& at, std::ostream* out) {
  *out << at.function << " at " << at.file << ":" << at.line << (at.inlined ? " (inlined)" : "");
}

namespace {

namespace fs = std::filesystem;

std::string capture_output(const std::string& command) { return run_shell(command).out; }

/// The options for a recording that this user made on this machine.
resolver_options believing_resolver() { return {.local = local_files(true, {})}; }

/// The places that binutils prints, innermost first.
std::vector<code_location> by_addr2line(const std::string& file, std::uint64_t address) {
  char hexadecimal[32];
  std::snprintf(hexadecimal, sizeof hexadecimal, "0x%lx", static_cast<unsigned long>(address));
  std::istringstream lines(capture_output("addr2line -f -C -i -e '" + file + "' " + hexadecimal));
  std::vector<code_location> places;
  for (std::string function, where; std::getline(lines, function) && std::getline(lines, where);) {
    code_location each;
    each.function = function;
    where = where.substr(0, where.find(" (discriminator"));
    const auto colon = where.rfind(':');
    each.file = fs::path(where.substr(0, colon)).lexically_normal().string();
    each.line = std::strtoull(where.c_str() + colon + 1, nullptr, 10);
    places.push_back(each);
  }
  for (std::size_t i = 0; i + 1 < places.size(); ++i) places[i].inlined = true;
  return places;
}

/// Converts names to a form that Sluice and binutils have in common: binutils writes names without scope or arguments
/// if there is no linkage name, and gives an inlined function the name of the function around it.
std::vector<code_location> comparable(std::vector<code_location> places) {
  for (code_location& each : places) {
    each.file = fs::path(each.file).lexically_normal().string();
    each.function = each.function.substr(0, each.function.find('('));
    if (const auto scope = each.function.rfind("::"); scope != std::string::npos)
      each.function = each.function.substr(scope + 2);
    if (each.inlined) each.function.clear();
  }
  return places;
}

class native_symbols : public ::testing::Test {
 protected:
  void SetUp() override {
    Dl_info about{};
    ASSERT_NE(::dladdr(reinterpret_cast<void*>(&sample::outer), &about), 0);
    library_ = fs::canonical(about.dli_fname).string();
    bias_ = reinterpret_cast<std::uintptr_t>(about.dli_fbase);
    return_address_ = sample::outer(3) - bias_;
    auto file = regular_file::open(library_);
    ASSERT_TRUE(file);
    const auto opened = symbol_file::open(std::move(*file), library_, false);
    ASSERT_TRUE(opened);
    build_id_ = (*opened)->build_id();
    ASSERT_EQ(build_id_.size(), 40U);
    folder_ = ::testing::TempDir() + "sluice-symbols-" + std::to_string(::getpid());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::uint64_t get_offset(void* function) const {
    return reinterpret_cast<std::uintptr_t>(function) - bias_;
  }

  /// Strips the library of its debug information, which is copied to its place under `root`. Returns the stripped
  /// library.
  std::string strip(const std::string& root) const {
    const std::string stripped = folder_ + "/stripped.so";
    capture_output("objcopy --strip-all '" + library_ + "' '" + stripped + "'");
    const std::string place = root + "/.build-id/" + build_id_.substr(0, 2);
    fs::create_directories(place);
    capture_output("objcopy --only-keep-debug '" + library_ + "' '" + place + "/" + build_id_.substr(2) + ".debug'");
    return stripped;
  }

  std::string library_;
  std::string build_id_;
  std::string folder_;
  std::uintptr_t bias_ = 0;
  std::uint64_t return_address_ = 0;
};

TEST_F(native_symbols, name_the_inlined_function_and_then_the_one_around_it) {
  resolver symbols(believing_resolver());
  const resolution found = symbols.find(library_, build_id_, return_address_ - 1);
  ASSERT_EQ(found.why, verdict::found);
  ASSERT_EQ(found.places.size(), 2U);
  EXPECT_NE(found.places[0].function.find("inner"), std::string::npos);
  EXPECT_TRUE(found.places[0].inlined);
  EXPECT_EQ(found.places[1].function, "sample::outer(int)");
  EXPECT_FALSE(found.places[1].inlined);
  EXPECT_NE(found.places[1].file.find("sample.cpp"), std::string::npos);
  EXPECT_EQ(comparable(found.places), comparable(by_addr2line(library_, return_address_ - 1)));
}

TEST_F(native_symbols, are_those_of_addr2line_at_every_address_of_a_function) {
  resolver symbols(believing_resolver());
  for (void* function : {reinterpret_cast<void*>(&sample::outer), reinterpret_cast<void*>(&sample::exported)}) {
    Dl_info about{};
    ElfW(Sym)* symbol = nullptr;
    ASSERT_NE(::dladdr1(function, &about, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT), 0);
    for (std::uint64_t at = get_offset(function), end = at + symbol->st_size; at < end; at += 2)
      EXPECT_EQ(comparable(symbols.find(library_, build_id_, at).places), comparable(by_addr2line(library_, at)))
          << std::hex << at;
  }
}

TEST_F(native_symbols, of_the_test_program_itself_name_this_test) {
  const std::string program = fs::read_symlink("/proc/self/exe").string();
  struct found_bias {
    std::uintptr_t value = 0;
  } bias;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        static_cast<found_bias*>(to)->value = info->dlpi_addr;  // The program itself comes first.
        return 1;
      },
      &bias);
  resolver symbols(believing_resolver());
  const auto address = reinterpret_cast<std::uintptr_t>(&capture_output) - bias.value;
  const resolution found = symbols.find(program, "", address);
  ASSERT_EQ(found.why, verdict::found);
  EXPECT_NE(found.places.back().function.find("capture_output"), std::string::npos) << found.places.back().function;
}

TEST_F(native_symbols, come_from_separate_debug_information_by_build_id) {
  const std::string root = folder_ + "/debug";
  const std::string stripped = strip(root);
  resolver_options options = believing_resolver();
  options.debug_roots = {folder_ + "/nothing-here", root};
  resolver symbols(options);
  const resolution with_file = symbols.find(stripped, build_id_, return_address_ - 1);
  EXPECT_EQ(comparable(with_file.places), comparable(by_addr2line(library_, return_address_ - 1)));
  const resolution without = symbols.find("/gone/libsample.so", build_id_, return_address_ - 1);
  EXPECT_EQ(without.places, with_file.places) << "the debug information is enough";
}

TEST_F(native_symbols, of_a_stripped_library_are_the_functions_it_exports) {
  const std::string stripped = strip(folder_ + "/debug");
  resolver_options options = believing_resolver();
  options.debug_roots = {};
  resolver symbols(options);
  const resolution found =
      symbols.find(stripped, build_id_, get_offset(reinterpret_cast<void*>(&sample::exported)) + 4);
  ASSERT_EQ(found.why, verdict::found);
  ASSERT_EQ(found.places.size(), 1U);
  EXPECT_EQ(found.places[0], (code_location{"sample::exported(int)", "", 0, false}));
}

TEST_F(native_symbols, are_not_taken_from_another_build_of_the_file) {
  resolver symbols(believing_resolver());
  std::string other = build_id_;
  other[0] = other[0] == '0' ? '1' : '0';
  const resolution found = symbols.find(library_, other, return_address_ - 1);
  EXPECT_EQ(found.why, verdict::other_build);
  EXPECT_TRUE(found.places.empty());
}

TEST_F(native_symbols, say_why_there_are_none) {
  resolver symbols(believing_resolver());
  EXPECT_EQ(symbols.find("/no/such/library.so", build_id_.substr(1), 1).why, verdict::no_file);
  EXPECT_EQ(symbols.find("[vdso]", "", 1).why, verdict::no_file);
  EXPECT_EQ(symbols.find("", "", 1).why, verdict::no_file);
  EXPECT_EQ(symbols.find("/dev/zero", "", 1).why, verdict::unreadable);
  EXPECT_EQ(symbols.find(folder_, "", 1).why, verdict::unreadable);
  EXPECT_EQ(symbols.find(library_, build_id_, 0).why, verdict::no_symbols);
  EXPECT_EQ(symbols.find(library_, build_id_, UINT64_MAX).why, verdict::no_symbols);
  EXPECT_EQ(symbols.find(library_, "../../../etc", 1).why, verdict::other_build);
}

TEST_F(native_symbols, are_not_looked_for_unless_the_recording_is_trusted) {
  resolver symbols;
  EXPECT_EQ(symbols.find(library_, build_id_, return_address_ - 1).why, verdict::untrusted);
}

TEST_F(native_symbols, are_found_below_a_folder_that_the_user_names) {
  fs::create_directories(folder_ + "/copied/lib");
  fs::copy_file(library_, folder_ + "/copied/lib/" + fs::path(library_).filename().string());
  resolver symbols({.local = local_files(false, {folder_ + "/copied"})});
  const std::string recorded = "/elsewhere/lib/" + fs::path(library_).filename().string();
  EXPECT_EQ(comparable(symbols.find(recorded, build_id_, return_address_ - 1).places),
            comparable(by_addr2line(library_, return_address_ - 1)));
  EXPECT_EQ(symbols.find(library_ + ".other", build_id_, return_address_ - 1).why, verdict::no_file);
}

TEST_F(native_symbols, come_from_no_further_file_that_the_library_names) {
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::ofstream(folder_ + "/link", std::ios::binary) << pipe << '\0' << std::string(20, '\x5a');
  const std::string linked = folder_ + "/linked.so";
  capture_output("objcopy --add-section .gnu_debugaltlink='" + folder_ + "/link' '" + library_ + "' '" + linked + "'");
  resolver symbols(believing_resolver());
  const auto address = get_offset(reinterpret_cast<void*>(&sample::exported)) + 4;
  const resolution found = symbols.find(linked, build_id_, address);
  ASSERT_EQ(found.places.size(), 1U);
  EXPECT_EQ(found.places[0], (code_location{"sample::exported(int)", "", 0, false})) << "the symbol table is enough";
}

TEST_F(native_symbols, come_from_compressed_debug_information) {
  const std::string compressed = folder_ + "/compressed.so";
  capture_output("objcopy --compress-debug-sections '" + library_ + "' '" + compressed + "'");
  ASSERT_LT(fs::file_size(compressed), fs::file_size(library_));
  resolver symbols(believing_resolver());
  EXPECT_EQ(comparable(symbols.find(compressed, build_id_, return_address_ - 1).places),
            comparable(by_addr2line(library_, return_address_ - 1)));
}

/// An ELF file without the last byte of a section; nothing if it has no such section.
std::string with_section_cut(std::string file, const std::string& name) {
  ElfW(Ehdr) head;
  std::memcpy(&head, file.data(), sizeof head);
  const auto place = [&](std::size_t i) { return head.e_shoff + i * sizeof(ElfW(Shdr)); };
  ElfW(Shdr) names;
  std::memcpy(&names, file.data() + place(head.e_shstrndx), sizeof names);
  for (std::size_t i = 0; i < head.e_shnum; ++i) {
    ElfW(Shdr) section;
    std::memcpy(&section, file.data() + place(i), sizeof section);
    if (name != file.c_str() + names.sh_offset + section.sh_name) continue;
    --section.sh_size;
    std::memcpy(file.data() + place(i), &section, sizeof section);
    return file;
  }
  return {};
}

// libdw would read beyond the end of the texts.
TEST_F(native_symbols, are_those_of_the_symbol_table_where_texts_of_debug_information_have_no_end) {
  std::ifstream in(library_, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  const auto address = get_offset(reinterpret_cast<void*>(&sample::exported)) + 4;
  for (const std::string section : {".debug_str", ".debug_line_str"}) {
    const std::string cut = with_section_cut(whole, section);
    ASSERT_FALSE(cut.empty()) << section;
    const std::string path = folder_ + "/cut.so";
    std::ofstream(path, std::ios::binary) << cut;
    resolver symbols(believing_resolver());
    const resolution found = symbols.find(path, build_id_, address);
    ASSERT_EQ(found.places.size(), 1U) << section;
    EXPECT_EQ(found.places[0], (code_location{"sample::exported(int)", "", 0, false})) << section;
  }
}

TEST_F(native_symbols, survive_files_that_are_cut_or_full_of_noise) {
  std::ifstream in(library_, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  std::uint64_t noise = 88172645463325252U;
  const auto next = [&] {
    noise ^= noise << 13;
    noise ^= noise >> 7;
    return noise ^= noise << 17;
  };
  for (int round = 0; round < 60; ++round) {
    std::string bytes =
        whole.substr(0, round % 2 == 0 ? whole.size() * static_cast<std::size_t>(round) / 60 : whole.size());
    for (int i = 0; i < round * 4 && !bytes.empty(); ++i) bytes[next() % bytes.size()] = static_cast<char>(next());
    const std::string path = folder_ + "/broken-" + std::to_string(round);
    std::ofstream(path, std::ios::binary) << bytes;
    resolver symbols(believing_resolver());
    for (std::uint64_t at = 0; at < 0x3000; at += 97) static_cast<void>(symbols.find(path, "", at));
  }
}

}  // namespace
}  // namespace sluice::symbols
