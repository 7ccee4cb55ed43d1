// After a ring overflows, the process sends its live set, and the writer repairs the recording from it.
#include <gmock/gmock.h>

#include <ctime>
#include <vector>

#include "tests/instrumentation/writer/record_decoder_fixture.hpp"

namespace sluice::writer {
namespace {

class live_sets : public record_decoder_test {
 protected:
  static constexpr std::uint64_t block_bytes = 512;

  void define_pool(thread& t, std::uint64_t key, layer layer, time_ns time = 1) {
    ring::pool_record pool{};
    pool.pool = key;
    pool.device = ring::no_device;
    pool.layer = static_cast<std::uint8_t>(layer);
    put(t, time, pool);
  }
  void alloc_in(thread& t, std::uint64_t pool, time_ns time, std::uint64_t address, layer layer = layer::pool) {
    ring::alloc_record r{};
    r.address = address;
    r.bytes = block_bytes;
    r.pool = pool;
    r.device = ring::no_device;
    r.layer = static_cast<std::uint8_t>(layer);
    r.kind = static_cast<std::uint8_t>(memory_kind::device);
    put(t, time, r);
  }
  void lose(thread& t, time_ns begin, time_ns end, ring::layer_bits layers = 0) {
    ring::loss_record loss{};
    loss.events = loss.memory_events = 1;
    loss.end = raw_time(end);
    loss.layers = layers;
    put(t, begin, loss);
  }
  /// Sends one part of a live set of pool blocks.
  void say(thread& t, time_ns time, std::uint32_t place, const std::vector<std::uint64_t>& addresses = {}) {
    say_in(t, time, place, addresses, ring::live_set_record{}, ring::record_type::live_set);
  }
  void say_of(thread& t, std::uint64_t pool, time_ns time, std::uint32_t place,
              const std::vector<std::uint64_t>& addresses = {}) {
    ring::pool_live_set_record r{};
    r.pool = pool;
    say_in(t, time, place, addresses, r, ring::record_type::pool_live_set);
  }
  /// Sends a pool's whole live set at once.
  void say_all_of(thread& t, std::uint64_t pool, time_ns time, const std::vector<std::uint64_t>& addresses = {}) {
    say_of(t, pool, time, ring::live_set_begins);
    say_of(t, pool, time, ring::live_set_ends, addresses);
  }

 private:
  template <class Record>
  void say_in(thread& t, time_ns time, std::uint32_t place, const std::vector<std::uint64_t>& addresses, Record r,
              ring::record_type type) {
    std::vector<std::uint64_t> words;
    for (const std::uint64_t address : addresses) words.insert(words.end(), {address, block_bytes, what});
    r.header.time = raw_time(time);
    r.count = static_cast<std::uint32_t>(addresses.size());
    r.last = place;
    ASSERT_TRUE(t.pair.producer.put(&r.header, type, sizeof r, words.data(), words.size() * sizeof words[0]));
  }

