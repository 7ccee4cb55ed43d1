// Timeline exports: Chrome's format, read back by Sluice's importer, and Perfetto's, parsed again.
#include <gmock/gmock.h>

#include "core/base/format.hpp"
#include "core/export/export.hpp"
#include "core/trace/file/writer.hpp"
#include "core/trace/model/names.hpp"
#include "tests/core/export/perfetto_reader.hpp"
#include "tests/core/import/files.hpp"
#include "tests/core/import/shared_traces.hpp"

namespace sluice::exports::timeline {
namespace {

using testing::get_rows;
using testing::own_folder;

/// A small recording with an event of each kind that the formats support.
std::string recording(const own_folder& folder) {
  trace::writer_options options;
  options.realtime_origin = 1'790'857'026'000'000'000;
  const std::string path = folder.file("made.sluice");
  auto output = trace::file_writer::create(path, options);
  trace::file_writer& out = *output;
  const auto process = static_cast<trace::process_id>(1);
  const auto thread = static_cast<trace::thread_id>(1);
  const auto device = static_cast<trace::device_id>(1);
  const auto stream = static_cast<trace::stream_id>(1);
  trace::process_row process_row;
  process_row.id = process;
  process_row.pid = 77;
  process_row.command = out.intern("python train.py");
  out.add(process_row);
  out.add(trace::thread_row{thread, process, 78, out.intern("main")});
  trace::device_row device_row;
  device_row.id = device;
  device_row.ordinal = 0;
  device_row.name = out.intern("NVIDIA H200");
  device_row.memory_bytes = 1 << 30;
  out.add(device_row);
  trace::stream_row stream_row;
  stream_row.id = stream;
  stream_row.process = process;
  stream_row.device = device;
  stream_row.handle = 7;
  out.add(stream_row);

  const auto at = [&](auto row, trace::time_ns begin, trace::time_ns end) {
    row.time = begin;
    row.end = end;
    row.process = process;
    row.thread = thread;
    return row;
  };
  trace::event_id ranges[3];
  const std::pair<int, int> spans[3] = {{0, 1000}, {100, 400}, {300, 700}};  // The last overlaps without nesting.
  for (int i = 0; i < 3; ++i) {
    trace::host_range_event range;
    range.name = out.intern("range \"" + std::to_string(i) + "\"\n");
    range.domain = out.intern("user");
    ranges[i] = static_cast<trace::event_id>(out.add(at(range, spans[i].first, spans[i].second)));
  }
  trace::link_event link;
  link.kind = trace::link_kind::flow;
  link.from = ranges[0];
  link.to = ranges[2];
  out.add(link);
  trace::api_call_event call;
  call.name = out.intern("cudaLaunchKernel");
  call.correlation = 5;
  trace::kernel_event kernel;
  kernel.call = static_cast<trace::event_id>(out.add(at(call, 10, 20)));
  kernel.name = out.intern("kernel<float>");
  kernel.correlation = 5;
  kernel.device = device;
  kernel.stream = stream;
  kernel.grid_x = kernel.grid_y = kernel.grid_z = 2;
  kernel.block_x = 32;
  kernel.enqueued = 10;
  out.add(at(kernel, 500, 600));
  trace::transfer_event copy;
  copy.bytes = 4096;
  copy.direction = trace::direction::d2h;
  copy.source_kind = trace::memory_kind::device;
  copy.destination_kind = trace::memory_kind::pinned;
  copy.device = device;
  copy.stream = stream;
  out.add(at(copy, 600, 700));
  trace::memset_event set;
  set.bytes = 64;
  set.device = device;
  set.stream = stream;
  set.kind = trace::memory_kind::device;
  out.add(at(set, 700, 701));
  for (const std::uint64_t block : {1U, 2U}) {
    trace::alloc_event alloc;
    alloc.time = static_cast<trace::time_ns>(100 * block);
    alloc.process = process;
    alloc.thread = thread;
    alloc.block = static_cast<trace::block_id>(block);
    alloc.layer = block == 1 ? trace::layer::framework : trace::layer::driver;
    alloc.kind = trace::memory_kind::device;
    alloc.device = device;
    alloc.address = 4096 * block;
    alloc.bytes = 1000 * block;
    out.add(alloc);
    trace::free_event gone;
    gone.time = 900;
    gone.process = process;
    gone.thread = thread;
    gone.block = alloc.block;
    out.add(gone);
  }
  trace::marker_event mark;
  mark.time = 50;
  mark.process = process;
  mark.thread = thread;
  mark.name = out.intern("here");
  out.add(mark);
  trace::counter_row counter_row;
  counter_row.id = static_cast<trace::counter_id>(1);
  counter_row.process = process;
  counter_row.unit = trace::counter_unit::bytes;
  counter_row.name = out.intern("queue bytes");
  out.add(counter_row);
  trace::counter_event counter;
  counter.time = 60;
  counter.counter = counter_row.id;
  counter.value = 2.5;
  out.add(counter);
  EXPECT_TRUE(out.close());
  return path;
}

void write_as(const trace::file& file, const char* name, const std::string& path, const options& wanted = {}) {
  const auto done = write(*file.latest(), *find_format(name), path, wanted);
  ASSERT_TRUE(done) << done.error().to_string();
}

/// Metrics that must survive the round trip, by name: counts, and sums of times and bytes.
using metrics = std::map<std::string, std::int64_t>;
metrics compute_metrics(const trace::file& file) {
  metrics whole;
  const auto snapshot = file.latest();
  const auto get_name = [&](trace::string_id id) { return std::string(snapshot->tables().text(id)); };
  const auto lasting = [&](const std::string& kind, const auto& row) {
    ++whole[kind];
    whole[kind + " begin"] += snapshot->realtime_origin() % 1'000'000'000 + row.time;
    whole[kind + " ns"] += row.end - row.time;
  };
  for (const auto& row : get_rows<trace::host_range_event>(file))
    lasting("range " + get_name(row.name) + " of " + get_name(row.domain), row);
  for (const auto& row : get_rows<trace::api_call_event>(file)) lasting("call " + get_name(row.name), row);
  for (const auto& row : get_rows<trace::kernel_event>(file)) {
    lasting("kernel " + get_name(row.name), row);
    whole["threads"] += row.grid_x * row.grid_y * row.grid_z * row.block_x;
    if (row.call != trace::event_id::none) ++whole["kernels with a call"];
  }
  for (const auto& row : get_rows<trace::transfer_event>(file)) {
    lasting("copy " + std::to_string(static_cast<int>(row.direction)), row);
    whole["copied"] += static_cast<std::int64_t>(row.bytes);
    whole["from " + std::to_string(static_cast<int>(row.source_kind)) + " to " +
          std::to_string(static_cast<int>(row.destination_kind))] += 1;
  }
  for (const auto& row : get_rows<trace::memset_event>(file)) {
    lasting("memset", row);
    whole["set"] += static_cast<std::int64_t>(row.bytes);
  }
  for (const auto& row : get_rows<trace::marker_event>(file)) ++whole["mark " + get_name(row.name)];
  for (const auto& row : get_rows<trace::alloc_event>(file)) {
    if (row.layer != trace::layer::framework) continue;
    ++whole["blocks"];
    whole["block bytes"] += static_cast<std::int64_t>(row.bytes);
    whole["block addresses"] += static_cast<std::int64_t>(row.address % 1'000'003);
  }
  for (const auto& row : get_rows<trace::link_event>(file))
    whole["arrows"] += row.kind == trace::link_kind::flow ? 1 : 0;
  return whole;
}

void expect_round_trip(const trace::file& first, const own_folder& folder, const char* format, const char* name) {
  const std::string text = folder.file(name);
  write_as(first, format, text);
  const std::string again = folder.file("again.sluice");
  const auto imported = importing::import_file(text, again);
  ASSERT_TRUE(imported) << imported.error().to_string();
  for (const importing::count& each : imported->not_understood)
    EXPECT_EQ(each.label, "kernels, copies and memsets whose call is not in the file");
  const auto second = trace::file::open(again);
  ASSERT_TRUE(second);
  const metrics before = compute_metrics(first), after = compute_metrics(**second);
  for (const auto& [metric, value] : before) EXPECT_EQ(after.contains(metric) ? after.at(metric) : 0, value) << metric;
  EXPECT_EQ(before.size(), after.size());
}

TEST(chrome_export, is_read_back_with_equal_totals) {
  const own_folder folder;
  const auto first = trace::file::open(recording(folder));
  ASSERT_TRUE(first);
  expect_round_trip(**first, folder, "chrome", "out.json");
  expect_round_trip(**first, folder, "chrome-gz", "out.json.gz");
}

TEST(chrome_export, of_a_real_trace_is_read_back_with_equal_totals) {
  for (const char* const name : {"kineto-train1.json.gz", "kineto-infer1.json.gz"}) {
    const auto path = testing::shared_trace(name);
    if (!path) GTEST_SKIP() << name << " is not here: it lies in shared/traces beside the source tree";
    const own_folder folder;
    ASSERT_TRUE(importing::import_file(*path, folder.file("first.sluice")));
    const auto first = trace::file::open(folder.file("first.sluice"));
    ASSERT_TRUE(first);
    expect_round_trip(**first, folder, "chrome", "out.json");
  }
}

TEST(chrome_export, of_a_range_has_what_overlaps_it) {
  const own_folder folder;
  const auto first = trace::file::open(recording(folder));
  ASSERT_TRUE(first);
  options wanted;
  wanted.range = time_range{550, 650};
  write_as(**first, "chrome", folder.file("part.json"), wanted);
  ASSERT_TRUE(importing::import_file(folder.file("part.json"), folder.file("part.sluice")));
  const auto part = trace::file::open(folder.file("part.sluice"));
  ASSERT_TRUE(part);
  EXPECT_EQ(get_rows<trace::host_range_event>(**part).size(), 2U);
  EXPECT_EQ(get_rows<trace::kernel_event>(**part).size(), 1U);
  EXPECT_EQ(get_rows<trace::transfer_event>(**part).size(), 1U);
  EXPECT_EQ(get_rows<trace::memset_event>(**part).size(), 0U);
}

// --- Perfetto ------------------------------------------------------------------------------------------------------------

TEST(perfetto_export, slices_end_when_they_end_also_where_they_overlap) {
  const own_folder folder;
  const auto first = trace::file::open(recording(folder));
  ASSERT_TRUE(first);
  write_as(**first, "perfetto", folder.file("out.pftrace"));
  const perfetto exported(testing::read_file(folder.file("out.pftrace")));
  const auto* outer = exported.find("range \"0\"\n");
  const auto* inner = exported.find("range \"1\"\n");
  const auto* overlapping = exported.find("range \"2\"\n");
  const auto* kernel = exported.find("kernel<float>");
  const auto* call = exported.find("cudaLaunchKernel");
  ASSERT_TRUE(outer && inner && overlapping && kernel && call);
  EXPECT_EQ(outer->end - outer->begin, 1000U);
  EXPECT_EQ(inner->end - inner->begin, 300U);
  EXPECT_EQ(inner->depth, 1U);
  EXPECT_EQ(overlapping->end - overlapping->begin, 400U);
  EXPECT_EQ(overlapping->depth, 0U);  // It is on a track of its own.
  EXPECT_EQ(kernel->end - kernel->begin, 100U);
  EXPECT_EQ(exported.loose_ends, 0U);
  // Arrows, clocks, counters with units, marks.
  EXPECT_THAT(exported.arrows, ::testing::UnorderedElementsAre(std::pair("cudaLaunchKernel", "kernel<float>"),
                                                               std::pair("range \"0\"\n", "range \"2\"\n")));
  EXPECT_EQ(exported.loose_arrows, 0U);
  EXPECT_EQ(exported.clocks.at(1), 1'790'857'026'000'000'000U);
  EXPECT_EQ(exported.counters.at("framework device"), (std::vector<double>{1000, 0}));
  EXPECT_EQ(exported.counters.at("driver device"), (std::vector<double>{2000, 0}));
  EXPECT_EQ(exported.counters.at("queue bytes"), std::vector<double>{2.5});
  for (const auto& [id, track] : exported.tracks)
    if (track.counter) {
      EXPECT_EQ(track.unit, 3U) << track.name;
      // Viewers show child tracks below their parent's name.
      ASSERT_TRUE(exported.tracks.contains(track.parent)) << track.name;
      EXPECT_EQ(exported.tracks.at(track.parent).name,
                track.name.ends_with(" device") ? "Memory of NVIDIA H200 (GPU 0)" : "python train.py");
    }
  EXPECT_EQ(exported.instants, std::vector<std::string>{"here"});
}

TEST(perfetto_export, of_a_range_begins_with_the_memory_that_is_in_use_then) {
  const own_folder folder;
  const auto first = trace::file::open(recording(folder));
  ASSERT_TRUE(first);
  options wanted;
  wanted.range = time_range{150, 650};
  write_as(**first, "perfetto", folder.file("out.pftrace"), wanted);
  const perfetto exported(testing::read_file(folder.file("out.pftrace")));
  EXPECT_EQ(exported.counters.at("framework device"), std::vector<double>{1000});
  EXPECT_EQ(exported.counters.at("driver device"), (std::vector<double>{0, 2000}));
  EXPECT_EQ(exported.find("cudaLaunchKernel"), nullptr);
  EXPECT_NE(exported.find("kernel<float>"), nullptr);
}

TEST(perfetto_export, of_a_real_trace_has_every_slice_with_its_length) {
  const auto path = testing::shared_trace("kineto-train1.json.gz");
  if (!path) GTEST_SKIP() << "kineto-train1.json.gz is not here: it lies in shared/traces beside the source tree";
  const own_folder folder;
  ASSERT_TRUE(importing::import_file(*path, folder.file("first.sluice")));
  const auto first = trace::file::open(folder.file("first.sluice"));
  ASSERT_TRUE(first);
  write_as(**first, "perfetto", folder.file("out.pftrace"));
  const perfetto exported(testing::read_file(folder.file("out.pftrace")));
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> ours, theirs;
  const auto count = [&](const auto& row) {
    auto& [number, ns] = ours[readable_name((*first)->latest()->tables().text(row.name))];
    ++number;
    ns += static_cast<std::uint64_t>(row.end - row.time);
  };
  for (const auto& row : get_rows<trace::host_range_event>(**first)) count(row);
  for (const auto& row : get_rows<trace::kernel_event>(**first)) count(row);
  for (const auto& row : get_rows<trace::api_call_event>(**first)) count(row);
  for (const auto& each : exported.slices) {
    if (each.name.starts_with("Copy") || each.name == "Memset") continue;
    auto& [number, ns] = theirs[each.name];
    ++number;
    ns += each.end - each.begin;
  }
  EXPECT_EQ(ours, theirs);
  EXPECT_EQ(exported.loose_ends, 0U);
  EXPECT_EQ(exported.loose_arrows, 0U);
  EXPECT_EQ(exported.arrows.size(),
            1522U + 840U);  // From calls to their work, and from forward operations to backward ones.
  EXPECT_EQ(exported.counters.at("PyTorch allocator used").back(), 68157440);
}

}  // namespace
}  // namespace sluice::exports::timeline
