#include "tests/instrumentation/capture/recording.hpp"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using namespace trace;

const std::string fake_dir = SLUICE_FAKE_DIR;

/// Runs the program with `extra` in its environment, but without variables that a recorder of this process may have
/// set.
int run(const run_options& options, const std::map<std::string, std::string>& extra) {
  std::vector<std::string> words{(fs::path(fake_dir) / options.program).string()};
  for (const std::string& word : options.arguments) {
    const bool journal = word == "program" || word == "graphs" || word == "torch";
    words.push_back(journal ? journal_path(word) : word);
  }
  std::map<std::string, std::string> variables = options.variables;
  variables.insert(extra.begin(), extra.end());
  // Under a sanitizer, dlopen ignores the program's own RUNPATH.
  variables.emplace("LD_LIBRARY_PATH", fake_dir);
  variables.emplace("ASAN_OPTIONS", "detect_leaks=0:handle_segv=0:handle_abort=0:verify_asan_link_order=0");
  variables.emplace("TSAN_OPTIONS", "die_after_fork=0");
  for (char** v = environ; *v != nullptr; ++v) {
    const std::string text = *v;
    const std::string name = text.substr(0, text.find('='));
    if (name.starts_with("SLUICE_") || name.ends_with("_INJECTION64_PATH")) continue;
    variables.emplace(name, text.substr(std::min(text.size(), name.size() + 1)));
  }
  std::vector<std::string> settings;
  settings.reserve(variables.size());
  for (const auto& [name, value] : variables) settings.push_back(std::string(name).append("=").append(value));
  std::vector<char*> argv;
  std::vector<char*> envp;
  argv.reserve(words.size() + 1);
  envp.reserve(settings.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& setting : settings) envp.push_back(setting.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawn(&child, words[0].c_str(), nullptr, nullptr, argv.data(), envp.data()) != 0) return -1;
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

template <class Row>
void collect(const snapshot& recording, std::vector<Row>& to) {
  const auto done = recording.for_each<Row>([&](const Row& row) { to.push_back(row); });
  EXPECT_TRUE(done.has_value()) << done.error().to_string();
}

}  // namespace

bool recording::says(const std::string& text) const {
  for (const std::string& message : messages) {
    if (message.find(text) != std::string::npos) return true;
  }
  return false;
}

std::string journal_path(const std::string& name) {
  return std::string(SLUICE_SOURCE_DIR) + "/tests/instrumentation/capture/journals/" + name + ".journal.gz";
}

std::map<std::string, ledger_entry> read_ledger(const std::string& name) {
  std::ifstream in(std::string(SLUICE_SOURCE_DIR) + "/tests/instrumentation/capture/journals/" + name + ".ledger");
  std::map<std::string, ledger_entry> ledger;
  std::string subject;
  for (ledger_entry e; in >> subject >> e.count >> e.bytes;) ledger[subject] = e;
  return ledger;
}

std::ostream& operator<<(std::ostream& out, route way) {
  return out << (way == route::callbacks ? "callbacks" : "entry_points");
}

recording record_by(route way, run_options options) {
  if (way == route::entry_points) {
    options.preload = true;
    options.mode = "memory";
  }
  recording run = record(options);
  EXPECT_EQ(run.says("recorded at the driver's entry points, without CUPTI"), way == route::entry_points);
  EXPECT_EQ(run.says("recorded with CUPTI version"), way == route::callbacks);
  return run;
}

int run_bare(const run_options& options) { return run(options, {}); }

recording record(const run_options& options) {
  recording r;
  static int number = 0;
  const fs::path path = fs::path(testing::TempDir()) /
                        ("capture-" + std::to_string(getpid()) + "-" + std::to_string(++number) + ".sluice");
  auto session = writer::session::start(path.string(), {.sampling_hz = options.sampling_hz});
  if (!session) {
    ADD_FAILURE() << session.error().to_string();
    return r;
  }
  const std::string library = SLUICE_BINARY_DIR "/libsluice_capture.so";
  std::map<std::string, std::string> variables{
      {"CUDA_INJECTION64_PATH", library},        {"NVTX_INJECTION64_PATH", library},
      {"SLUICE_SOCKET", session->socket_name()}, {"SLUICE_CUPTI_PATH", fake_dir + "/libcupti.so"},
      {"SLUICE_GRAPHS", options.graphs},         {"SLUICE_MODE", options.mode}};
  if (options.preload) variables.emplace("LD_PRELOAD", library);
  r.status = run(options, variables);
  auto summary = session->stop();
  if (!summary) {
    ADD_FAILURE() << summary.error().to_string();
    return r;
  }
  r.summary = *summary;
  auto file = file::open(path.string());
  if (!file) {
    ADD_FAILURE() << file.error().to_string();
    return r;
  }
  r.file = *file;
  r.snapshot = r.file->latest();
  collect(*r.snapshot, r.allocs);
  collect(*r.snapshot, r.frees);
  collect(*r.snapshot, r.failed);
  collect(*r.snapshot, r.transfers);
  collect(*r.snapshot, r.parts);
  collect(*r.snapshot, r.memsets);
  collect(*r.snapshot, r.kernels);
  collect(*r.snapshot, r.migrations);
  collect(*r.snapshot, r.graph_launches);
  collect(*r.snapshot, r.graph_definitions);
  collect(*r.snapshot, r.touches);
  collect(*r.snapshot, r.calls);
  collect(*r.snapshot, r.syncs);
  collect(*r.snapshot, r.pools);
  collect(*r.snapshot, r.device_memory);
  collect(*r.snapshot, r.watermarks);
  collect(*r.snapshot, r.losses);
  collect(*r.snapshot, r.checkpoints);
  collect(*r.snapshot, r.live_blocks);
  collect(*r.snapshot, r.counters);
  collect(*r.snapshot, r.ranges);
  collect(*r.snapshot, r.markers);
  collect(*r.snapshot, r.host_samples);
  collect(*r.snapshot, r.attributes);
  collect(*r.snapshot, r.links);
  std::vector<message_event> messages;
  collect(*r.snapshot, messages);
  for (const message_event& m : messages) r.messages.emplace_back(r.tables().text(m.text));
  fs::remove(path);  // The open file stays readable.
  return r;
}

}  // namespace sluice::test
