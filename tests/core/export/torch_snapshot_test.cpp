// Exported PyTorch snapshots, as read by PyTorch's own reader and by Sluice's importer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "core/export/export.hpp"
#include "tests/core/import/files.hpp"
#include "tests/core/import/snapshot_of.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/programs.hpp"

namespace sluice::exports {
namespace {

using nlohmann::json;
using testing::entry;
using testing::get_rows;
using testing::get_segment;
using testing::mib;
using testing::ms;
using testing::own_folder;
using testing::select_block;

std::shared_ptr<trace::file> imported(const std::string& source, const std::string& to) {
  const auto done = importing::import_file(source, to);
  EXPECT_TRUE(done) << done.error().to_string();
  if (done) {
    for (const auto& each : done->not_understood) ADD_FAILURE() << each.number << " " << each.label;
  }
  return trace::file::open(to).value();
}

void exported(const trace::file& file, const std::string& to, const options& wanted = {}) {
  const auto done = write(*file.latest(), *find_format("torch-snapshot"), to, wanted);
  EXPECT_TRUE(done) << done.error().to_string();
}

/// The memory events of a trace, one line each, without ids: equal for equivalent traces.
std::multiset<std::string> said_by(const trace::file& file) {
  const auto snapshot = file.latest();
  const auto& tables = snapshot->tables();
  const auto stack = [&](trace::stack_id id) {
    std::string text;
    for (const auto* at = tables.stacks.find(id); at != nullptr; at = tables.stacks.find(at->parent)) {
      const auto* frame = tables.frames.find(at->frame);
      text += "|" + std::string(tables.text(frame->function)) + "@" + std::string(tables.text(frame->file)) + ":" +
              std::to_string(frame->line);
    }
    return text;
  };
  const auto stream = [&](trace::stream_id id) {
    const auto* row = tables.streams.find(id);
    return row == nullptr ? 0 : row->handle;
  };
  std::map<trace::event_id, std::string> attributes;
  for (const auto& row : get_rows<trace::attribute_event>(file)) {
    attributes[row.target] += "," + std::string(tables.text(row.key)) + "=" + std::string(tables.text(row.text)) +
                              std::to_string(row.integer) + " " + std::to_string(row.real);
  }
  std::multiset<std::string> strings;
  std::map<trace::block_id, trace::alloc_event> blocks;
  for (const auto& row : get_rows<trace::alloc_event>(file)) {
    blocks[row.block] = row;
    const auto* pool = tables.pools.find(row.pool);
    strings.insert(
        fmt::format("alloc {} at {} of {} takes {} layer {} kind {} stream {} flags {} source {} pool {} name {}{}{}",
                    row.address, row.time, row.bytes, row.reserved_bytes, int(row.layer), int(row.kind),
                    stream(row.stream), row.flags, int(row.source), pool == nullptr ? "" : tables.text(pool->name),
                    tables.text(row.name), stack(row.stack), attributes[row.id]));
  }
  for (const auto& row : get_rows<trace::free_event>(file)) {
    strings.insert(
        fmt::format("free of {} at {} until {}{}", row.address, row.time, row.completed, attributes[row.id]));
    EXPECT_TRUE(blocks.contains(row.block));
  }
  for (const auto& row : get_rows<trace::alloc_failed_event>(file))
    strings.insert(fmt::format("failed {} at {}{}{}", row.bytes, row.time, stack(row.stack), attributes[row.id]));
  for (const auto& row : get_rows<trace::host_range_event>(file))
    strings.insert(fmt::format("range {} from {} to {}", tables.text(row.name), row.time, row.end));
  for (const auto& row : get_rows<trace::marker_event>(file))
    strings.insert(fmt::format("mark {} at {}{}", tables.text(row.name), row.time, attributes[row.id]));
  strings.insert(fmt::format("clock {}", snapshot->realtime_origin()));
  return strings;
}

void expect_round_trip(const std::string& snapshot) {
  const own_folder folder;
  const auto first = imported(snapshot, folder.file("first.sluice"));
  exported(*first, folder.file("again.pickle"));
  const auto second = imported(folder.file("again.pickle"), folder.file("second.sluice"));
  const auto before = said_by(*first), after = said_by(*second);
  std::vector<std::string> lost, made;
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(lost));
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(), std::back_inserter(made));
  EXPECT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < std::min<std::size_t>(lost.size(), 5); ++i) ADD_FAILURE() << "lost: " << lost[i];
  for (std::size_t i = 0; i < std::min<std::size_t>(made.size(), 5); ++i) ADD_FAILURE() << "made: " << made[i];
}

