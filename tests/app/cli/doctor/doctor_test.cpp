// sluice doctor: its report about machines that lack something, and about this machine.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>

#include "app/cli/doctor/checks.hpp"
#include "tests/app/cli/sluice_program.hpp"

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string fake_driver = SLUICE_BINARY_DIR "/tests/instrumentation/capture/fake";

/// Fixture with an empty simulated machine in a temporary folder, to which tests add the files that they need.
class doctor_test : public sluice_program {
 protected:
  doctor_test() {
    where_.variables = [this](const std::string& name) -> std::optional<std::string> {
      const auto found = variables_.find(name);
      return found == variables_.end() ? std::nullopt : std::optional(found->second);
    };
    variables_["PATH"] = file("bin");
    where_.program = file("bin/sluice");
    where_.folder = file(".");
    where_.driver_library = file("no-libcuda.so.1");
    where_.driver_state = file("nvidia");
    fs::create_directories(file("bin"));
    fs::create_directories(file("nvidia"));
  }

  void write_program(const std::string& name, const std::string& text) const {
    write(name, text);
    fs::permissions(file(name), fs::perms::owner_all);
  }

  std::map<std::string, std::string> variables_;
  machine where_;
};

TEST_F(doctor_test, says_that_there_is_no_driver) {
  const check_result result = check_driver(where_);
  EXPECT_EQ(result.state, health::missing);
  EXPECT_TRUE(result.needed);
  EXPECT_THAT(result.found, HasSubstr("no-libcuda.so.1"));
  EXPECT_THAT(result.advice, HasSubstr("install the NVIDIA driver"));
}

TEST_F(doctor_test, tells_a_container_without_gpus_from_a_machine_without_a_driver) {
  write("nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n");
  EXPECT_THAT(check_driver(where_).advice, HasSubstr("--gpus all"));
}

TEST_F(doctor_test, survives_a_driver_that_is_none) {
  where_.driver_library = "libm.so.6";
  const check_result result = check_driver(where_);
  EXPECT_EQ(result.state, health::missing);
  EXPECT_THAT(result.found, HasSubstr("is not a CUDA driver"));
}

TEST_F(doctor_test, names_driver_and_gpus) {
  where_.driver_library = fake_driver + "/libcuda.so.1";
  if (!fs::exists(where_.driver_library)) GTEST_SKIP() << "skipped: built without CUDA";
  write("nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159  Mon\n");
  const check_result result = check_driver(where_);
  EXPECT_EQ(result.state, health::ok) << result.found;
  EXPECT_THAT(result.found, HasSubstr("NVIDIA driver 580.159, CUDA 13.0, "));
  EXPECT_THAT(result.found, HasSubstr("Fake GPU"));
}

TEST_F(doctor_test, starts_no_other_profiler_in_the_driver) {
  where_.driver_library = fake_driver + "/libcuda.so.1";
  if (!fs::exists(where_.driver_library)) GTEST_SKIP() << "skipped: built without CUDA";
  setenv("CUDA_INJECTION64_PATH", "/nowhere/libToolsInjection64.so", 1);
  const check_result result = check_driver(where_);
  unsetenv("CUDA_INJECTION64_PATH");
  EXPECT_EQ(result.state, health::ok) << result.found;
}

TEST_F(doctor_test, says_that_the_capture_library_is_missing) {
  const check_result result = check_capture_library(where_);
  EXPECT_EQ(result.state, health::missing);
  EXPECT_TRUE(result.needed);
  EXPECT_THAT(result.found, HasSubstr("libsluice_capture.so"));
}

TEST_F(doctor_test, says_that_the_capture_library_cannot_be_loaded) {
  write("bin/libsluice_capture.so", "not a library");
  const check_result result = check_capture_library(where_);
  EXPECT_EQ(result.state, health::missing);
  EXPECT_THAT(result.found, HasSubstr("cannot be loaded"));
}

