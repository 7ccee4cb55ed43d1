// PyTorch's memory snapshots: how each kind of entry is imported.
#include <gmock/gmock.h>

#include <map>

#include "tests/core/import/files.hpp"
#include "tests/core/import/snapshot_of.hpp"

namespace sluice::importing::torch_snapshot {
namespace {

using nlohmann::json;
using testing::entry;
using testing::get_rows;
using testing::get_segment;
using ::testing::HasSubstr;
using testing::own_folder;
using testing::pickled;
using testing::select_block;
using testing::to_number;

constexpr std::uint64_t mib = 1 << 20;
constexpr std::int64_t t0 = 1'700'000'000'000'000;  // us
constexpr trace::time_ns us = 1000;

struct imported {
  explicit imported(const std::string& bytes) {
    auto done = import_file(folder.write("snapshot.pickle", bytes), folder.file("out.sluice"));
    EXPECT_TRUE(done) << done.error().to_string();
    report = std::move(*done);
    file = trace::file::open(folder.file("out.sluice")).value();
    for (const auto& row : get_rows<trace::alloc_event>(*file)) {
      (row.layer == trace::layer::driver ? segments : blocks).push_back(row);
    }
    for (const auto& row : get_rows<trace::free_event>(*file)) {
      (row.layer == trace::layer::driver ? segment_frees : frees).push_back(row);
    }
  }
  explicit imported(const json& snapshot) : imported(pickled(snapshot)) {}
  /// Imports a snapshot with this history of device 0, without segments.
  static imported history(json entries) {
    return imported(json{{"segments", json::array()}, {"device_traces", {std::move(entries)}}});
  }

  [[nodiscard]] std::string_view text(trace::string_id id) const { return file->latest()->tables().text(id); }
  [[nodiscard]] std::uint64_t missed() const {
    std::uint64_t sum = 0;
    for (const auto& each : report.not_understood) sum += each.number;
    return sum;
  }

