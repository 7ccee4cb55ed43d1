#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "app/demos/demo_run.hpp"
#include "core/trace/file/reader.hpp"

// Every demo runs and passes its own checks, and its recording shows what its description claims.

namespace sluice::demos {
namespace {

namespace fs = std::filesystem;

template <class Row>
std::vector<Row> all_of(const trace::snapshot& s) {
  std::vector<Row> rows;
  EXPECT_TRUE(s.for_each<Row>([&](const Row& row) { rows.push_back(row); }));
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return std::tie(a.time, a.id) < std::tie(b.time, b.id); });
  return rows;
}

class scratch_file {
 public:
  explicit scratch_file(const std::string& name)
      : path_((fs::temp_directory_path() / ("sluice_" + name + std::to_string(getpid()) + ".sluice")).string()) {}
  ~scratch_file() { fs::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::shared_ptr<const trace::snapshot> read() const {
    auto file = trace::file::open(path_);
    EXPECT_TRUE(file) << file.error().to_string();
    return file ? (*file)->latest() : nullptr;
  }

 private:
  std::string path_;
};

std::shared_ptr<const trace::snapshot> record(const std::string& name) {
  const scratch_file file("show_" + name);
  demo_options options;
  options.device = device_choice::simulated;
  options.output = file.path();
  const auto outcome = run_demo(*find(name), options);
  EXPECT_TRUE(outcome) << outcome.error().to_string();
  return file.read();
}

/// The recording of a demo, made on first use and shared by many tests.
std::shared_ptr<const trace::snapshot> recorded(const std::string& name) {
  static std::map<std::string, std::shared_ptr<const trace::snapshot>> recordings;
  const auto [place, fresh] = recordings.try_emplace(name);
  if (fresh) place->second = record(name);
  return place->second;
}

// --- every demo on every device ----------------------------------------------------------------------------

class every_demo : public ::testing::TestWithParam<std::tuple<device_choice, std::string>> {};
INSTANTIATE_TEST_SUITE_P(every, every_demo,
                         ::testing::Combine(::testing::Values(device_choice::simulated, device_choice::cuda),
                                            [] {
                                              std::vector<std::string> names;
                                              for (const demo& w : all()) names.emplace_back(w.name);
                                              return ::testing::ValuesIn(names);
                                            }()),
                         [](const auto& about) {
                           std::string name =
                               (std::get<0>(about.param) == device_choice::cuda ? "cuda_" : "simulated_") +
                               std::get<1>(about.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(every_demo, runs_verifies_its_results_and_leaves_a_small_whole_recording) {
  const auto& [device, name] = GetParam();
  if (device == device_choice::cuda && !runtime::is_available()) {
    GTEST_SKIP() << "skipped: no CUDA device (" << runtime::why_unavailable() << ")";
  }
  const scratch_file file(name);
  demo_options options;
  options.device = device;
  options.output = file.path();
  std::vector<std::string> said;
  options.say = [&](const std::string& line) { said.push_back(line); };
  const auto outcome = run_demo(*find(name), options);
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_FALSE(outcome->stopped);
  EXPECT_EQ(outcome->lost_events, 0u);
  EXPECT_LE(outcome->file_bytes, 1u << 20);
  EXPECT_FALSE(said.empty());
  const auto s = file.read();
  ASSERT_TRUE(s);
  EXPECT_TRUE(s->complete());
  EXPECT_EQ(s->simulated(), device == device_choice::simulated);
  const auto counters = all_of<trace::counter_event>(*s);
  ASSERT_FALSE(counters.empty());
  EXPECT_DOUBLE_EQ(counters.back().value, 1.0) << "it reports when it is done";
}

TEST_P(every_demo, stops_when_asked_and_the_file_is_whole) {
  const auto& [device, name] = GetParam();
  if (device == device_choice::cuda && !runtime::is_available()) {
    GTEST_SKIP() << "skipped: no CUDA device (" << runtime::why_unavailable() << ")";
  }
  const scratch_file file("stopped_" + name);
  std::stop_source stop;
  stop.request_stop();
  demo_options options;
  options.device = device;
  options.output = file.path();
  options.stop = stop.get_token();
  const auto outcome = run_demo(*find(name), options);
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_TRUE(outcome->stopped);
  const auto s = file.read();
  ASSERT_TRUE(s);
  EXPECT_TRUE(s->complete());
  for (const auto& c : all_of<trace::counter_event>(*s)) EXPECT_LT(c.value, 1.0);
}

TEST_P(every_demo, takes_the_simulated_time_that_its_pacing_rests_on) {
  const auto& [device, name] = GetParam();
  if (device != device_choice::simulated) GTEST_SKIP() << "real devices are not paced";
  const auto s = recorded(name);
  const double seconds = static_cast<double>(s->end() - s->begin()) / 1e9;
  EXPECT_NEAR(seconds, find(name)->simulated_seconds, 0.2 * seconds);
}

TEST_P(every_demo, says_what_it_shows_and_what_to_look_for) {
  const demo& w = *find(std::get<1>(GetParam()));
  EXPECT_GT(w.shows.size(), 20u);
  EXPECT_GT(w.look_for.size(), 20u);
}

TEST(demos, are_found_by_name_only) { EXPECT_EQ(find("nothing"), nullptr); }

TEST(demos, say_when_the_device_or_the_file_cannot_be_had) {
  demo_options options;
  options.device = device_choice::simulated;
  options.output = "/nonexistent/folder/x.sluice";
  const auto outcome = run_demo(*find("leak"), options);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, error_code::io);
  if (!runtime::is_available()) {
    const auto none = choose_device(device_choice::cuda);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, error_code::unavailable);
    EXPECT_NE(none.error().to_string().find("--device sim"), std::string::npos);
  }
}

TEST(demos, can_be_paced_and_stopped_in_the_middle) {
  const auto stop = std::make_unique<std::stop_source>();
  demo_options options;
  options.device = device_choice::simulated;
  options.wall_seconds = 3600;
  options.stop = stop->get_token();
  std::thread soon([&stop] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop->request_stop();
  });
  const auto outcome = run_demo(*find("overlap"), options);
  soon.join();
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->stopped);
}

