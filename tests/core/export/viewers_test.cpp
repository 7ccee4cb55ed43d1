// Cases that Perfetto silently drops or draws wrongly, found with its own importer (tests/core/export/perfetto-check).
#include <gmock/gmock.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "core/export/export.hpp"
#include "core/trace/file/writer.hpp"
#include "tests/core/export/perfetto_reader.hpp"
#include "tests/core/import/files.hpp"

namespace sluice::exports::viewers {
namespace {

using nlohmann::json;
using ::testing::Contains;
using testing::own_folder;

constexpr std::int64_t real = 1'790'857'026'000'000'000;

/// A process and threads without names and numbers, negative times, two streams with the same number, and a launch of
/// much work.
std::shared_ptr<trace::file> recording(const own_folder& folder) {
  trace::writer_options options;
  options.realtime_origin = real;
  auto output = trace::file_writer::create(folder.file("made.sluice"), options);
  trace::file_writer& out = *output;
  for (const std::uint32_t process : {1U, 2U}) {
    trace::process_row row;
    row.id = static_cast<trace::process_id>(process);
    row.pid = process == 1 ? 77 : 0;
    out.add(row);
    trace::stream_row stream;
    stream.id = static_cast<trace::stream_id>(process);
    stream.process = row.id;
    stream.device = static_cast<trace::device_id>(1);
    stream.handle = 7;
    out.add(stream);
    out.add(trace::thread_row{static_cast<trace::thread_id>(process), row.id, 0, {}});
  }
  trace::device_row device;
  device.id = static_cast<trace::device_id>(1);
  device.ordinal = 0;
  device.name = out.intern("NVIDIA H200");
  out.add(device);
  const auto at = [](auto row, std::uint64_t place, trace::time_ns begin, trace::time_ns end) {
    row.process = static_cast<trace::process_id>(place);
    row.thread = static_cast<trace::thread_id>(place);
    row.time = begin;
    row.end = end;
    return row;
  };
  trace::host_range_event range;
  range.name = out.intern("early");
  out.add(at(range, 2, -500, 400));
  trace::api_call_event call;
  call.name = out.intern("cudaGraphLaunch");
  call.correlation = 5;
  const auto launch = static_cast<trace::event_id>(out.add(at(call, 1, -100, 0)));
  trace::kernel_event kernel;
  kernel.device = device.id;
  kernel.correlation = 5;
  kernel.call = launch;
  for (const std::uint64_t stream : {1U, 2U}) {
    kernel.stream = static_cast<trace::stream_id>(stream);
    kernel.name = out.intern(stream == 1 ? "_Z5firstPf" : "_Z6secondPf");
    out.add(at(kernel, stream, 100 * static_cast<trace::time_ns>(stream), 250 * static_cast<trace::time_ns>(stream)));
  }
  trace::memset_event set;
  set.device = device.id;
  set.stream = static_cast<trace::stream_id>(1);
  set.correlation = 5;
  set.call = launch;
  out.add(at(set, 1, 300, 310));
  trace::counter_row counter_row;
  counter_row.id = static_cast<trace::counter_id>(1);
  counter_row.process = static_cast<trace::process_id>(1);
  counter_row.unit = trace::counter_unit::bytes;
  counter_row.name = out.intern("queue bytes");
  out.add(counter_row);
  trace::counter_event counter;
  counter.time = 60;
  counter.counter = counter_row.id;
  counter.process = counter_row.process;
  counter.value = 2.5;
  out.add(counter);
  trace::marker_event mark;
  mark.name = out.intern("somewhere");
  mark.process = static_cast<trace::process_id>(1);
  out.add(mark);
  for (const std::uint64_t process : {1U, 2U}) {
    trace::alloc_event alloc;
    alloc.time = static_cast<trace::time_ns>(process);
    alloc.process = static_cast<trace::process_id>(process);
    alloc.block = static_cast<trace::block_id>(process);
    alloc.kind = trace::memory_kind::pinned;
    alloc.device = device.id;  // The device that is current during the call, although this is host memory.
    alloc.bytes = 1000 * process;
    out.add(alloc);
    if (process == 2) continue;
    // A block replaces another of the same size at the same time: there is no peak in between.
    alloc.time = 7;
    alloc.block = static_cast<trace::block_id>(3);
    out.add(alloc);
    trace::free_event gone;
    gone.time = 7;
    gone.process = alloc.process;
    gone.block = static_cast<trace::block_id>(1);
    out.add(gone);
  }
  EXPECT_TRUE(out.close());
  auto file = trace::file::open(folder.file("made.sluice"));
  EXPECT_TRUE(file);
  return *file;
}

std::string exported(const own_folder& folder, const char* format) {
  const auto source = recording(folder);
  const auto done = write(*source->latest(), *find_format(format), folder.file("out"), {});
  EXPECT_TRUE(done) << done.error().to_string();
  return testing::read_file(folder.file("out"));
}

TEST(viewers, perfetto_draws_an_arrow_from_a_launch_to_all_of_its_work) {
  const own_folder folder;
  const perfetto output(exported(folder, "perfetto"));
  EXPECT_THAT(output.arrows, ::testing::UnorderedElementsAre(std::pair("cudaGraphLaunch", "first(float*)"),
                                                             std::pair("cudaGraphLaunch", "second(float*)"),
                                                             std::pair("cudaGraphLaunch", "Memset")));
  EXPECT_EQ(output.loose_arrows, 0U);
}

TEST(viewers, perfetto_shows_marks_of_no_thread_below_their_process) {
  const own_folder folder;
  const perfetto output(exported(folder, "perfetto"));
  EXPECT_EQ(output.instants, std::vector<std::string>{"somewhere"});
  std::vector<std::string> parents;
  for (const auto& [id, track] : output.tracks)
    if (track.name == "Marks") parents.push_back(output.tracks.at(track.parent).name);
  EXPECT_EQ(parents, std::vector<std::string>{"process 77"});
}

TEST(viewers, perfetto_shows_counters_below_what_they_are_of) {
  const own_folder folder;
  const perfetto output(exported(folder, "perfetto"));
  std::map<std::string, std::string> parents;
  for (const auto& [id, track] : output.tracks)
    if (track.counter) parents[track.name] = output.tracks.at(track.parent).name;
  EXPECT_EQ(parents, (std::map<std::string, std::string>{{"driver pinned", "Memory of the host"},
                                                         {"queue bytes", "process 77"}}));
  EXPECT_EQ(output.counters.at("driver pinned"), (std::vector<double>{1000, 3000, 3000}));
}

class chrome_viewers : public ::testing::Test {
 protected:
  /// The events with this phase, and with this category if it is given.
  std::vector<json> events(std::string_view phase, std::string_view category = {}) const {
    std::vector<json> found;
    for (const json& event : document_["traceEvents"])
      if (event["ph"] == phase && (category.empty() || event.value("cat", "") == category)) found.push_back(event);
    return found;
  }

