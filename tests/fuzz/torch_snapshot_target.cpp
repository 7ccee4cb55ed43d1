// Reads bytes as the pickle of a PyTorch snapshot and, if that succeeds, imports them into a trace. Reading must stay
// within its memory limit and take time that is linear in the size of the input.
#include <nlohmann/json.hpp>

#include "tests/core/import/snapshot_of.hpp"
#include "tests/fuzz/import_bytes.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::torch_snapshot {
namespace {

using nlohmann::json;
using testing::entry;
using testing::get_segment;
using testing::select_block;

void run(std::span<const std::uint8_t> input) {
  import_bytes({reinterpret_cast<const char*>(input.data()), input.size()});
}

bytes of(const json& snapshot) {
  const std::string text = testing::pickled(snapshot);
  return {text.begin(), text.end()};
}

std::vector<bytes> seeds() {
  const json frames = {{{"name", "f"}, {"filename", "a.py"}, {"line", 3}},
                       {{"name", "g"}, {"filename", "??"}, {"line", 0}}};
  const json history = {entry("segment_alloc", 4096, 4096, 10),
                        entry("alloc", 4096, 100, 11, {{"frames", frames}, {"user_metadata", "m"}}),
                        entry("free_requested", 4096, 100, 12),
                        entry("free_completed", 4096, 100, 13),
                        entry("alloc", 4608, 7, 14, {{"forward_frames", frames}, {"pool_id", {0, 1}}}),
                        entry("free_completed", 9000, 5, 15),
                        entry("segment_free", 4096, 4096, 16)};
  const json mapped = {entry("segment_map", 8192, 8192, 10),
                       entry("segment_unmap", 12288, 4096, 11),
                       entry("snapshot", 0, 0, 12),
                       {{"action", "oom"}, {"device_free", 9}, {"size", 8}, {"stream", 1}, {"time_us", 13}}};
  const json segments = {
      get_segment(4096, 4096,
                  {select_block(4096, 512, 100, "active_allocated"), select_block(4608, 3584, 0, "inactive")}),
      get_segment(8192, 4096, {select_block(8192, 4096, 9, "active_pending_free")}, {{"is_expandable", true}})};
  const json notes = {{{"stage", "START"}, {"name", "s"}, {"device", 0}, {"time_us", 10}},
                      {{"stage", "END"}, {"name", "s"}, {"device", 0}, {"time_us", 11}}};
  const json host = {
      {{"size", 512}, {"state", "active_allocated"}, {"history", {{{"real_size", 400}, {"frames", frames}}}}}};
  return {of({{"segments", segments}, {"device_traces", {history, mapped}}, {"external_annotations", notes}}),
          of({{"segments", json::array()},
              {"device_traces", {mapped}},
              {"allocator_settings", {{"a", 1}, {"b", {{"1", 2}}}}}}),
          of({{"host_segments", {get_segment(4096, 4096, host)}}, {"host_traces", history}}), of(segments)};
}

}  // namespace
}  // namespace sluice::fuzz::torch_snapshot

sluice::fuzz::target sluice::fuzz::torch_snapshot_target() {
  return {"torch_snapshot", torch_snapshot::run, torch_snapshot::seeds};
}