// --- the claims of each demo -------------------------------------------------------------------------------

struct interval {
  trace::time_ns begin, end;
  [[nodiscard]] bool holds(trace::time_ns t) const { return begin <= t && t <= end; }
};

interval range_named(const trace::snapshot& s, std::string_view name) {
  for (const auto& r : all_of<trace::host_range_event>(s)) {
    if (s.tables().text(r.name) == name) return {r.time, r.end};
  }
  ADD_FAILURE() << "no range '" << name << "'";
  return {};
}

std::vector<interval> busy(const trace::snapshot& s, trace::direction way, interval within) {
  std::vector<interval> out;
  for (const auto& t : all_of<trace::transfer_event>(s)) {
    if (t.direction == way && within.holds(t.time)) out.push_back({t.time, t.end});
  }
  return out;
}

// The total time during which intervals of `a` and `b` overlap.
trace::time_ns measure_overlap(const std::vector<interval>& a, const std::vector<interval>& b) {
  trace::time_ns sum = 0;
  for (const interval& x : a) {
    for (const interval& y : b) sum += std::max<trace::time_ns>(0, std::min(x.end, y.end) - std::max(x.begin, y.begin));
  }
  return sum;
}

trace::time_ns total(const std::vector<interval>& a) {
  trace::time_ns sum = 0;
  for (const interval& x : a) sum += x.end - x.begin;
  return sum;
}

TEST(shows, overlap_of_both_directions_on_two_streams_and_none_on_one) {
  const auto s = recorded("overlap");
  const auto serial = range_named(*s, "serial"), two = range_named(*s, "two streams");
  const auto up = trace::direction::h2d, down = trace::direction::d2h;
  EXPECT_EQ(measure_overlap(busy(*s, up, serial), busy(*s, down, serial)), 0);
  EXPECT_GT(measure_overlap(busy(*s, up, two), busy(*s, down, two)), total(busy(*s, up, two)) / 4);
  EXPECT_LT(two.end - two.begin, (serial.end - serial.begin) * 2 / 3);
}

TEST(shows, a_file_pipeline_that_overlaps_and_a_loop_that_does_not) {
  const auto s = recorded("chunked-file");
  const auto plain = range_named(*s, "plain loop"), piped = range_named(*s, "pipeline");
  const auto up = trace::direction::h2d, down = trace::direction::d2h;
  EXPECT_EQ(measure_overlap(busy(*s, up, plain), busy(*s, down, plain)), 0);
  EXPECT_GT(measure_overlap(busy(*s, up, piped), busy(*s, down, piped)), 0);
  EXPECT_LT(piped.end - piped.begin, (plain.end - plain.begin) / 3);
  std::set<trace::thread_id> readers;
  for (const auto& io : all_of<trace::file_io_event>(*s)) {
    if (io.operation == trace::file_operation::read) readers.insert(io.thread);
  }
  EXPECT_EQ(readers.size(), 8u) << "each reader has its own track";
}

