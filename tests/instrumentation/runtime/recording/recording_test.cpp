#include "instrumentation/runtime/recording.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <tuple>
#include <vector>

#include "core/trace/file/reader.hpp"
#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/kernel.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "instrumentation/runtime/range.hpp"
#include "instrumentation/runtime/tags.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"
#include "tests/instrumentation/sizes.hpp"

// A recording contains everything that the runtime does: written by the runtime, read back by core.

namespace sluice::runtime {
namespace {

namespace fs = std::filesystem;

class recorded : public on_each_device {
 protected:
  void SetUp() override {
    on_each_device::SetUp();
    path = fs::temp_directory_path() / ("sluice_recorded_" + std::to_string(getpid()) + ".sluice");
  }
  void TearDown() override {
    on_each_device::TearDown();
    fs::remove(path);
  }

  [[nodiscard]] std::shared_ptr<const trace::snapshot> read() const {
    auto file = trace::file::open(path.string());
    EXPECT_TRUE(file) << file.error().to_string();
    return file ? (*file)->latest() : nullptr;
  }
  template <class Row>
  static std::vector<Row> all(const trace::snapshot& s) {
    std::vector<Row> rows;
    const auto done = s.for_each<Row>([&](const Row& row) { rows.push_back(row); });
    EXPECT_TRUE(done);
    std::sort(rows.begin(), rows.end(),
              [](const Row& a, const Row& b) { return std::tie(a.time, a.id) < std::tie(b.time, b.id); });
    return rows;
  }

  template <class Row>
  static std::vector<Row> of_pools(std::vector<Row> rows) {
    std::erase_if(rows, [](const Row& row) { return row.layer != trace::layer::pool; });
    return rows;
  }