TEST_F(doctor_test, says_that_the_capture_library_cannot_be_preloaded) {
  const std::string library = SLUICE_BINARY_DIR "/libsluice_capture.so";
  if (!fs::exists(library)) GTEST_SKIP() << "skipped: built without CUDA";
  fs::create_directories(file("my programs"));
  fs::copy(library, file("my programs/libsluice_capture.so"));
  where_.program = file("my programs/sluice");
  const check_result result = check_capture_library(where_);
  EXPECT_EQ(result.state, health::warning) << result.found;
  EXPECT_THAT(result.found, HasSubstr("a space or a colon"));
}

TEST_F(doctor_test, names_cupti_and_its_version) {
  const std::string library = fake_driver + "/libcupti.so";
  if (!fs::exists(library)) GTEST_SKIP() << "skipped: built without CUDA";
  variables_["SLUICE_CUPTI_PATH"] = library;
  where_.driver_library = fake_driver + "/libcuda.so.1";
  const check_result result = check_cupti(where_);
  EXPECT_EQ(result.state, health::ok) << result.found;
  EXPECT_THAT(result.found, HasSubstr("libcupti.so, version 1"));
}

TEST_F(doctor_test, compares_cupti_with_the_driver) {
  const std::string library = fake_driver + "/libcupti.so";
  if (!fs::exists(library)) GTEST_SKIP() << "skipped: built without CUDA";
  variables_["SLUICE_CUPTI_PATH"] = library;
  where_.driver_library = fake_driver + "/libcuda.so.1";  // CUDA 13.0
  setenv("SLUICE_FAKE_CUPTI_VERSION", "140000", 1);
  const check_result newer = check_cupti(where_);
  setenv("SLUICE_FAKE_CUPTI_VERSION", "17", 1);
  const check_result older = check_cupti(where_);
  unsetenv("SLUICE_FAKE_CUPTI_VERSION");
  EXPECT_EQ(newer.state, health::warning);
  EXPECT_THAT(newer.found, HasSubstr("(CUDA 14), but the driver is for CUDA 13.0"));
  EXPECT_EQ(older.state, health::warning);
  EXPECT_THAT(older.found, HasSubstr("older than CUDA 12.0"));
}

TEST_F(doctor_test, does_without_cupti_in_memory_mode) {
  write("libcupti.so", "not a library");
  variables_["SLUICE_CUPTI_PATH"] = file("libcupti.so");
  const check_result result = check_cupti(where_);
  EXPECT_EQ(result.state, health::warning);
  EXPECT_FALSE(result.needed);
  EXPECT_THAT(result.found, HasSubstr("--mode memory is not affected"));
}