TEST(torch_export, goes_around_with_each_kind_of_entry) {
  constexpr std::int64_t t0 = 1'700'000'000'000'000;
  const json frames = {{{"name", "f"}, {"filename", "a.py"}, {"line", 3}},
                       {{"name", "g"}, {"filename", "??"}, {"line", 0}}};
  const json segments = {
      get_segment(100 * mib, 20 * mib,
                  {select_block(100 * mib, 4 * mib, 4 * mib - 12, "active_allocated"),
                   select_block(104 * mib, 16 * mib, 0, "inactive")}),
      get_segment(200 * mib, 40 * mib,
                  {select_block(200 * mib, 512, 500, "active_pending_free"),
                   select_block(200 * mib + 512, 40 * mib - 512, 0, "inactive")},
                  {{"is_expandable", true}}),
      get_segment(300 * mib, 2 * mib, json::array(), {{"segment_pool_id", {0, 3}}, {"segment_type", "small"}})};
  const json history = {entry("segment_map", 200 * mib, 20 * mib, t0),
                        entry("segment_map", 220 * mib, 40 * mib, t0 + 1),
                        entry("segment_unmap", 240 * mib, 20 * mib, t0 + 2),
                        entry("segment_alloc", 300 * mib, 2 * mib, t0 + 3, {{"stream", 77}, {"frames", frames}}),
                        entry("alloc", 300 * mib, 5, t0 + 4, {{"frames", frames}, {"user_metadata", "m"}}),
                        entry("free_requested", 300 * mib, 5, t0 + 5),
                        entry("free_completed", 300 * mib, 5, t0 + 6),
                        entry("alloc", 200 * mib, 500, t0 + 7, {{"category", "parameter"}}),
                        entry("free_requested", 200 * mib, 500, t0 + 8),
                        entry("free_requested", 60 * mib, 9, t0 + 9),
                        entry("free_completed", 60 * mib, 9, t0 + 10),
                        entry("segment_free", 60 * mib, 2 * mib, t0 + 11),
                        entry("snapshot", 0, 0, t0 + 12),
                        {{"action", "oom"},
                         {"device_free", 12345},
                         {"size", 99 * mib},
                         {"stream", 0},
                         {"time_us", t0 + 13},
                         {"frames", frames}}};
  const json notes = {{{"stage", "START"}, {"name", "s"}, {"device", 0}, {"time_us", t0}},
                      {{"stage", "END"}, {"name", "s"}, {"device", 0}, {"time_us", t0 + 4}}};
  const own_folder folder;
  expect_round_trip(
      folder.write("all.pickle",
                   testing::pickled(json{
                       {"segments", segments},
                       {"device_traces", {history}},
                       {"external_annotations", notes},
                       {"allocator_settings",
                        {{"PYTORCH_CUDA_ALLOC_CONF", "x:y"}, {"expandable_segments", 1}, {"round", {{"1", 2}}}}},
                       {"host_segments", {get_segment(mib, 4096, {select_block(mib, 4096, 4000, "active_allocated")})}},
                       {"host_traces", {entry("segment_alloc", mib, 4096, t0), entry("alloc", mib, 4000, t0 + 1)}}})));
}