  fs::path path;
};
SLUICE_ON_EACH_DEVICE(recorded);

TEST_P(recorded, files_open_and_name_the_device) {
  recording r(path.string(), device());
  EXPECT_THROW(recording(path.string(), device()), error) << "only one recording at a time";
  const auto summary = r.finish();
  EXPECT_EQ(summary.lost, 0u);
  const auto s = read();
  ASSERT_TRUE(s);
  EXPECT_TRUE(s->complete());
  EXPECT_EQ(s->simulated(), simulated());
  // Other devices are named only if the process uses them, so their number depends on what ran before.
  const auto& named = s->tables().devices.rows();
  ASSERT_LE(named.size(), simulated() ? 1U : devices().size());
  EXPECT_TRUE(std::any_of(named.begin(), named.end(),
                          [&](const auto& row) { return s->tables().text(row.name) == device().name(); }));
}

TEST_P(recorded, copies_say_their_direction_size_and_kinds) {
  recording r(path.string(), device());
  const bool exact_times = device().backend().driver_layer_recorded();
  const stream work;
  {
    const pinned_buffer pinned(2 * mib, work);
    std::vector<char> pageable(mib);
    const device_buffer a(2 * mib, work), b(2 * mib, work);
    copy_async(a.data(), pinned.data(), 2 * mib, work);
    copy_async(b.data(), a.data(), 2 * mib, work);
    copy_async(pageable.data(), b.data(), mib, work);
    work.sync();
  }
  r.finish();
  const auto copies = all<trace::transfer_event>(*read());
  ASSERT_EQ(copies.size(), 3u);
  EXPECT_EQ(copies[0].direction, trace::direction::h2d);
  EXPECT_EQ(copies[0].source_kind, trace::memory_kind::pinned);
  EXPECT_EQ(copies[0].bytes, 2 * mib);
  EXPECT_TRUE(copies[0].asynchronous);
  EXPECT_EQ(copies[1].direction, trace::direction::d2d);
  EXPECT_EQ(copies[2].direction, trace::direction::d2h);
  EXPECT_EQ(copies[2].destination_kind, trace::memory_kind::host);
  // Copies of pageable memory make the call wait; CUPTI classifies copies by the call's name.
  if (simulated() || !exact_times) {
    EXPECT_FALSE(copies[2].asynchronous);
  }
  for (const auto& c : copies) {
    EXPECT_GT(c.end, c.time);
    EXPECT_NE(c.call, trace::event_id::none) << "each copy has its call";
    EXPECT_EQ(c.stream, copies[0].stream);
    EXPECT_EQ(c.source, exact_times ? trace::provenance::exact : trace::provenance::estimated);
  }
  EXPECT_NE(copies[0].destination_block, trace::block_id::none) << "and the block it went to";
}

// With a capture library and CUPTI available, a program's own recording has the same content as `sluice record`,
// including a second recording in the same process, and releases CUPTI at its end.
TEST_P(recorded, has_its_device_times_from_the_capture_library) {
  if (simulated()) GTEST_SKIP() << "only for real devices";
  const char* expected = std::getenv("SLUICE_EXPECT_CAPTURE");
  if (expected == nullptr) GTEST_SKIP() << "skipped: no capture library named (SLUICE_EXPECT_CAPTURE)";
  for (int round = 0; round < 2; ++round) {
    recording r(path.string(), device());
    EXPECT_TRUE(device().backend().driver_layer_recorded());
    const stream work;
    {
      const device_buffer a(mib, work);
      set_async(a.data(), 1, mib, work);
      std::vector<char> host(mib);
      copy_async(host.data(), a.data(), mib, work);
      launch(kernels::affine_u32, launch_config::for_size(1024), work, a.as<std::uint32_t>().data(),
             std::uint64_t{1024}, 3u, 1u, 1u);
      work.sync();
    }
    EXPECT_TRUE(r.finish().warnings.empty());
    EXPECT_FALSE(device().backend().driver_layer_recorded());
    const auto s = read();
    const auto texts = [&](auto row, auto member) {
      std::vector<std::string> found;
      for (const auto& e : all<decltype(row)>(*s)) found.emplace_back(s->tables().text(e.*member));
      return found;
    };
    EXPECT_THAT(texts(trace::message_event{}, &trace::message_event::text),
                testing::Contains(testing::HasSubstr("recorded with CUPTI")));
    EXPECT_THAT(texts(trace::kernel_event{}, &trace::kernel_event::name), testing::ElementsAre("affine_u32"));
    EXPECT_THAT(texts(trace::api_call_event{}, &trace::api_call_event::name), testing::Contains("cuLaunchKernel"))
        << "names are sent again to each writer";
    EXPECT_THAT(texts(trace::touch_event{}, &trace::touch_event::name), testing::Contains("affine_u32"))
        << "and so are the names of touching kernels";
    const auto copies = all<trace::transfer_event>(*s);
    ASSERT_EQ(copies.size(), 1u);
    EXPECT_EQ(copies[0].source, trace::provenance::exact);
    EXPECT_NE(copies[0].source_block, trace::block_id::none);
    EXPECT_EQ(all<trace::memset_event>(*s).size(), 1u);
    EXPECT_GT(all<trace::watermark_event>(*s).size(), 0u);
    ASSERT_EQ(s->tables().devices.rows().size(), 1u);
    ASSERT_EQ(s->tables().contexts.rows().size(), 1u) << "the context existed before";
    EXPECT_EQ(copies[0].context, s->tables().contexts.rows()[0].id);
  }
}

TEST_P(recorded, blocks_nest_in_layers_and_every_free_is_there) {
  recording r(path.string(), device());
  bool mapped = false;
  {
    const auto pool = std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(device()),
                                                             pool_options{.growth_bytes = 4 * mib, .name = "mine"});
    mapped = pool->grows_by_mapping();
    const stream_ref s(device());
    const device_buffer a(1000, s, pool, "first"), b(mib, s, pool, "second");
  }
  r.finish();
  const auto s = read();
  std::map<trace::layer, std::vector<trace::alloc_event>> by_layer;
  std::map<trace::block_id, trace::alloc_event> by_block;
  for (const auto& a : all<trace::alloc_event>(*s)) {
    by_layer[a.layer].push_back(a);
    by_block[a.block] = a;
  }
  // A block; or, if the pool maps its memory, an address range, physical memory and their mapping.
  ASSERT_EQ(by_layer[trace::layer::driver].size(), mapped ? 3u : 1u);
  ASSERT_EQ(by_layer[trace::layer::pool].size(), 2u);
  ASSERT_EQ(by_layer[trace::layer::user].size(), 2u);
  for (const auto& user : by_layer[trace::layer::user]) {
    ASSERT_TRUE(by_block.count(user.parent)) << "a user's block is in a pool's block";
    EXPECT_EQ(by_block[user.parent].layer, trace::layer::pool);
    EXPECT_EQ(by_block[by_block[user.parent].parent].layer, trace::layer::driver) << "and that in a segment";
  }
  EXPECT_EQ(by_layer[trace::layer::pool][0].bytes, 1000u);
  EXPECT_EQ(by_layer[trace::layer::pool][0].reserved_bytes, 1024u);
  EXPECT_EQ(s->tables().text(by_layer[trace::layer::user][0].name), "first");
  EXPECT_EQ(all<trace::free_event>(*s).size(), by_block.size());
}

TEST_P(recorded, pools_say_their_size_when_it_changes_and_their_blocks_say_the_rest) {
  recording r(path.string(), device());
  {
    pool_memory_resource pool(std::make_shared<device_memory_resource>(device()),
                              {.growth_bytes = 4 * mib, .name = "mine"});
    const stream_ref s(device());
    for (int i = 0; i < 100; ++i) pool.deallocate(s, pool.allocate(s, mib), mib);
    pool.trim();
  }
  r.finish();
  const auto s = read();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> sizes;
  for (const auto& e : all<trace::pool_event>(*s)) {
    const auto* pool = s->tables().pools.find(e.pool);
    ASSERT_NE(pool, nullptr);
    if (s->tables().text(pool->name) == "mine") sizes.emplace_back(e.reserved, e.used);
  }
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> expected = {{4 * mib, 0}, {4 * mib, mib}, {0, 0}};
  EXPECT_EQ(sizes, expected);
  std::size_t blocks = 0, freed = 0;
  for (const auto& a : all<trace::alloc_event>(*s)) blocks += a.layer == trace::layer::pool ? 1 : 0;
  for (const auto& f : all<trace::free_event>(*s)) freed += f.layer == trace::layer::pool ? 1 : 0;
  EXPECT_EQ(blocks, 100u);
  EXPECT_EQ(freed, 100u);
}

// A hit writes a short record, and a miss writes a full record.
TEST_P(recorded, hits_say_what_misses_say) {
  recording r(path.string(), device());
  {
    pool_memory_resource mapped(std::make_shared<device_memory_resource>(device()), {.name = "mapped"});
    pool_memory_resource of_blocks(std::make_shared<device_memory_resource>(device()),
                                   {.ipc_capable = true, .name = "of blocks"});
    pinned_pool_resource pinned(device(), {.name = "pinned"});
    const stream s(device()), t(device());
    const auto twice = [&](pool_memory_resource& pool, const stream_ref& on) {
      for (int i = 0; i < 2; ++i) pool.deallocate(on, pool.allocate(on, 1000), 1000);
    };
    for (pool_memory_resource* pool : {&mapped, &of_blocks, static_cast<pool_memory_resource*>(&pinned)}) {
      twice(*pool, s);
      const scoped_tag tag("tagged");
      twice(*pool, t);
      twice(*pool, stream_ref(device()));
    }
  }
  r.finish();
  const auto snapshot = read();
  const auto allocs = of_pools(all<trace::alloc_event>(*snapshot));
  const auto frees = of_pools(all<trace::free_event>(*snapshot));
  ASSERT_EQ(allocs.size(), 18u);
  ASSERT_EQ(frees.size(), 18u);
  for (std::size_t i = 0; i < allocs.size(); i += 2) {
    const trace::alloc_event &miss = allocs[i], &hit = allocs[i + 1];
    const bool on_device = i < 12;  // host memory is queried each time: never a hit
    if (on_device) {
      EXPECT_EQ(hit.call_begin, hit.time) << i;
    }
    EXPECT_EQ(hit.address, miss.address) << i;
    EXPECT_EQ(hit.bytes, 1000u) << i;
    EXPECT_EQ(hit.reserved_bytes, 1024u) << i;
    EXPECT_EQ(hit.reserved_bytes, miss.reserved_bytes) << i;
    EXPECT_EQ(hit.kind, miss.kind) << i;
    EXPECT_EQ(hit.kind, on_device ? trace::memory_kind::device : trace::memory_kind::pinned) << i;
    EXPECT_EQ(hit.parent, miss.parent) << i;
    EXPECT_NE(hit.parent, trace::block_id::none) << i;
    EXPECT_EQ(hit.device, miss.device) << i;
    EXPECT_EQ(hit.context, miss.context) << i;
    EXPECT_EQ(hit.stream, miss.stream) << i;
    EXPECT_EQ(hit.pool, miss.pool) << i;
    EXPECT_EQ(hit.stack, miss.stack) << i;
    EXPECT_EQ(hit.flags, miss.flags) << i;
    EXPECT_EQ(hit.thread, miss.thread) << i;
    EXPECT_EQ(hit.name, miss.name) << i;
    const std::string pool(snapshot->tables().text(snapshot->tables().pools.find(hit.pool)->name));
    EXPECT_EQ(snapshot->tables().text(hit.name), i % 6 == 0 ? pool : "tagged") << i;
    EXPECT_EQ(frees[i].stream, miss.stream) << i;
    EXPECT_EQ(frees[i + 1].stream, hit.stream) << i;
    EXPECT_EQ(frees[i + 1].block, hit.block) << i;
    EXPECT_EQ(frees[i + 1].source, trace::provenance::exact) << i;
  }
}

TEST_P(recorded, failed_allocations_are_events_too) {
  recording r(path.string(), device());
  pool_memory_resource pool(std::make_shared<device_memory_resource>(device()), {.limit_bytes = mib});
  EXPECT_THROW((void)pool.allocate(stream_ref(device()), 2 * mib), out_of_memory);
  r.finish();
  const auto failed = all<trace::alloc_failed_event>(*read());
  ASSERT_FALSE(failed.empty());
  EXPECT_EQ(failed.back().bytes, 2 * mib);
  EXPECT_EQ(failed.back().layer, trace::layer::pool);
}

TEST_P(recorded, kernels_sets_ranges_steps_and_counters_are_there) {
  recording r(path.string(), device());
  {
    const scoped_range outer("outer");
    const counter progress("progress", trace::counter_unit::fraction);
    const stream_ref s(device());
    const device_buffer a(4096, s);
    step(3);
    set_async(a.data(), 1, 4096, s);
    launch(kernels::affine_u32, launch_config::for_size(1024), s, a.as<std::uint32_t>().data(), std::uint64_t{1024}, 3u,
           1u, 1u);
    progress.set(0.5);
    s.sync();
    mark("here");
  }
  r.finish();
  const auto s = read();
  const auto kernels = all<trace::kernel_event>(*s);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(s->tables().text(kernels[0].name), "affine_u32");
  EXPECT_EQ(kernels[0].grid_x, 4u);
  EXPECT_EQ(kernels[0].block_x, 256u);
  ASSERT_EQ(all<trace::memset_event>(*s).size(), 1u);
  const auto ranges = all<trace::host_range_event>(*s);
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(s->tables().text(ranges[0].name), "outer");
  EXPECT_GT(ranges[0].end, ranges[0].time);
  const auto markers = all<trace::marker_event>(*s);
  ASSERT_EQ(markers.size(), 2u);
  EXPECT_EQ(markers[0].step, 3);
  EXPECT_EQ(s->tables().text(markers[1].name), "here");
  const auto counters = all<trace::counter_event>(*s);
  ASSERT_EQ(counters.size(), 1u);
  EXPECT_EQ(counters[0].value, 0.5);
  EXPECT_EQ(s->tables().text(s->tables().counters.find(counters[0].counter)->name), "progress");
}

TEST_P(recorded, what_was_there_before_is_known_to_be_older) {
  const stream_ref s(device());
  const auto pool = std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(device()));
  device_buffer before(mib, s, pool);
  recording r(path.string(), device());
  before.reset();
  r.finish();
  const auto snapshot = read();
  bool seen = false;
  for (const auto& a : all<trace::alloc_event>(*snapshot)) {
    if (a.layer != trace::layer::pool) continue;
    seen = true;
    EXPECT_TRUE(a.flags & trace::born_before);
    EXPECT_EQ(a.bytes, mib);
  }
  EXPECT_TRUE(seen);
}