  own_folder folder_;
  json document_ = json::parse(exported(folder_, "chrome"));
};

TEST_F(chrome_viewers, no_time_is_below_zero) {
  for (const json& event : document_["traceEvents"]) EXPECT_GE(event["ts"].get<double>(), 0) << event;
  EXPECT_EQ(document_["baseTimeNanoseconds"], real - 500);
  EXPECT_EQ(events("X", "cuda_runtime").at(0)["ts"], 0.4);
}

TEST_F(chrome_viewers, no_name_is_empty) {
  std::set<std::string> processes;
  for (const json& event : events("M")) {
    EXPECT_NE(event["args"]["name"], "") << event;
    if (event["name"] == "process_name") processes.insert(event["args"]["name"]);
  }
  EXPECT_THAT(processes, Contains("NVIDIA H200 (GPU 0)"));
  EXPECT_EQ(processes.size(), 3U);
}

TEST_F(chrome_viewers, numbers_have32_bits_and_each_track_its_own) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> tracks;
  for (const json& event : events("X")) {
    EXPECT_LT(event["pid"], std::uint64_t{1} << 31U) << event;
    EXPECT_LT(event["tid"], std::uint64_t{1} << 31U) << event;
    EXPECT_NE(event["tid"], 0) << event;  // Thread 0 would be one thread for all processes.
    tracks.emplace(event["pid"], event["tid"]);
  }
  EXPECT_EQ(tracks.size(), 4U);  // Two threads and two streams.
}

TEST_F(chrome_viewers, nothing_is_of_thread_zero_which_is_one_for_all_processes) {
  for (const json& event : document_["traceEvents"]) {
    if (event["ph"] == "M" || event["ph"] == "C") continue;  // Metadata and counters belong to processes.
    EXPECT_NE(event["tid"], 0) << event;
    EXPECT_LT(event["pid"], std::uint64_t{1} << 31U) << event;
    EXPECT_LT(event["tid"], std::uint64_t{1} << 31U) << event;
  }
  EXPECT_EQ(events("i").size(), 1U) << "a mark without a thread";
}

TEST_F(chrome_viewers, an_arrow_begins_once_in_its_call_and_ends_in_all_of_its_work) {
  const auto begins = events("s"), ends = events("f");
  ASSERT_EQ(begins.size(), 1U);
  ASSERT_EQ(ends.size(), 3U);
  const json call = events("X", "cuda_runtime").at(0);
  for (const char* const field : {"ts", "pid", "tid"}) EXPECT_EQ(begins[0][field], call[field]);
  for (const json& end : ends) EXPECT_EQ(end["id"], begins[0]["id"]);
}

TEST_F(chrome_viewers, kernels_are_named_as_their_programmers_did) {
  EXPECT_EQ(events("X", "kernel").at(0)["name"], "first(float*)");
}

TEST_F(chrome_viewers, counters_say_their_unit) {
  const auto counters = events("C");
  ASSERT_EQ(counters.size(), 4U);
  EXPECT_EQ(counters[0]["name"], "queue");
  EXPECT_EQ(counters[0]["args"], (json{{"bytes", 2.5}}));
  // Totals are per process, because each process has its own counter of that name.
  std::map<std::uint64_t, std::vector<double>> pinned;
  for (const json& counter : counters)
    if (counter["name"] == "driver pinned, host") pinned[counter["pid"]].push_back(counter["args"]["bytes"]);
  EXPECT_EQ(pinned.at(77), (std::vector<double>{1000, 1000}));
  ASSERT_EQ(pinned.size(), 2U);
  EXPECT_EQ(pinned.rbegin()->second, std::vector<double>{2000});
}

}  // namespace
}  // namespace sluice::exports::viewers