TEST_F(doctor_test, says_when_profiling_is_for_administrators) {
  EXPECT_EQ(check_permissions(where_).state, health::ok) << "no kernel module";
  write("nvidia/params", "ModifyDeviceFiles: 1\nRmProfilingAdminOnly: 1\n");
  EXPECT_EQ(check_permissions(where_).state, health::warning);
  EXPECT_THAT(check_permissions(where_).advice, HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
  where_.is_root = true;
  EXPECT_EQ(check_permissions(where_).state, health::ok);
  where_.is_root = false;
  write("nvidia/params", "RmProfilingAdminOnly: 0\n");
  EXPECT_EQ(check_permissions(where_).state, health::ok);
}

TEST_F(doctor_test, names_another_profiler) {
  EXPECT_EQ(check_other_profilers(where_).state, health::ok);
  variables_["CUDA_INJECTION64_PATH"] = "/opt/nsys/libToolsInjection64.so";
  const check_result result = check_other_profilers(where_);
  EXPECT_EQ(result.state, health::warning);
  EXPECT_THAT(result.found, HasSubstr("/opt/nsys/libToolsInjection64.so"));
}

TEST_F(doctor_test, asks_the_python_of_the_command) {
  write_program("bin/python3",
                "#!/bin/sh\nprintf 'version=3.12\\nimplementation=cpython\\nwithout_gil=0\\ntorch=2.11.0\\n'\n");
  const check_result result = check_python(where_);
  EXPECT_EQ(result.state, health::ok) << result.found;
  EXPECT_THAT(result.found, HasSubstr("cpython 3.12, PyTorch 2.11.0"));
}

TEST_F(doctor_test, says_that_stacks_of_a_python_are_not_known) {
  write_program("bin/python3", "#!/bin/sh\nprintf 'version=3.99\\nimplementation=cpython\\nwithout_gil=0\\n'\n");
  const check_result result = check_python(where_);
  EXPECT_EQ(result.state, health::warning);
  EXPECT_THAT(result.found, HasSubstr("cannot be recorded"));
  EXPECT_THAT(result.advice, HasSubstr("3.12"));
}

TEST_F(doctor_test, says_that_a_python_does_not_run) {
  write_program("bin/python3", "#!/bin/sh\nexit 1\n");
  EXPECT_THAT(check_python(where_).found, HasSubstr("does not run"));
  where_.command = "no-such-program";
  EXPECT_THAT(check_python(where_).found, HasSubstr("program no-such-program not found"));
}

TEST_F(doctor_test, says_how_to_allow_the_sampling_of_host_threads) {
  where_.perf_limit = file("paranoid");
  where_.process_status = file("status");
  where_.try_perf = [] { return 0; };
  EXPECT_EQ(check_sampling(where_).state, health::ok);

  where_.try_perf = [] { return EACCES; };
  write("paranoid", "4\n");
  write("status", "Name:\tx\nSeccomp:\t0\nSeccomp_filters:\t0\n");
  const check_result refused = check_sampling(where_);
  EXPECT_EQ(refused.state, health::warning);
  EXPECT_FALSE(refused.needed);
  EXPECT_THAT(refused.found, HasSubstr("kernel.perf_event_paranoid is 4"));
  EXPECT_EQ(refused.advice, "as root: sysctl kernel.perf_event_paranoid=2");

  where_.try_perf = [] { return EPERM; };
  write("paranoid", "2\n");
  write("status", "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n");
  EXPECT_THAT(check_sampling(where_).advice, HasSubstr("--cap-add PERFMON"));
}

TEST_F(doctor_test, says_that_a_folder_cannot_be_written) {
  EXPECT_THAT(check_disk(where_).found, HasSubstr(" free in "));
  where_.folder = file("nowhere");
  EXPECT_EQ(check_disk(where_).state, health::warning);
}

TEST_F(doctor_test, says_at_the_end_whether_programs_can_be_recorded) {
  std::vector<check_result> results{
      {.name = "driver", .found = "a driver", .needed = true},
      {.name = "window", .state = health::missing, .found = "no display", .advice = "get one"}};
  EXPECT_TRUE(can_record(results));
  EXPECT_EQ(checks_as_text(results),
            "ok       driver       a driver\n"
            "missing  window       no display; get one\n"
            "Programs can be recorded on this machine.\n");
  results[0].state = health::missing;
  EXPECT_FALSE(can_record(results));
  EXPECT_THAT(checks_as_text(results), HasSubstr("missing: driver"));
}

TEST_F(doctor_test, ends_with_zero_only_where_recording_can_work) {
  const program_result done = run_sluice({"doctor", "--json"});
  const auto said = nlohmann::json::parse(done.out);
  EXPECT_EQ(done.status, said["can_record"].get<bool>() ? 0 : 1);
  EXPECT_GE(said["checks"].size(), 9U);
  EXPECT_EQ(done.err, "");
}

TEST_F(doctor_test, finds_a_driver_that_the_loader_finds) {
  if (!fs::exists(fake_driver + "/libcuda.so.1")) GTEST_SKIP() << "skipped: built without CUDA";
  const program_result done = run_sluice({"doctor"}, {{"LD_LIBRARY_PATH", fake_driver}});
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_EQ(done.status, 0) << done.out;
  EXPECT_THAT(done.out, HasSubstr("Programs can be recorded on this machine."));
#endif
  EXPECT_THAT(done.out, HasSubstr("Fake GPU"));
}

}  // namespace
}  // namespace sluice::cli