#if !defined(__SANITIZE_THREAD__)  // The thread sanitizer ends a forked child that starts a thread.
TEST(recording, of_a_pool_goes_on_in_a_forks_child) {
  const device_ref device(backend::make_simulated_device());
  const std::string path = fs::temp_directory_path() / ("sluice_forked_" + std::to_string(getpid()) + ".sluice");
  {
    recording r(path, device);
    pool_memory_resource pool(std::make_shared<device_memory_resource>(device), {.name = "inherited"});
    const stream s(device);
    const stream_ref on(s);
    const auto hit = [&] { pool.deallocate(on, pool.allocate(on, mib), mib); };
    hit();
    hit();
    const pid_t child = fork();
    if (child == 0) {
      hit();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    hit();
    EXPECT_EQ(r.finish().lost, 0u);
  }
  const auto file = trace::file::open(path);
  ASSERT_TRUE(file);
  const auto s = (*file)->latest();
  std::map<trace::process_id, std::size_t> blocks;
  (void)s->for_each<trace::alloc_event>([&](const trace::alloc_event& a) {
    if (a.layer != trace::layer::pool) return;
    ++blocks[a.process];
    EXPECT_EQ(s->tables().text(a.name), "inherited");
    EXPECT_EQ(a.bytes, mib);
  });
  const std::map<trace::process_id, std::size_t> expected = {{trace::process_id{1}, 3}, {trace::process_id{2}, 1}};
  EXPECT_EQ(blocks, expected);
  fs::remove(path);
}
#endif

TEST(recording, tells_the_pools_of_different_devices_apart) {
  const device_ref a(backend::make_simulated_device()), b(backend::make_simulated_device());
  const std::string path = fs::temp_directory_path() / ("sluice_pools_" + std::to_string(getpid()) + ".sluice");
  {
    recording r(path, a);
    const auto find_pool = [](const device_ref& d, const char* name) {
      return std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(d),
                                                    pool_options{.name = name});
    };
    const auto pool_a = find_pool(a, "pool-a"), pool_b = find_pool(b, "pool-b");
    const device_buffer x(mib, stream_ref(a), pool_a), y(3 * mib, stream_ref(b), pool_b);
    r.finish();
  }
  const auto file = trace::file::open(path);
  ASSERT_TRUE(file);
  const auto s = (*file)->latest();
  std::map<std::string, std::uint64_t> bytes;
  (void)s->for_each<trace::alloc_event>([&](const trace::alloc_event& e) {
    if (e.layer == trace::layer::pool)
      bytes[std::string(s->tables().text(s->tables().pools.find(e.pool)->name))] += e.bytes;
  });
  const std::map<std::string, std::uint64_t> expected = {{"pool-a", mib}, {"pool-b", 3 * mib}};
  EXPECT_EQ(bytes, expected);
  fs::remove(path);
}