TEST(shows, pinned_copies_near_the_links_peak_and_pageable_ones_far_below) {
  const auto s = recorded("pinned-vs-pageable");
  const double peak = static_cast<double>(s->tables().devices.rows()[0].link_peak);
  std::map<trace::memory_kind, double> best;
  for (const auto& t : all_of<trace::transfer_event>(*s)) {
    if (t.direction != trace::direction::h2d) continue;
    double& b = best[t.source_kind];
    b = std::max(b, static_cast<double>(t.bytes) / static_cast<double>(t.end - t.time) * 1e9);
  }
  EXPECT_GT(best[trace::memory_kind::pinned], 0.85 * peak);
  EXPECT_LT(best[trace::memory_kind::host], 0.5 * peak);
}

TEST(shows, migrations_by_fault_and_by_prefetch_and_read_mostly_pages_only_once) {
  const auto s = recorded("managed-migration");
  std::map<trace::migration_cause, std::uint64_t> bytes;
  const auto read_mostly = range_named(*s, "read-mostly");
  std::uint64_t up_read_mostly = 0;
  for (const auto& m : all_of<trace::migration_event>(*s)) {
    bytes[m.cause] += m.bytes;
    if (read_mostly.holds(m.time) && m.direction == trace::direction::h2d) up_read_mostly += m.bytes;
  }
  EXPECT_EQ(bytes[trace::migration_cause::prefetch], 6u * (64u << 20)) << "three round trips";
  EXPECT_GE(bytes[trace::migration_cause::page_fault], 6u * (64u << 20));
  EXPECT_EQ(up_read_mostly, 64u << 20);
}

TEST(shows, a_pool_that_grows_breathes_and_is_trimmed) {
  const auto s = recorded("pool-churn");
  std::map<trace::pool_operation, int> operations;
  std::uint64_t peak = 0, min_after_peak = ~0u;
  for (const auto& p : all_of<trace::pool_event>(*s)) {
    ++operations[p.operation];
    EXPECT_LE(p.used, p.reserved);
    if (p.used > peak) peak = min_after_peak = p.used;
    min_after_peak = std::min(min_after_peak, p.used);
  }
  EXPECT_GE(operations[trace::pool_operation::grow], 3);
  EXPECT_GE(operations[trace::pool_operation::trim], 1);
  EXPECT_LT(min_after_peak, peak / 2);
}

TEST(shows, forty_forgotten_blocks_and_no_other_of_the_users) {
  const auto s = recorded("leak");
  std::map<trace::block_id, std::string> live;
  for (const auto& a : all_of<trace::alloc_event>(*s)) {
    if (a.layer == trace::layer::user) live[a.block] = s->tables().text(a.name);
  }
  for (const auto& f : all_of<trace::free_event>(*s)) live.erase(f.block);
  EXPECT_EQ(live.size(), 40u);
  for (const auto& [block, tag] : live) EXPECT_EQ(tag, "forgotten result");
}

std::vector<trace::kernel_event> kernels_in(const trace::snapshot& s, interval within) {
  std::vector<trace::kernel_event> out;
  for (const auto& k : all_of<trace::kernel_event>(s)) {
    if (within.holds(k.time)) out.push_back(k);
  }
  return out;
}

// The idle time of the stream between the first kernel and the last.
trace::time_ns gaps(const std::vector<trace::kernel_event>& kernels) {
  trace::time_ns sum = 0;
  for (std::size_t i = 1; i < kernels.size(); ++i) sum += kernels[i].time - kernels[i - 1].end;
  return sum;
}

TEST(shows, a_graph_that_does_with_ten_calls_what_a_thousand_launches_do) {
  const auto s = recorded("graph-replay");
  const auto launches = range_named(*s, "launches"), graph = range_named(*s, "graph");
  const auto calls = [&](interval within, std::string_view name) {
    int count = 0;
    for (const auto& call : all_of<trace::api_call_event>(*s)) {
      count += within.holds(call.time) && s->tables().text(call.name) == name;
    }
    return count;
  };
  EXPECT_EQ(calls(launches, "cuLaunchKernel"), 1000);
  EXPECT_EQ(calls(graph, "cuLaunchKernel"), 0);
  EXPECT_EQ(calls(graph, "cuGraphLaunch"), 10);
  int replays = 0;
  for (const auto& g : all_of<trace::graph_launch_event>(*s)) replays += graph.holds(g.time);
  EXPECT_EQ(replays, 10);
  EXPECT_LT(graph.end - graph.begin, (launches.end - launches.begin) * 2 / 3);
  EXPECT_GT(gaps(kernels_in(*s, launches)), 1000 * 100) << "the stream waits for the host";
}

