// The capture library runs inside other people's programs: checks what it requires from the loader, and which symbols
// it exports.
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "tests/architecture/shell.hpp"

namespace sluice::test {
namespace {

const std::string library = SLUICE_BINARY_DIR "/libsluice_capture.so";

TEST(capture_library, links_the_c_library_only) {
  const std::set<std::string> allowed{"libc.so.6", "ld-linux-x86-64.so.2"};
  const auto needed = needed_libraries(library);
  ASSERT_FALSE(needed.empty()) << "objdump read nothing from " << library;
  for (const auto& name : needed) EXPECT_TRUE(allowed.contains(name)) << name;
}

// The library must load on Ubuntu 22.04 (glibc 2.35) and RHEL 9 (glibc 2.34).
TEST(capture_library, needs_no_newer_c_library_than234) {
  const std::string symbols = capture_output("objdump -T '" + library + "'");
  const std::regex version(R"(GLIBC_2\.(\d+))");
  int found = 0;
  for (std::sregex_iterator it(symbols.begin(), symbols.end(), version), end; it != end; ++it) {
    ++found;
    EXPECT_LE(std::atoi((*it)[1].str().c_str()), 34) << it->str();
  }
  EXPECT_GT(found, 0) << "objdump named no version";
}

// The loader's default access to a thread-local variable (R_X86_64_DTPMOD64) costs a call and several cache lines per
// event. All such variables must also fit into the 512 bytes that the C library reserves for libraries that are loaded
// late.
TEST(capture_library, finds_its_thread_local_variables_without_the_loader) {
  const std::string relocations = capture_output("objdump -R '" + library + "'");
  EXPECT_NE(relocations.find("R_X86_64_TPOFF64"), std::string::npos) << "objdump named none";
  EXPECT_EQ(relocations.find("R_X86_64_DTPMOD64"), std::string::npos) << "declare it SLUICE_THREAD_LOCAL (hot.hpp)";
  const std::string segments = capture_output("objdump -p '" + library + "'");
  std::smatch found;
  ASSERT_TRUE(
      std::regex_search(segments, found, std::regex(R"(TLS off[^\n]*\n\s*filesz 0x[0-9a-f]+ memsz 0x([0-9a-f]+))")));
  EXPECT_LE(std::stoul(found[1].str(), nullptr, 16), 384U);
}

// Functions in which threads wait for one another: see intercept/waits.cpp.
const std::set<std::string> interposed_waits{"sem_wait",          "sem_timedwait",          "sem_clockwait",
                                             "pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait"};

// The library's references to functions that it defines itself have no version. If the library is loaded late, the
// loader binds them to the C library's oldest versions. With the oldest versions, the library's wait at the end of each
// program took its full 3 seconds.
TEST(capture_library, does_not_wait_by_functions_that_it_interposes) {
  std::istringstream relocations(capture_output("objdump -R '" + library + "'"));
  std::size_t count = 0;
  for (std::string line; std::getline(relocations, line);) {
    const std::size_t kind = line.find("JUMP_SLOT");
    if (kind == std::string::npos) continue;
    ++count;
    std::string name = line.substr(line.find_first_not_of(' ', kind + 9));
    name = name.substr(0, name.find_first_of("@+ "));
    EXPECT_FALSE(interposed_waits.contains(name)) << name << ": see intercept/waits.hpp";
  }
  EXPECT_GT(count, 10U) << "objdump named none";
}

TEST(capture_library, exports_its_entry_points_only) {
  // Called by the CUDA driver; by NVTX; interposed on PyTorch's allocator and autograd; called by
  // a program that records itself; and interposed on another profiler's calls to CUPTI.
  const std::set<std::string> allowed{
      "InitializeInjection",
      "InitializeInjectionNvtx2",
      "InitializeInjectionNvtxExtension",
      "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
      "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE",
      "_ZN2at15sequence_number17get_and_incrementEv",
      "_ZN5torch8autograd6Engine23execute_with_graph_taskERKSt10shared_ptrINS0_"
      "9GraphTaskEES2_INS0_4NodeEEONS0_11InputBufferE",
      "_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEEPNS0_"
      "4NodeERNS0_11InputBufferERKS2_INS0_10ReadyQueueEE",
      "sluice_capture_start",
      "sluice_capture_stop",
      "cuptiSubscribe",
      "cuptiSubscribe_v2",
      "cuptiActivityRegisterCallbacks",
      "cuptiActivityDisable",
      "cuptiFinalize"};
  std::istringstream lines(capture_output("nm -D --defined-only '" + library + "'"));
  std::set<std::string> exported;
  for (std::string address, kind, name; lines >> address >> kind >> name;)
    exported.insert(name.substr(0, name.find('@')));
  // Functions by which a program sends annotations to its recorder: all of them are declared in sluice.h.
  const std::string header = capture_output("cat '" SLUICE_SOURCE_DIR "/instrumentation/capture/sluice.h'");
  for (const std::string name : {"recording", "step", "pause", "resume", "pause_sampling", "resume_sampling", "mark",
                                 "push", "pop", "tag", "block_alloc", "block_free"}) {
    EXPECT_TRUE(exported.erase("sluice_" + name)) << name;
    EXPECT_NE(header.find(" sluice_" + name + "("), std::string::npos) << name;
  }
  // The Python module beside the library calls these functions: see python/sitecustomize.py.
  for (const char* name : {"sluice_now", "sluice_range"}) EXPECT_TRUE(exported.erase(name)) << name;
  for (const std::string& name : interposed_waits) EXPECT_TRUE(exported.erase(name)) << name;
  EXPECT_TRUE(exported.erase("nvrtcCompileProgram")) << "see intercept/library_calls.hpp";
  EXPECT_TRUE(exported.contains("InitializeInjection"));
  EXPECT_TRUE(exported.contains("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"));
  // The functions by which programs reach the driver: those of the list and of entry_points.cpp, and dlsym.
  std::istringstream entries(
      capture_output("cat '" SLUICE_SOURCE_DIR "/instrumentation/capture/intercept/entry_point_list.inc'"));
  std::size_t count = 0;
  for (std::string line; std::getline(entries, line);) {
    if (!line.starts_with("ENTRY(") && !line.starts_with("CONTENTS_ENTRY(")) continue;
    ++count;
    const std::size_t name = line.find('(') + 1;
    EXPECT_TRUE(exported.erase(line.substr(name, line.find(')') - name))) << line;
  }
  EXPECT_GT(count, 100U);
  for (const char* name : {"cuInit", "cuGetProcAddress", "cuGetProcAddress_v2", "dlsym"}) {
    EXPECT_TRUE(exported.erase(name)) << name;
  }
  for (const auto& name : exported) EXPECT_TRUE(allowed.contains(name)) << name;
}

}  // namespace
}  // namespace sluice::test
