#pragma once
// Records a run of fake_cuda_program with the real capture library, ring, writer and file, and reads the trace back.

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "core/trace/file/reader.hpp"
#include "instrumentation/writer/session/session.hpp"

namespace sluice::test {

struct run_options {
  std::vector<std::string> arguments;  ///< Arguments of fake_cuda_program; the first is the journal's name ("program").
  std::map<std::string, std::string> variables = {};
  std::string graphs = "node";                ///< SLUICE_GRAPHS
  std::string mode = "timeline";              ///< SLUICE_MODE
  std::string program = "fake_cuda_program";  ///< A name in the folder of the fakes, or a full path.
  unsigned sampling_hz = 0;                   ///< Samples of host threads per second; 0: none.
  bool preload = false;                       ///< Also put the capture library in LD_PRELOAD, as `sluice record` does.
};

/// All rows of a recording that the tests check.
struct recording {
  int status = -1;  ///< As in a shell: 128 + n for signal n.
  writer::session_summary summary;
  std::shared_ptr<trace::file> file;
  std::vector<trace::alloc_event> allocs;
  std::vector<trace::free_event> frees;
  std::vector<trace::alloc_failed_event> failed;
  std::vector<trace::transfer_event> transfers;
  std::vector<trace::transfer_part_event> parts;
  std::vector<trace::memset_event> memsets;
  std::vector<trace::kernel_event> kernels;
  std::vector<trace::migration_event> migrations;
  std::vector<trace::graph_launch_event> graph_launches;
  std::vector<trace::graph_definition_event> graph_definitions;
  std::vector<trace::touch_event> touches;
  std::vector<trace::api_call_event> calls;
  std::vector<trace::sync_event> syncs;
  std::vector<trace::pool_event> pools;
  std::vector<trace::device_memory_event> device_memory;
  std::vector<trace::watermark_event> watermarks;
  std::vector<trace::loss_event> losses;
  std::vector<trace::checkpoint_event> checkpoints;
  std::vector<trace::live_block_event> live_blocks;
  std::vector<trace::counter_event> counters;
  std::vector<trace::host_range_event> ranges;
  std::vector<trace::marker_event> markers;
  std::vector<trace::host_sample_event> host_samples;
  std::vector<trace::attribute_event> attributes;
  std::vector<trace::link_event> links;
  std::vector<std::string> messages;

  [[nodiscard]] const trace::tables& tables() const { return snapshot->tables(); }
  [[nodiscard]] bool says(const std::string& text) const;  ///< True if some message contains `text`.
  std::shared_ptr<const trace::snapshot> snapshot;
};

/// How the capture library observes the program's calls: through CUPTI's callbacks, or (preloaded, in memory mode)
/// through its own versions of the driver's functions.
enum class route { callbacks, entry_points };
std::ostream& operator<<(std::ostream& out, route way);
/// Records the program by this route, and checks that the route was used.
[[nodiscard]] recording record_by(route way, run_options options);

/// Runs the program without a recorder. Returns its exit status.
[[nodiscard]] int run_bare(const run_options& options);
/// Records the program. Fails the calling test if the recording cannot be made or read.
[[nodiscard]] recording record(const run_options& options);

/// The journal's path. Its ledger lists the actions that the journaled program counted itself: name -> {count, bytes}.
[[nodiscard]] std::string journal_path(const std::string& name);
struct ledger_entry {
  std::uint64_t count = 0, bytes = 0;
};
[[nodiscard]] std::map<std::string, ledger_entry> read_ledger(const std::string& name);

}  // namespace sluice::test