  static constexpr auto what = static_cast<std::uint64_t>(layer::pool) |
                               static_cast<std::uint64_t>(memory_kind::device) << 8 |
                               std::uint64_t{ring::no_device} << 16;
};

// The capture library knows only the driver's blocks, not what a pool of the runtime made from them.
TEST_F(live_sets, say_nothing_of_pools_that_their_sender_does_not_know) {
  thread& t = add_thread();
  define_pool(t, 1, layer::driver);
  define_pool(t, 2, layer::pool);
  alloc_in(t, 1, 10, 0x1000);
  alloc_in(t, 1, 10, 0x2000);
  alloc_in(t, 2, 10, 0x3000);
  lose(t, 20, 25);
  turns(2);
  present_ = 1'000'000'000;
  say(t, present_, ring::live_set_begins);
  say(t, present_ + 10, ring::live_set_ends, {0x1000});
  const recorded& trace = finish();
  const auto frees = trace.all<free_event>();
  ASSERT_EQ(frees.size(), 1u);
  EXPECT_EQ(frees[0].address, 0x2000u);
  EXPECT_EQ(frees[0].source, provenance::inferred);
  EXPECT_EQ(trace.all<checkpoint_event>().back().blocks, 2u);
  EXPECT_FALSE(trace.all<checkpoint_event>().back().exact) << "the runtime's pool has not sent its blocks";
}

// A pool's owner sends all blocks of that pool and none of others. Freed pool blocks take their users' blocks with
// them.
TEST_F(live_sets, of_a_pool_speak_of_that_pool_alone) {
  thread& t = add_thread();
  for (const std::uint64_t address : {0x1000u, 0x2000u}) {
    alloc_in(t, 1, 10, address);
    alloc_in(t, 0, 10, address, layer::user);
  }
  alloc_in(t, 2, 10, 0x3000);
  alloc_in(t, 0, 10, 0x3000, layer::user);
  turns(2);
  present_ = 1'000'000'000;
  // Live sets of two pools may arrive interleaved.
  say_of(t, 1, present_, ring::live_set_begins);
  say_of(t, 2, present_, ring::live_set_begins);
  say_of(t, 1, present_, ring::live_set_part, {0x1000});
  say_of(t, 2, present_, ring::live_set_part, {0x3000});
  say_of(t, 1, present_, ring::live_set_ends);
  say_of(t, 2, present_, ring::live_set_ends);
  const recorded& trace = finish();
  const auto frees = trace.all<free_event>();
  ASSERT_EQ(frees.size(), 2u);
  for (const free_event& f : frees) {
    EXPECT_EQ(f.address, 0x2000u);
    EXPECT_EQ(f.source, provenance::inferred);
  }
  EXPECT_EQ(trace.all<checkpoint_event>().back().blocks, 4u);
}

// A process that loses events repeatedly sends its live set repeatedly: if each was stored in full, these would be most
// of the file.
TEST_F(live_sets, are_followed_by_a_checkpoint_once_enough_has_happened) {
  thread& t = add_thread();
  std::vector<std::uint64_t> live;
  for (std::uint64_t i = 1; i <= 100; ++i) live.push_back(i << 12);
  for (const std::uint64_t address : live) alloc_in(t, 0, 10, address);
  turns(2);
  constexpr int times = 50;
  for (int i = 0; i < times; ++i) {
    lose(t, present_, present_ + 1);
    turns(3);
    say(t, present_, ring::live_set_begins);
    say(t, present_, ring::live_set_ends, live);
    turns(2);
    EXPECT_FALSE(process_->doubts.any());
  }
  EXPECT_LT(file_->events(), 8 * live.size());
  for (std::uint64_t i = 0; i < 8 * live.size(); ++i) {
    alloc_in(t, 0, present_, 0xf0000000);
    free(t, present_, 0xf0000000, layer::pool);
  }
  turns(2);
  const recorded& trace = finish();
  const auto checkpoints = trace.all<checkpoint_event>();
  EXPECT_EQ(checkpoints.size(), 3u) << "after the first loss, after enough further events, and at the end";
  EXPECT_FALSE(checkpoints.front().exact);
  for (std::size_t i = 1; i < checkpoints.size(); ++i) {
    EXPECT_TRUE(checkpoints[i].exact);
    EXPECT_EQ(checkpoints[i].blocks, live.size());
  }
}

class live_sets_of_copies : public live_sets {
 protected:
  static constexpr ring::layer_bits pool_layer = ring::layer_bit(layer::pool);
  static constexpr time_ns reported = 2 * ring::live_set_motion_ns;
  thread& capture = add_thread(*process_, 1);
  thread& program = add_thread(*process_, 2);
  thread& library = add_thread(*process_, 3);