TEST_P(recorded, buffers_of_an_earlier_recording_have_no_block_to_free_in_a_later_one) {
  const stream_ref s(device());
  device_buffer kept;
  {
    recording r(path.string(), device());
    kept = device_buffer(mib, s, "kept");
    r.finish();
  }
  recording r(path.string(), device());
  kept.reset();
  { const device_buffer own(mib, s, "own"); }
  r.finish();
  const auto frees = all<trace::free_event>(*read());
  EXPECT_EQ(std::count_if(frees.begin(), frees.end(), [](const auto& f) { return f.layer == trace::layer::user; }), 1);
}

TEST(recording, cannot_be_made_where_no_file_can) {
  const device_ref device(backend::make_simulated_device());
  EXPECT_THROW(recording("/nonexistent/folder/x.sluice", device), error);
  EXPECT_NO_THROW(device_buffer(64, stream_ref(device)));
}

// Everything in a simulated trace except the recording process, as text.
std::vector<std::string> reported(const std::string& path) {
  const auto file = trace::file::open(path);
  EXPECT_TRUE(file);
  const auto s = (*file)->latest();
  std::vector<std::string> lines;
  const auto say = [&](auto... values) {
    std::string line;
    ((line += std::to_string(values) + " "), ...);
    lines.push_back(line);
  };
  using trace::raw;
  (void)s->for_each<trace::alloc_event>([&](const auto& e) {
    say(1, e.time, raw(e.block), raw(e.parent), e.address, e.bytes, e.reserved_bytes, e.call_begin, raw(e.stream),
        e.correlation);
  });
  (void)s->for_each<trace::free_event>([&](const auto& e) { say(2, e.time, raw(e.block), e.address, e.completed); });
  (void)s->for_each<trace::transfer_event>([&](const auto& e) {
    say(3, e.time, e.end, e.bytes, e.source_address, e.destination_address, raw(e.stream), e.enqueued, e.correlation);
  });
  (void)s->for_each<trace::kernel_event>(
      [&](const auto& e) { say(4, e.time, e.end, raw(e.stream), e.grid_x, e.correlation); });
  (void)s->for_each<trace::pool_event>([&](const auto& e) { say(5, e.time, e.reserved, e.used); });
  (void)s->for_each<trace::api_call_event>([&](const auto& e) { say(6, e.time, e.end, e.bytes, e.correlation); });
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(recording, tells_the_same_of_two_runs_on_the_simulated_device) {
  const auto run = [](const std::string& name) {
    const device_ref device(backend::make_simulated_device());
    const std::string path = fs::temp_directory_path() / (name + std::to_string(getpid()) + ".sluice");
    {
      recording r(path, device);
      const auto pool = std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(device));
      const stream s(device), t(device);
      const pinned_buffer host(mib, s);
      std::vector<device_buffer> live;
      for (std::size_t i = 0; i < 200; ++i) {
        const stream_ref on(i % 3 == 0 ? s : t);
        live.emplace_back(1000 + i * 7919 % 300'000, on, pool);
        copy_async(live.back().data(), host.data(), live.back().size_bytes(), on);
        launch(kernels::affine_u32, launch_config::for_size(100), on, live.back().as<std::uint32_t>().data(),
               std::uint64_t{100}, 3u, 1u, 9u);
        if (live.size() > 10) live.erase(live.begin() + static_cast<std::ptrdiff_t>(i % 7));
      }
    }
    auto lines = reported(path);
    fs::remove(path);
    return lines;
  };
  const auto first = run("sluice_first"), second = run("sluice_second");
  EXPECT_GT(first.size(), 1000u);
  EXPECT_EQ(first, second);
}

}  // namespace
}  // namespace sluice::runtime