  own_folder folder;
  importing::report report;
  std::shared_ptr<trace::file> file;
  std::vector<trace::alloc_event> segments, blocks;
  std::vector<trace::free_event> segment_frees, frees;
};

TEST(torch_snapshot, makes_segments_the_drivers_and_blocks_the_frameworks) {
  const auto snapshot =
      imported::history({entry("segment_alloc", 20 * mib, 2 * mib, t0), entry("alloc", 20 * mib, 100, t0 + 5),
                         entry("alloc", 20 * mib + 512, 200, t0 + 6), entry("free_requested", 20 * mib, 100, t0 + 8),
                         entry("free_completed", 20 * mib, 100, t0 + 9)});
  ASSERT_EQ(snapshot.segments.size(), 1U);
  ASSERT_EQ(snapshot.blocks.size(), 2U);
  ASSERT_EQ(snapshot.frees.size(), 1U);
  EXPECT_EQ(snapshot.segments[0].bytes, 2 * mib);
  EXPECT_EQ(snapshot.blocks[1].parent, snapshot.segments[0].block);
  EXPECT_EQ(snapshot.blocks[1].bytes, 200U);
  EXPECT_EQ(snapshot.blocks[1].layer, trace::layer::framework);
  EXPECT_EQ(snapshot.blocks[1].time, 6 * us);
  EXPECT_EQ(snapshot.frees[0].block, snapshot.blocks[0].block);
  EXPECT_EQ(snapshot.frees[0].time, 8 * us);
  EXPECT_EQ(snapshot.frees[0].completed, 9 * us);
  EXPECT_EQ(snapshot.file->latest()->realtime_origin(), t0 * 1000);
  EXPECT_EQ(snapshot.missed(), 0U);
}

TEST(torch_snapshot, lets_a_free_wait_for_its_stream) {
  // The address cannot be reused between the request to free and its completion.
  const auto snapshot =
      imported::history({entry("alloc", mib, 8, t0), entry("free_requested", mib, 8, t0 + 1),
                         entry("alloc", 2 * mib, 8, t0 + 2), entry("free_requested", 2 * mib, 8, t0 + 3)});
  ASSERT_EQ(snapshot.frees.size(), 2U);
  for (const auto& row : snapshot.frees) EXPECT_EQ(row.completed, trace::unknown_time);
}

TEST(torch_snapshot, finds_what_was_there_before) {
  const json segments = {get_segment(100 * mib, 20 * mib,
                                     {select_block(100 * mib, 4 * mib, 4 * mib - 12, "active_allocated"),
                                      select_block(104 * mib, 16 * mib, 0, "inactive")})};
  const imported snapshot(
      json{{"segments", segments},
           {"device_traces",
            {{entry("free_requested", 60 * mib, 77, t0), entry("free_completed", 60 * mib, 77, t0 + 1),
              entry("free_completed", 70 * mib, 88, t0 + 2), entry("segment_free", 60 * mib, 20 * mib, t0 + 3),
              entry("alloc", 110 * mib, 5, t0 + 4), entry("free_requested", 110 * mib, 5, t0 + 5),
              entry("free_completed", 110 * mib, 5, t0 + 6)}}}});
  EXPECT_EQ(to_number(snapshot.report.read, "segments from before the history"), 2U);
  EXPECT_EQ(to_number(snapshot.report.read, "blocks from before the history"), 3U);
  ASSERT_EQ(snapshot.segments.size(), 2U);
  ASSERT_EQ(snapshot.blocks.size(), 4U);
  std::map<std::uint64_t, trace::alloc_event> at;
  for (const auto& row : snapshot.blocks) at[row.address] = row;
  for (const std::uint64_t address : {60 * mib, 70 * mib, 100 * mib}) {
    EXPECT_EQ(at[address].flags, trace::born_before);
    EXPECT_EQ(at[address].time, -1);  // The first event of the history frees one of these blocks.
    EXPECT_NE(at[address].parent, trace::block_id::none) << address / mib;
  }
  EXPECT_EQ(at[70 * mib].bytes, 88U);
  EXPECT_EQ(at[100 * mib].bytes, 4 * mib - 12);
  EXPECT_EQ(at[100 * mib].reserved_bytes, 4 * mib);
  EXPECT_EQ(at[110 * mib].parent, at[100 * mib].parent);
  EXPECT_EQ(at[110 * mib].flags, 0U);
  EXPECT_EQ(snapshot.frees.size(), 3U);
  EXPECT_EQ(snapshot.missed(), 0U);
}

TEST(torch_snapshot, knows_what_a_block_takes_at_the_end) {
  const json segments = {get_segment(mib, 2 * mib, {select_block(mib, 2 * mib, 700'000, "active_allocated")})};
  const imported snapshot(
      json{{"segments", segments},
           {"device_traces", {{entry("segment_alloc", mib, 2 * mib, t0), entry("alloc", mib, 700'000, t0 + 1)}}}});
  ASSERT_EQ(snapshot.blocks.size(), 1U);
  EXPECT_EQ(snapshot.blocks[0].reserved_bytes, 2 * mib);
  EXPECT_EQ(snapshot.segments.size(), 1U);
}

TEST(torch_snapshot, maps_and_unmaps_parts_of_expandable_segments) {
  // Two mappings, the middle of which is unmapped; the rest stays mapped.
  const json segments = {get_segment(100 * mib, 20 * mib, json::array(), {{"is_expandable", true}}),
                         get_segment(140 * mib, 20 * mib, json::array(), {{"is_expandable", true}})};
  const imported snapshot(
      json{{"segments", segments},
           {"device_traces",
            {{entry("segment_map", 100 * mib, 40 * mib, t0), entry("segment_map", 140 * mib, 20 * mib, t0 + 1),
              entry("segment_unmap", 120 * mib, 20 * mib, t0 + 2)}}}});
  std::map<trace::block_id, std::uint64_t> live;
  for (const auto& row : snapshot.segments) live[row.block] = row.bytes;
  for (const auto& row : snapshot.segment_frees) live.erase(row.block);
  ASSERT_EQ(live.size(), 2U);
  for (const auto& [id, bytes] : live) EXPECT_EQ(bytes, 20 * mib);
  EXPECT_EQ(snapshot.missed(), 0U);
}

TEST(torch_snapshot, shows_what_could_not_be_had) {
  const auto snapshot = imported::history(
      {{{"action", "oom"}, {"device_free", 12345}, {"size", 99 * mib}, {"stream", 0}, {"time_us", t0}}});
  const auto failed = get_rows<trace::alloc_failed_event>(*snapshot.file);
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_EQ(failed[0].bytes, 99 * mib);
  const auto attributes = get_rows<trace::attribute_event>(*snapshot.file);
  ASSERT_EQ(attributes.size(), 1U);
  EXPECT_EQ(attributes[0].target, failed[0].id);
  EXPECT_EQ(snapshot.text(attributes[0].key), "device_free");
  EXPECT_EQ(attributes[0].integer, 12345);
}

TEST(torch_snapshot, keeps_stacks_of_python_and_native) {
  const json frames = {{{"name", "forward"}, {"filename", "model.py"}, {"line", 7}},
                       {{"name", "at::empty"}, {"filename", "??"}, {"line", 0}},
                       {{"name", "main"}, {"filename", "<string>"}, {"line", 1}}};
  const auto snapshot = imported::history(
      {entry("alloc", mib, 1, t0, {{"frames", frames}}), entry("alloc", 2 * mib, 1, t0, {{"frames", frames}})});
  EXPECT_EQ(snapshot.blocks.at(0).stack, snapshot.blocks.at(1).stack);
  const auto& tables = snapshot.file->latest()->tables();
  std::vector<std::pair<std::string, trace::frame_kind>> found;
  for (const auto* at = tables.stacks.find(snapshot.blocks[0].stack); at != nullptr;
       at = tables.stacks.find(at->parent)) {
    const auto* frame = tables.frames.find(at->frame);
    found.emplace_back(tables.text(frame->function), frame->kind);
  }
  using trace::frame_kind;
  EXPECT_THAT(
      found, ::testing::ElementsAre(std::pair("forward", frame_kind::python),
                                    std::pair("at::empty", frame_kind::native), std::pair("main", frame_kind::python)));
}

/// Functions and lines of a stack, innermost first: "forward:33".
std::vector<std::string> list_functions(const imported& snapshot, trace::stack_id stack) {
  const auto& tables = snapshot.file->latest()->tables();
  std::vector<std::string> strings;
  for (const auto* at = tables.stacks.find(stack); at != nullptr; at = tables.stacks.find(at->parent)) {
    const auto* frame = tables.frames.find(at->frame);
    strings.push_back(std::string(tables.text(frame->function)) + ":" + std::to_string(frame->line));
  }
  return strings;
}

json compiled_frame(const char* traceback) {
  return {{"name", "call"},
          {"filename", "fx_generated_3a4b.py"},
          {"line", 40},
          {"fx_node_op", "call_function"},
          {"fx_node_name", "mm_1"},
          {"fx_node_target", "aten.mm"},
          {"fx_original_trace", traceback}};
}

constexpr const char* traceback =
    "  File \"/w/model.py\", line 8, in forward\n    x = self.net(x)\n"
    "  File \"/w/net.py\", line 33, in forward\n    return x @ w\n";

TEST(torch_snapshot, generated_code_calls_the_lines_that_it_was_made_from) {
  const json main = {{"name", "main"}, {"filename", "/w/train.py"}, {"line", 10}};
  const auto snapshot = imported::history({entry("alloc", mib, 1, t0, {{"frames", {compiled_frame(traceback), main}}}),
                                           entry("alloc", 2 * mib, 1, t0, {{"frames", {compiled_frame(""), main}}})});
  EXPECT_THAT(list_functions(snapshot, snapshot.blocks.at(0).stack),
              ::testing::ElementsAre("forward:33", "forward:8", "call:40", "main:10"));
  EXPECT_THAT(list_functions(snapshot, snapshot.blocks.at(1).stack), ::testing::ElementsAre("call:40", "main:10"));
  EXPECT_EQ(snapshot.missed(), 0U);
}

TEST(torch_snapshot, generated_code_of_a_backward_pass_is_the_backward_of_its_lines) {
  const json backward = {{"name", "backward"}, {"filename", "/x/torch/_functorch/runtime_wrappers.py"}, {"line", 2}};
  const auto snapshot =
      imported::history({entry("alloc", mib, 1, t0, {{"frames", {compiled_frame(traceback), backward}}})});
  EXPECT_THAT(
      list_functions(snapshot, snapshot.blocks.at(0).stack),
      ::testing::ElementsAre("call:40", "backward:2", "[inferred: the backward of]:0", "forward:33", "forward:8"));
}

TEST(torch_snapshot, a_traceback_may_hold_anything) {
  for (const char* text :
       {"no frames", "File \"", "File \"a\", line x, in f\n", "File \"File \"File \"", "File \"a\", line 5"}) {
    const auto snapshot = imported::history({entry("alloc", mib, 1, t0, {{"frames", {compiled_frame(text)}}})});
    const auto functions = list_functions(snapshot, snapshot.blocks.at(0).stack);
    EXPECT_EQ(functions.back(), "call:40") << text;
    EXPECT_EQ(functions.size(), std::string_view(text).ends_with("5") ? 2U : 1U) << text;
  }
}

TEST(torch_snapshot, forward_frames_may_be_texts_as_of_a_traceback) {
  const json forward = {"  File \"/w/train.py\", line 10, in main\n", "  File \"/w/net.py\", line 33, in forward\n"};
  const json frames = {{{"name", "backward"}, {"filename", "a.py"}, {"line", 1}}};
  const auto snapshot =
      imported::history({entry("alloc", mib, 1, t0, {{"frames", frames}, {"forward_frames", forward}})});
  EXPECT_THAT(list_functions(snapshot, snapshot.blocks.at(0).stack),
              ::testing::ElementsAre("backward:1", "[inferred: the backward of]:0", "forward:33", "main:10"));
}

TEST(torch_snapshot, reads_pinned_memory) {
  for (const bool one_list : {true, false}) {
    json entries = {entry("segment_alloc", mib, 4096, t0), entry("alloc", mib, 4000, t0 + 1)};
    if (!one_list) entries = json::array({entries});
    const imported snapshot(
        json{{"segments", json::array()},
             {"device_traces", json::array()},
             {"host_traces", entries},
             {"host_segments", {get_segment(mib, 4096, {select_block(mib, 4096, 4000, "active_allocated")})}}});
    ASSERT_EQ(snapshot.blocks.size(), 1U);
    EXPECT_EQ(snapshot.blocks[0].kind, trace::memory_kind::pinned);
    EXPECT_EQ(snapshot.blocks[0].device, trace::device_id::none);
    EXPECT_EQ(snapshot.segments.at(0).kind, trace::memory_kind::pinned);
    EXPECT_EQ(snapshot.missed(), 0U);
  }
}

TEST(torch_snapshot, keeps_each_device_apart) {
  const json one = {entry("alloc", mib, 1, t0)},
             two = {entry("alloc", mib, 2, t0 + 1), entry("free_requested", mib, 2, t0 + 2)};
  const imported snapshot(json{{"segments", json::array()}, {"device_traces", {one, json::array(), two}}});
  ASSERT_EQ(snapshot.blocks.size(), 2U);
  EXPECT_NE(snapshot.blocks[0].device, snapshot.blocks[1].device);
  EXPECT_EQ(snapshot.file->latest()->tables().devices.rows().at(1).ordinal, 2);
  EXPECT_EQ(snapshot.frees.at(0).block, snapshot.blocks[1].block);
}

TEST(torch_snapshot, gives_times_by_order_where_there_are_none) {
  json first = entry("alloc", mib, 1, 0), second = entry("free_requested", mib, 1, 0);
  first.erase("time_us");
  second.erase("time_us");
  const auto snapshot = imported::history({first, second});
  EXPECT_EQ(snapshot.blocks.at(0).source, trace::provenance::estimated);
  EXPECT_LT(snapshot.blocks[0].time, snapshot.frees.at(0).time);
  EXPECT_EQ(to_number(snapshot.report.read, "entries without a time (estimated from their order)"), 2U);
}

TEST(torch_snapshot, reads_blocks_with_a_history) {  // PyTorch 1.13 and 2.0
  const json frames = {{{"name", "f"}, {"filename", "a.py"}, {"line", 1}}};
  const json block = {{"size", 512},
                      {"state", "active_allocated"},
                      {"history", {{{"addr", mib}, {"real_size", 400}, {"frames", frames}}}}};
  const imported snapshot(json{{"segments", {get_segment(mib, 2 * mib, {block})}}, {"device_traces", {json::array()}}});
  ASSERT_EQ(snapshot.blocks.size(), 1U);
  EXPECT_EQ(snapshot.blocks[0].address, mib);
  EXPECT_EQ(snapshot.blocks[0].bytes, 400U);
  EXPECT_NE(snapshot.blocks[0].stack, trace::stack_id::none);
}

TEST(torch_snapshot, reads_a_list_of_segments) {  // the result of torch.cuda.memory_snapshot()
  const imported snapshot(json::array({get_segment(mib, 2 * mib, {select_block(mib, 512, 1, "active_allocated")})}));
  EXPECT_EQ(snapshot.segments.size(), 1U);
  EXPECT_EQ(snapshot.blocks.size(), 1U);
}

TEST(torch_snapshot, keeps_pools_apart) {
  const json segments = {get_segment(10 * mib, 2 * mib, json::array()),
                         get_segment(20 * mib, 2 * mib, json::array(), {{"segment_pool_id", {0, 3}}})};
  const imported snapshot(json{{"segments", segments},
                               {"device_traces",
                                {{entry("alloc", 10 * mib, 1, t0), entry("alloc", 20 * mib, 1, t0),
                                  entry("alloc", 30 * mib, 1, t0, {{"pool_id", {0, 3}}})}}}});
  ASSERT_EQ(snapshot.blocks.size(), 3U);
  EXPECT_NE(snapshot.blocks[0].pool, snapshot.blocks[1].pool);
  EXPECT_EQ(snapshot.blocks[1].pool, snapshot.blocks[2].pool);
  const auto* pool = snapshot.file->latest()->tables().pools.find(snapshot.blocks[1].pool);
  EXPECT_EQ(snapshot.text(pool->name), "PyTorch's pool 0.3");
}

TEST(torch_snapshot, keeps_metadata_as_attributes) {
  const auto snapshot = imported::history(
      {entry("alloc", mib, 1, t0, {{"user_metadata", "step 7"}, {"compile_context", "N/A"}}),
       entry("alloc", 2 * mib, 1, t0, {{"user_metadata", ""}, {"compile_context", "0/1"}, {"category", 5}})});
  std::map<std::string, std::string> found;
  for (const auto& row : get_rows<trace::attribute_event>(*snapshot.file)) {
    const bool first = row.target == snapshot.blocks.at(0).id;
    found[std::string(snapshot.text(row.key)) + (first ? " of the first" : " of the second")] =
        std::string(snapshot.text(row.text)) + std::to_string(row.integer);
  }
  EXPECT_EQ(found, (std::map<std::string, std::string>{{"user_metadata of the first", "step 70"},
                                                       {"compile_context of the second", "0/10"},
                                                       {"category of the second", "5"}}));
}

TEST(torch_snapshot, takes_categories_for_tags) {  // from torch.profiler's export_memory_timeline
  const auto snapshot = imported::history({entry("alloc", mib, 1, t0, {{"category", "parameter"}}),
                                           entry("alloc", 2 * mib, 1, t0, {{"category", "activation"}})});
  const auto rows = get_rows<trace::attribute_event>(*snapshot.file);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(snapshot.text(rows[0].key), "category");
  EXPECT_EQ(snapshot.text(rows[0].text), "weight");
  EXPECT_EQ(snapshot.text(rows[1].text), "activation");
}

TEST(torch_snapshot, pairs_annotations) {
  const auto note = [](const char* stage, const char* name, std::int64_t time) {
    return json{{"stage", stage}, {"name", name}, {"device", 0}, {"time_us", time}};
  };
  const imported snapshot(
      json{{"segments", json::array()},
           {"device_traces", {{entry("alloc", mib, 1, t0)}}},
           {"external_annotations",
            {note("START", "step", t0), note("START", "inner", t0 + 1), note("END", "inner", t0 + 2),
             note("END", "step", t0 + 5), note("START", "open", t0 + 6), note("END", "unknown", t0 + 7)}}});
  std::map<std::string, std::pair<trace::time_ns, trace::time_ns>> found;
  for (const auto& row : get_rows<trace::host_range_event>(*snapshot.file))
    found[std::string(snapshot.text(row.name))] = {row.time, row.end};
  EXPECT_EQ(found["step"], std::pair(0 * us, 5 * us));
  EXPECT_EQ(found["inner"], std::pair(1 * us, 2 * us));
  EXPECT_EQ(found["open"], std::pair(6 * us, trace::unknown_time));
  EXPECT_EQ(found["unknown"], std::pair(0 * us, 7 * us));
}

TEST(torch_snapshot, keeps_the_allocators_settings) {
  const imported snapshot(json{{"segments", json::array()},
                               {"device_traces", {json::array()}},
                               {"allocator_settings", {{"expandable_segments", true}, {"roundup", {{"1", 2}}}}}});
  std::map<std::string, std::int64_t> found;
  for (const auto& row : get_rows<trace::attribute_event>(*snapshot.file))
    found[std::string(snapshot.text(row.key))] = row.integer;
  EXPECT_EQ(found, (std::map<std::string, std::int64_t>{{"expandable_segments", 1}, {"roundup.1", 2}}));
}

TEST(torch_snapshot, counts_what_it_does_not_understand) {
  const imported snapshot(json{{"segments", {get_segment(mib, 4, {7}, {{"colour", "red"}}), 5}},
                               {"device_traces",
                                {{entry("defragment", mib, 1, t0),
                                  entry("alloc", mib, UINT64_MAX, t0),
                                  entry("alloc", mib, 1, INT64_MAX),
                                  entry("alloc", mib, 1, -5),
                                  {{"action", "alloc"}, {"size", -7}, {"addr", 5}},
                                  "words",
                                  entry("alloc", mib, 1, t0, {{"frames", {1, 2}}}),
                                  entry("free_completed", mib, 1, t0),
                                  entry("free_requested", mib, 1, t0)}}},
                               {"secret", 1}});
  const auto& missed = snapshot.report.not_understood;
  EXPECT_EQ(to_number(missed, "entries with the action 'defragment'"), 1U);
  EXPECT_EQ(to_number(missed, "entries with an impossible address or size"), 2U);
  EXPECT_EQ(to_number(missed, "entries with an impossible time; estimated from their order"), 2U);
  EXPECT_EQ(to_number(missed, "entries that are not dictionaries"), 1U);
  EXPECT_EQ(to_number(missed, "values under the key 'secret'"), 1U);
  EXPECT_EQ(to_number(missed, "values of segments under the key 'colour'"), 1U);
  EXPECT_EQ(to_number(missed, "frames that are not dictionaries"), 2U);
  EXPECT_EQ(to_number(missed, "missing frees of blocks whose address was allocated again"), 2U);
  EXPECT_EQ(to_number(missed, "frees of memory that is already free"), 1U);
  EXPECT_EQ(
      to_number(snapshot.report.read, "frees that were completed but never requested; the time of completion is used"),
      1U);
  EXPECT_EQ(snapshot.blocks.size(), 3U);
  EXPECT_GT(testing::get_messages(*snapshot.file).size(), 8U);
}

TEST(torch_snapshot, refuses_other_pickles) {
  const own_folder folder;
  for (const json& other : {json{{"weights", {1, 2}}}, json::array({1, 2}), json(7), json::array()}) {
    const auto refused = import_file(folder.write("model.pickle", pickled(other)), folder.file("out.sluice"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, error_code::foreign);
  }
}

TEST(torch_snapshot, ends_soon_however_parts_are_shared) {
  // A list that holds the same trace a hundred thousand times, which holds the same entry a hundred thousand times:
  // 10^10 entries.
  testing::pickle_bytes bomb;
  bomb.code('}').text("device_traces").code(']').code('(');
  bomb.code(']').code('\x94').code('(');
  bomb.code('}').code('\x94').text("action").text("alloc").code('s');
  for (int i = 0; i < 100'000; ++i) bomb.code('h').code(1);
  bomb.code('e');
  for (int i = 0; i < 100'000; ++i) bomb.code('h').code(0);
  bomb.code('e').code('s').text("segments").code(']').code('s');
  const imported snapshot(bomb.end());
  EXPECT_EQ(to_number(snapshot.report.read, "trace entries"), 100'001U);
  EXPECT_EQ(to_number(snapshot.report.not_understood, "lists that occur in the snapshot twice"), 100'000U);
}

TEST(torch_snapshot, takes_cycles_for_what_they_are_not) {
  // {"segments": L, "device_traces": [L]} where L contains itself, and frames that are the entry itself.
  testing::pickle_bytes cyclic;
  cyclic.code('}').text("device_traces").code(']').code(']').code('\x94').code('(').code('h').code(0);
  cyclic.code('}')
      .code('\x94')
      .code('(')
      .text("action")
      .text("alloc")
      .text("frames")
      .code(']')
      .code('(')
      .code('h')
      .code(1)
      .code('e')
      .code('u');
  cyclic.code('e').code('a').code('s').text("segments").code('h').code(0).code('s');
  const imported snapshot(cyclic.end());
  EXPECT_GT(snapshot.missed(), 0U);
}

/// Tags of blocks: the size of the allocation, and the text.
std::multimap<std::uint64_t, std::string> said_of_blocks(const imported& snapshot) {
  std::multimap<std::uint64_t, std::string> texts;
  for (const auto& each : get_rows<trace::attribute_event>(*snapshot.file))
    for (const auto& block : snapshot.blocks)
      if (block.id == each.target) texts.emplace(block.bytes, snapshot.text(each.text));
  return texts;
}

TEST(torch_snapshot, has_what_is_said_of_a_block_later) {
  const auto snapshot =
      imported::history({entry("alloc", mib, 1, t0, {{"user_metadata", "at first"}}), entry("alloc", 2 * mib, 2, t0),
                         entry("annotate", mib, 1, t0 + 5, {{"user_metadata", "kept by autograd"}}),
                         entry("annotate", mib, 1, t0 + 6, {{"user_metadata", "and again"}}),
                         entry("annotate", 9 * mib, 1, t0 + 7, {{"user_metadata", "of nothing known"}})});
  EXPECT_EQ(snapshot.missed(), 0U);
  EXPECT_EQ(said_of_blocks(snapshot),
            (std::multimap<std::uint64_t, std::string>{{1, "at first"}, {1, "kept by autograd"}, {1, "and again"}}));
  const auto marks = get_rows<trace::marker_event>(*snapshot.file);
  ASSERT_EQ(marks.size(), 1U);
  EXPECT_EQ(snapshot.text(marks[0].name), "annotation of a block");
}

TEST(torch_snapshot, has_what_the_segments_say_of_blocks_from_before) {
  auto block = select_block(mib, 512, 300, "active_allocated");
  block["user_metadata"] = "weights";
  const imported snapshot(
      json{{"segments", {get_segment(mib, mib, json::array({block}))}}, {"device_traces", {json::array()}}});
  EXPECT_EQ(said_of_blocks(snapshot), (std::multimap<std::uint64_t, std::string>{{300, "weights"}}));
}

TEST(torch_snapshot, refuses_a_bomb) {
  const own_folder folder;
  const std::string zeros =
      pickled(json{{"segments", json::array()}, {"device_traces", {json::array()}}}) + std::string(40'000'000, '\0');
  const std::string bomb = folder.write_gzip("bomb.gz", zeros);
  EXPECT_LT(std::filesystem::file_size(bomb), 100'000U);
  options with;
  with.memory_bytes = std::size_t{16} << 20;
  const auto refused = import_file(bomb, folder.file("out.sluice"), with);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().to_string(), HasSubstr("exceeds the limit of"));
}

}  // namespace
}  // namespace sluice::importing::torch_snapshot