TEST(torch_export, goes_around_with_real_snapshots) {
  std::size_t seen = 0;
  const std::filesystem::path root = SLUICE_SOURCE_DIR;
  for (const auto& folder :
       {root / "../shared/traces", root / "../../shared/traces", root / "tests/core/import/samples"}) {
    if (!std::filesystem::is_directory(folder)) continue;
    for (const auto& each : std::filesystem::directory_iterator(folder)) {
      const std::string name = each.path().filename().string();
      if (!name.starts_with("torch-") || !name.ends_with(".pickle.gz")) continue;
      SCOPED_TRACE(name);
      expect_round_trip(each.path().string());
      ++seen;
    }
  }
  if (seen == 0) GTEST_SKIP() << "there are no snapshots beside the source tree";
}

/// Evaluates `condition` in Python, with the snapshot at `path` as `s`. Returns 0 if it is true.
int ask_python(const std::string& path, const std::string& condition) {
  const std::string script =
      "import pickle, sys; s = pickle.load(open('" + path + "', 'rb')); sys.exit(0 if (" + condition + ") else 3)";
  return run_program({.words = {"python3", "-c", script}}).status;
}

TEST(torch_export, is_what_python_reads) {
  if (run_shell("python3 -c pass").status != 0) GTEST_SKIP() << "there is no python3";
  testing::recording recorded;
  recorded.standard_tables();
  // A program without a framework: each driver allocation is both segment and block. More entries than fit into one
  // batch.
  for (std::uint64_t i = 1; i <= 3000; ++i) recorded.add_alloc(static_cast<trace::time_ns>(i) * ms, i, i * 1000);
  for (std::uint64_t i = 1; i <= 2990; ++i) recorded.add_free(static_cast<trace::time_ns>(3000 + i) * ms, i);
  recorded.close();
  const own_folder folder;
  const std::string path = folder.file("out.pickle");
  exported(*recorded.open(), path);
  EXPECT_EQ(ask_python(path, "len(s['device_traces'][0]) == 3000 * 2 + 2990 * 3"), 0);
  EXPECT_EQ(ask_python(path, "sum(x['total_size'] for x in s['segments']) == sum(i * 1000 for i in range(2991, 3001))"),
            0);
  EXPECT_EQ(
      ask_python(
          path, "[e['time_us'] for e in s['device_traces'][0]] == sorted(e['time_us'] for e in s['device_traces'][0])"),
      0);
  EXPECT_EQ(ask_python(path, "all(sum(b['size'] for b in x['blocks']) == x['total_size'] for x in s['segments'])"), 0);
}

TEST(torch_export, uses_opcodes_that_the_viewer_knows) {  // torch/utils/viz/MemoryViz.js has its own reader
  const own_folder folder;
  testing::recording recorded;
  recorded.standard_tables();
  for (std::uint64_t i = 1; i <= 300; ++i) recorded.add_alloc(static_cast<trace::time_ns>(i) * ms, i, i * mib);
  recorded.close();
  const std::string path = folder.file("out.pickle");
  exported(*recorded.open(), path);
  const std::string known =
      "APPENDS BINGET BININT BININT1 BININT2 BINUNICODE EMPTY_DICT EMPTY_LIST LONG1 LONG_BINGET MARK MEMOIZE NEWFALSE "
      "NEWTRUE NONE PROTO SETITEMS SHORT_BINUNICODE STOP TUPLE2 BINFLOAT";
  const std::string program = "import pickletools, sys; used = {o.name for o, _, _ in pickletools.genops(open('" +
                              path + "', 'rb'))}; sys.exit(3 if used - set('" + known + "'.split()) else 0)";
  if (run_shell("python3 -c pass").status != 0) GTEST_SKIP() << "there is no python3";
  EXPECT_EQ(run_program({.words = {"python3", "-c", program}}).status, 0);
}