TEST(shows, an_urgent_stream_whose_kernels_pass_the_batches) {
  const auto s = recorded("priority-streams");
  std::map<std::string, trace::time_ns> waited;
  for (const std::string name : {"same priority", "urgent"}) {
    const interval range = range_named(*s, name);
    trace::time_ns sum = 0;
    int requests = 0, beside = 0;
    const auto kernels = kernels_in(*s, range);
    for (const auto& k : kernels) {
      if (k.grid_x != 64) continue;  // a request: 16 Ki words
      ++requests;
      sum += k.time - k.enqueued;
      for (const auto& batch : kernels) beside += batch.grid_x != 64 && batch.time < k.time && k.end < batch.end;
    }
    EXPECT_EQ(requests, 4) << name;
    EXPECT_EQ(beside, name == "urgent" ? 4 : 0) << name << ": kernels that run during a batch";
    waited[name] = sum;
  }
  EXPECT_GT(waited["same priority"], 20 * waited["urgent"]);
  std::set<std::int64_t> priorities;
  for (const auto& stream : s->tables().streams.rows()) priorities.insert(stream.priority);
  EXPECT_GE(priorities.size(), 2u);
}

TEST(shows, mapped_memory_that_kernels_use_over_the_link) {
  const auto s = recorded("mapped-memory");
  const double peak = static_cast<double>(s->tables().devices.rows()[0].link_peak);
  const auto length = [&](const char* name) {
    const auto range = range_named(*s, name);
    return range.end - range.begin;
  };
  const auto mapped = range_named(*s, "mapped, one pass"), copied = range_named(*s, "copied, one pass");
  EXPECT_EQ(busy(*s, trace::direction::h2d, mapped).size(), 0u) << "nothing is copied";
  EXPECT_EQ(busy(*s, trace::direction::h2d, copied).size(), 1u);
  const auto there = kernels_in(*s, copied), over_the_link = kernels_in(*s, mapped);
  ASSERT_EQ(over_the_link.size(), 1u);
  EXPECT_GE(static_cast<double>(over_the_link[0].end - over_the_link[0].time), (32u << 20) / peak * 1e9);
  EXPECT_GT(over_the_link[0].end - over_the_link[0].time, 10 * (there[0].end - there[0].time));
  EXPECT_LT(length("mapped, one pass"), length("copied, one pass"));
  EXPECT_GT(length("mapped, eight passes"), 3 * length("copied, eight passes"));
  bool upload = false;
  for (const auto& a : all_of<trace::alloc_event>(*s)) {
    upload = upload || (s->tables().text(a.name) == "write-combined upload" && a.kind == trace::memory_kind::pinned);
  }
  EXPECT_TRUE(upload);
}

TEST(shows, a_stencil_that_stages_through_shared_memory) {
  const auto s = recorded("stencil");
  const auto direct = kernels_in(*s, range_named(*s, "direct")), staged = kernels_in(*s, range_named(*s, "staged"));
  ASSERT_EQ(direct.size(), 4u);
  ASSERT_EQ(staged.size(), 4u);
  EXPECT_EQ(direct[0].dynamic_shared, 0u);
  EXPECT_EQ(staged[0].dynamic_shared, 2u * (256 + 2 * 128) * 4) << "two tiles with their borders";
  EXPECT_EQ(s->tables().text(staged[0].name), "stencil_u32");
  EXPECT_LT(staged[0].end - staged[0].time, (direct[0].end - direct[0].time) / 2);
}

TEST(shows, the_same_in_every_run) {
  for (const std::string name : {"graph-replay", "priority-streams", "mapped-memory", "stencil", "leak", "pool-churn",
                                 "overlap", "pinned-vs-pageable", "managed-migration"}) {
    const auto subject = [](const trace::snapshot& s) {
      std::vector<std::tuple<trace::time_ns, trace::time_ns, std::uint64_t, std::uint64_t>> rows;
      for (const auto& t : all_of<trace::transfer_event>(s))
        rows.emplace_back(t.time, t.end, t.bytes, t.destination_address);
      for (const auto& a : all_of<trace::alloc_event>(s)) rows.emplace_back(a.time, 0, a.bytes, a.address);
      for (const auto& k : all_of<trace::kernel_event>(s)) rows.emplace_back(k.time, k.end, k.grid_x, 0);
      return rows;
    };
    EXPECT_EQ(subject(*recorded(name)), subject(*record(name))) << name;
  }
}

}  // namespace
}  // namespace sluice::demos