  void say_complete(thread& t, time_ns since, time_ns time) {
    ring::live_sets_complete_record r{};
    r.since = raw_time(since);
    put(t, time, r);
  }
  void say_complete(thread& t, time_ns since) { say_complete(t, since, since); }
  bool exact() {
    turns(2);
    return !process_->doubts.any();
  }
};

TEST_F(live_sets_of_copies, make_the_live_set_exact_once_all_pools_have_reported_theirs) {
  define_pool(program, 1, layer::pool);
  define_pool(program, 2, layer::pool);
  alloc_in(program, 1, 10, 0x1000);
  alloc_in(program, 2, 10, 0x2000);
  lose(program, 20, 25, pool_layer);
  EXPECT_FALSE(exact());
  present_ = 1'000'000'000;
  const time_ns before = present_;
  say_all_of(program, 1, before + 1, {0x1000});
  say_all_of(program, 2, before + 2, {0x2000});
  EXPECT_FALSE(exact()) << "there may be a third pool";
  say_all_of(program, 1, before + 11, {0x1000});
  say_all_of(program, 2, before + 12, {0x2000});
  say_complete(program, before + 10, before + 20);
  EXPECT_TRUE(exact());
  const recorded& trace = finish();
  EXPECT_TRUE(trace.all<free_event>().empty());
  EXPECT_FALSE(trace.all<checkpoint_event>().front().exact);
  EXPECT_TRUE(trace.all<checkpoint_event>().back().exact);
  EXPECT_EQ(trace.all<checkpoint_event>().back().blocks, 2u);
}

// A ring reports its losses when there is room again, so the live set may arrive before the report.
TEST_F(live_sets_of_copies, make_good_what_was_lost_before_them_and_nothing_else) {
  say_complete(program, reported);
  EXPECT_TRUE(exact());
  lose(program, 20, 25, pool_layer);
  EXPECT_TRUE(exact());
  lose(program, 30, reported - ring::live_set_motion_ns + 1, pool_layer);
  EXPECT_FALSE(exact()) << "later changes were not sent";
}

TEST_F(live_sets_of_copies, leave_in_doubt_what_their_copy_would_not_have_reported) {
  lose(program, 20, 25, pool_layer);
  lose(library, 20, 25, pool_layer);
  lose(capture, 20, 25, ring::layer_bit(layer::driver) | ring::layer_bit(layer::framework));
  say_complete(program, reported);
  EXPECT_FALSE(exact());
  say(capture, reported, ring::live_set_begins);
  say(capture, reported + 10, ring::live_set_ends);
  EXPECT_FALSE(exact());
  say_complete(library, reported);
  EXPECT_TRUE(exact());
}

// The lost pool_stream concerns only its sender's pools.
TEST_F(live_sets_of_copies, make_good_what_was_of_lanes_that_nobody_introduced) {
  ring::pool_stream_free_record of_no_pool_stream{};
  of_no_pool_stream.address = 0x1000;
  put(program, 20, of_no_pool_stream);
  put(library, 25, of_no_pool_stream);
  EXPECT_FALSE(exact());
  say_complete(program, reported);
  EXPECT_FALSE(exact()) << "the library has not sent its own blocks";
  say_complete(library, reported);
  EXPECT_TRUE(exact());
  const recorded& trace = finish();
  const auto losses = trace.all<loss_event>();
  ASSERT_EQ(losses.size(), 2u);
  EXPECT_EQ(losses[0].events, 1u);
  EXPECT_EQ(losses[1].events, 1u);
  EXPECT_TRUE(trace.all<checkpoint_event>().back().exact);
}

TEST_F(live_sets_of_copies, leave_in_doubt_layers_that_nobody_tells) {
  lose(program, 20, 25, pool_layer | ring::layer_bit(layer::user));
  say_complete(program, reported);
  EXPECT_FALSE(exact());
}

TEST_F(live_sets_of_copies, of_the_driver_do_not_say_what_pools_lost) {
  define_pool(program, 2, layer::pool);
  alloc_in(program, 2, 10, 0x3000);
  lose(capture, 20, 25, ring::layer_bit(layer::driver));
  turns(2);
  say(capture, reported, ring::live_set_begins);
  say(capture, reported + 10, ring::live_set_ends);
  EXPECT_TRUE(exact()) << "all of the pool's blocks were sent";
  lose(program, reported + 20, reported + 25, pool_layer);
  say(capture, 3 * reported, ring::live_set_begins);
  say(capture, 3 * reported + 10, ring::live_set_ends);
  EXPECT_FALSE(exact());
}

TEST_F(live_sets_of_copies, end_what_pools_held_that_are_gone) {
  define_pool(program, 1, layer::pool);
  define_pool(library, 2, layer::pool);
  alloc_in(program, 1, 10, 0x1000);
  alloc_in(library, 2, 10, 0x2000);
  lose(program, 20, 25, pool_layer);
  turns(2);
  present_ = 1'000'000'000;
  define_pool(program, 3, layer::pool, present_ + 1);
  alloc_in(program, 3, present_ + 2, 0x3000);
  turns(2);
  say_complete(program, 1'000'000'000);
  const recorded& trace = finish();
  const auto frees = trace.all<free_event>();
  ASSERT_EQ(frees.size(), 1u);
  EXPECT_EQ(frees[0].address, 0x1000u);
  EXPECT_EQ(frees[0].source, provenance::inferred);
  EXPECT_TRUE(trace.all<checkpoint_event>().back().exact);
}

// A program that creates a pool per request has reported thousands of pools that no longer exist.
TEST_F(live_sets_of_copies, end_all_pools_that_are_gone_at_once) {
  constexpr std::uint64_t pools = 10'000, blocks_each_turn = 5'000, turns_of_blocks = 4;
  for (std::uint64_t i = 1; i <= turns_of_blocks * blocks_each_turn; ++i) {
    alloc(program, 10, i << 20, block_bytes);
    if (i % blocks_each_turn == 0) turn();
  }
  for (std::uint64_t key = 1; key <= pools; ++key) {
    define_pool(program, key, layer::pool, 20);
    if (key % blocks_each_turn == 0) turn();
  }
  alloc_in(program, 1, 30, 0x1000);
  alloc_in(program, pools, 30, 0x2000);
  turns(2);
  present_ = 1'000'000'000;
  const std::clock_t begin = std::clock();  // CPU time, which does not depend on the machine's other load.
  say_complete(program, present_);
  turns(2);
  EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, 2);
  const recorded& trace = finish();
  EXPECT_EQ(trace.all<free_event>().size(), 2u);
  EXPECT_EQ(trace.all<checkpoint_event>().back().blocks, turns_of_blocks * blocks_each_turn);
}

TEST_F(live_sets_of_copies, are_forgotten_once_they_have_ended_or_their_pool_is_gone) {
  define_pool(program, 1, layer::pool);
  define_pool(program, 2, layer::pool);
  say_all_of(program, 1, reported);
  say_of(program, 2, reported, ring::live_set_begins);
  say_of(program, 2, reported, ring::live_set_part, {0x1000});
  say_of(program, 3, reported, ring::live_set_part, {0x1000});
  say_of(program, 4, reported, ring::live_set_ends);
  turns(2);
  EXPECT_EQ(process_->pool_live_sets.size(), 1u);
  say_complete(program, 2 * reported);
  turns(2);
  EXPECT_TRUE(process_->pool_live_sets.empty());
}

TEST_F(live_sets_of_copies, that_never_end_are_dropped_and_leave_everything_in_doubt) {
  define_pool(program, 1, layer::pool);
  alloc_in(program, 1, 10, 0x1000);
  alloc_in(capture, 0, 10, 0x2000, layer::driver);
  lose(program, 20, 25, pool_layer);
  turns(2);
  const std::vector<std::uint64_t> some(ring::max_in_live_set_part, 0x3000);
  constexpr int parts_each_turn = 50;
  constexpr auto turns_to_most = 2 * max_received_blocks / (parts_each_turn * ring::max_in_live_set_part);
  present_ = 1'000'000'000;
  const time_ns looked_up = present_;
  say_of(program, 1, looked_up, ring::live_set_begins);
  say(capture, looked_up, ring::live_set_begins);
  for (std::size_t i = 0; i < turns_to_most + 2; ++i) {
    for (int part = 0; part < parts_each_turn; ++part) {
      say_of(program, 1, looked_up, ring::live_set_part, some);
      say(capture, looked_up, ring::live_set_part, some);
    }
    turn();
    std::size_t held = process_->live_set.blocks.capacity();
    for (const auto& [pool, set] : process_->pool_live_sets) held += set.blocks.capacity();
    ASSERT_LE(held, 3 * max_received_blocks);
  }
  turns(2);
  say_of(program, 1, looked_up, ring::live_set_ends);
  say(capture, looked_up, ring::live_set_ends);
  say_complete(program, looked_up);
  EXPECT_FALSE(exact());
  EXPECT_TRUE(process_->pool_live_sets.empty());
  EXPECT_EQ(process_->received_blocks, 0u);
  // The next live set counts.
  const time_ns again = looked_up + 5;
  say_all_of(program, 1, again, {0x1000});
  say_complete(program, again);
  EXPECT_TRUE(exact());
  const recorded& trace = finish();
  EXPECT_TRUE(trace.all<free_event>().empty());
  EXPECT_EQ(trace.all<checkpoint_event>().back().blocks, 2u);
}

// A live set describes the moment of its lookup. It may arrive much later, because its sender waits for room in the
// ring.
TEST_F(live_sets, that_come_late_do_not_bring_back_what_was_freed_since) {
  thread& t = add_thread();
  thread& teller = add_thread();
  alloc_in(t, 1, 10, 0x1000);
  turns(2);
  const time_ns looked_up = present_;
  free(t, looked_up + 10, 0x1000, layer::pool);
  turns(4);
  say_all_of(teller, 1, looked_up, {0x1000});
  EXPECT_EQ(finish().all<checkpoint_event>().back().blocks, 0u);
}

}  // namespace
}  // namespace sluice::writer