TEST(torch_export, completes_frees_of_which_only_the_request_is_known) {  // Sluice's own recordings of PyTorch
  testing::recording recorded;
  recorded.standard_tables();
  recorded.add_alloc(1 * ms, 1, 4096);
  recorded.add_alloc(2 * ms, 2, 1024, trace::memory_kind::device, trace::layer::framework);
  recorded.add_free(3 * ms, 2, trace::layer::framework);
  recorded.close();
  const own_folder folder;
  exported(*recorded.open(), folder.file("out.pickle"));
  const auto again = imported(folder.file("out.pickle"), folder.file("again.sluice"));
  const auto frees = get_rows<trace::free_event>(*again);
  ASSERT_EQ(frees.size(), 1U);
  EXPECT_EQ(frees[0].completed, frees[0].time);
}

TEST(torch_export, writes_texts_that_python_reads) {
  if (run_shell("python3 -c pass").status != 0) GTEST_SKIP() << "there is no python3";
  testing::recording recorded;
  recorded.standard_tables();
  recorded.add_alloc(1 * ms, 1, 1000);
  auto range = recorded.event<trace::host_range_event>(1 * ms);
  range.end = 2 * ms;
  range.name = recorded.text("r\xc3\xb6\xff\xfe" + std::string(300, 'x'));
  recorded.writer().add(range);
  recorded.close();
  const own_folder folder;
  exported(*recorded.open(), folder.file("out.pickle"));
  EXPECT_EQ(ask_python(folder.file("out.pickle"),
                       "s['external_annotations'][0]['name'] == 'r\u00f6\ufffd\ufffd' + 'x' * 300"),
            0);
}

TEST(torch_export, gives_blocks_without_addresses_one_each) {
  const own_folder folder;
  testing::recording recorded;
  recorded.standard_tables();
  const auto layer = trace::layer::framework;
  for (std::uint64_t block = 1; block <= 3; ++block) {
    auto row = recorded.event<trace::alloc_event>(static_cast<time_ns>(block) * ms);
    row.block = trace::block_id{block};
    row.layer = layer;
    row.kind = trace::memory_kind::device;
    row.device = trace::device_id{1};
    row.bytes = block * mib;
    recorded.writer().add(row);
  }
  recorded.add_free(4 * ms, 1, layer);
  recorded.add_free(5 * ms, 2, layer);
  recorded.close();
  const auto done = write(*recorded.open()->latest(), *find_format("torch-snapshot"), folder.file("out.pickle"), {});
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_NE(std::find(done->notes.begin(), done->notes.end(),
                      "3 blocks have no address in the recording, so each got a unique one in the snapshot"),
            done->notes.end());
  const auto again = imported(folder.file("out.pickle"), folder.file("again.sluice"));
  std::set<std::uint64_t> addresses;
  for (const auto& row : get_rows<trace::alloc_event>(*again))
    if (row.layer == layer) addresses.insert(row.address);
  EXPECT_EQ(addresses.size(), 3U);
  EXPECT_FALSE(addresses.contains(0));
  EXPECT_EQ(get_rows<trace::free_event>(*again).size(), 2U);
}

TEST(torch_export, takes_a_range) {
  testing::recording recorded;
  recorded.standard_tables();
  recorded.add_alloc(1 * ms, 1, 1000);
  recorded.add_alloc(2 * ms, 2, 2000);
  recorded.add_free(3 * ms, 1);
  recorded.add_alloc(5 * ms, 3, 3000);
  recorded.close();
  const own_folder folder;
  options wanted;
  wanted.range = time_range{2 * ms - 1, 4 * ms};
  exported(*recorded.open(), folder.file("part.pickle"), wanted);
  const auto part = imported(folder.file("part.pickle"), folder.file("part.sluice"));
  std::map<std::uint64_t, std::uint64_t> blocks;  // by size, and whether it was allocated before the recording
  for (const auto& row : get_rows<trace::alloc_event>(*part)) {
    if (row.layer == trace::layer::framework) blocks[row.bytes] = row.flags;
  }
  EXPECT_EQ(blocks, (std::map<std::uint64_t, std::uint64_t>{{1000, trace::born_before}, {2000, 0}}));
}

}  // namespace
}  // namespace sluice::exports
