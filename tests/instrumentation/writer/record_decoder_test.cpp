// Records become rows, whatever the order in which threads and devices deliver them.
#include "tests/instrumentation/writer/record_decoder_fixture.hpp"

namespace sluice::writer {
namespace {

TEST_F(record_decoder_test, matches_a_free_with_its_allocation) {
  thread& t = add_thread();
  alloc(t, 10, 0x1000, 256);
  free(t, 20, 0x1000);
  alloc(t, 30, 0x1000, 512);
  const recorded& trace = finish();
  const auto allocs = trace.all<alloc_event>();
  const auto frees = trace.all<free_event>();
  ASSERT_EQ(allocs.size(), 2u);
  ASSERT_EQ(frees.size(), 1u);
  EXPECT_NE(allocs[0].block, allocs[1].block);
  EXPECT_EQ(frees[0].block, allocs[0].block);
  EXPECT_EQ(frees[0].time, 20);
  EXPECT_EQ(allocs[0].thread, frees[0].thread);
  EXPECT_EQ(trace.tables().threads.find(allocs[0].thread)->tid, 1u);
}

TEST_F(record_decoder_test, merges_threads_by_time) {
  thread& a = add_thread();
  thread& b = add_thread();
  // b's ring is drained after a's: the address moves from a to b and back.
  alloc(a, 10, 0x1000, 1);
  free(b, 20, 0x1000);
  alloc(b, 30, 0x1000, 2);
  free(a, 40, 0x1000);
  alloc(a, 50, 0x1000, 3);
  const recorded& trace = finish();
  const auto allocs = trace.all<alloc_event>();
  const auto frees = trace.all<free_event>();
  ASSERT_EQ(allocs.size(), 3u);
  ASSERT_EQ(frees.size(), 2u);
  EXPECT_EQ(frees[0].block, allocs[0].block);
  EXPECT_EQ(frees[1].block, allocs[1].block);
}

TEST_F(record_decoder_test, a_free_may_be_reported_turns_after_the_next_allocation) {
  thread& a = add_thread();
  thread& b = add_thread();
  alloc(a, 10, 0x1000, 1);
  alloc(b, 30, 0x1000, 2);
  turns(3);
  free(a, 20, 0x1000);  // Its thread was preempted between the call and the record.
  const recorded& trace = finish();
  const auto allocs = trace.all<alloc_event>();
  const auto frees = trace.all<free_event>();
  ASSERT_EQ(frees.size(), 1u);
  EXPECT_EQ(frees[0].block, allocs[0].block);
  EXPECT_EQ(frees[0].source, provenance::exact);
  ASSERT_EQ(trace.all<live_block_event>().size(), 1u);
  EXPECT_EQ(trace.all<live_block_event>()[0].block, allocs[1].block);
}

TEST_F(record_decoder_test, an_allocation_may_be_reported_turns_after_its_free) {
  thread& a = add_thread();
  thread& b = add_thread();
  free(b, 20, 0x1000);
  turns(3);
  alloc(a, 10, 0x1000, 1);
  const recorded& trace = finish();
  ASSERT_EQ(trace.all<free_event>().size(), 1u);
  EXPECT_EQ(trace.all<free_event>()[0].block, trace.all<alloc_event>()[0].block);
  EXPECT_TRUE(trace.all<live_block_event>().empty());
}

TEST_F(record_decoder_test, infers_a_free_that_nobody_reported) {
  thread& t = add_thread();
  alloc(t, 10, 0x1000, 1);
  alloc(t, 30, 0x1000, 2);
  const recorded& trace = finish();
  const auto frees = trace.all<free_event>();
  ASSERT_EQ(frees.size(), 1u);
  EXPECT_EQ(frees[0].block, trace.all<alloc_event>()[0].block);
  EXPECT_EQ(frees[0].time, 30);
  EXPECT_EQ(frees[0].source, provenance::inferred);
}

TEST_F(record_decoder_test, keeps_a_free_of_what_it_never_saw_allocated) {
  thread& t = add_thread();
  free(t, 10, 0x1000);
  turns(40);
  const recorded& trace = finish();
  ASSERT_EQ(trace.all<free_event>().size(), 1u);
  EXPECT_EQ(trace.all<free_event>()[0].block, block_id::none);
}

TEST_F(record_decoder_test, a_block_born_before_the_recording_is_not_doubled) {
  thread& t = add_thread();
  alloc(t, 10, 0x1000, 64);
  ring::alloc_record again{};
  again.header.flags = ring::flag_born_before;
  again.address = 0x1000;
  again.bytes = 64;
  again.device = ring::no_device;
  again.kind = static_cast<std::uint8_t>(memory_kind::device);
  put(t, 20, again);
  again.address = 0x2000;
  put(t, 20, again);
  const recorded& trace = finish();
  const auto allocs = trace.all<alloc_event>();
  ASSERT_EQ(allocs.size(), 2u);
  EXPECT_EQ(allocs[0].flags, 0u);
  EXPECT_EQ(allocs[1].flags, born_before);
  EXPECT_TRUE(trace.all<free_event>().empty());
}

TEST_F(record_decoder_test, a_blocks_parent_is_the_segment_below_that_holds_it) {
  thread& t = add_thread();
  alloc(t, 10, 0x10000, 0x1000, layer::driver);
  alloc(t, 20, 0x10000, 0x400, layer::pool);
  alloc(t, 30, 0x10100, 0x100, layer::framework);
  alloc(t, 40, 0x10800, 0x100, layer::framework);  // In the driver's segment, but not in a pool block.
  alloc(t, 50, 0x90000, 0x100, layer::framework);
  const recorded& trace = finish();
  const auto allocs = trace.all<alloc_event>();
  ASSERT_EQ(allocs.size(), 5u);
  EXPECT_EQ(allocs[0].parent, block_id::none);
  EXPECT_EQ(allocs[1].parent, allocs[0].block);
  EXPECT_EQ(allocs[2].parent, allocs[1].block);
  EXPECT_EQ(allocs[3].parent, allocs[0].block);
  EXPECT_EQ(allocs[4].parent, block_id::none);
}

TEST_F(record_decoder_test, a_reservation_its_memory_and_its_mapping_are_three_blocks) {
  thread& t = add_thread();
  alloc(t, 10, 0x1000, 64, layer::driver, memory_kind::reservation);
  alloc(t, 20, 0x1000, 64, layer::driver, memory_kind::physical);
  alloc(t, 30, 0x1000, 64, layer::driver, memory_kind::mapping);
  alloc(t, 35, 0x1000, 32, layer::framework);
  free(t, 40, 0x1000, layer::driver, memory_kind::mapping);
  const recorded& trace = finish();
  const auto allocs = trace.all<alloc_event>();
  const auto frees = trace.all<free_event>();
  ASSERT_EQ(frees.size(), 1u);
  EXPECT_EQ(frees[0].block, allocs[2].block);
  EXPECT_EQ(allocs[2].parent, allocs[0].block);
  EXPECT_EQ(allocs[3].parent, allocs[2].block);
}

TEST_F(record_decoder_test, a_completion_belongs_to_the_last_free) {
  thread& t = add_thread();
  alloc(t, 10, 0x1000, 1);
  free(t, 20, 0x1000);
  ring::free_completed_record done{};
  done.address = 0x1000;
  put(t, 25, done);
  alloc(t, 30, 0x1000, 1);
  free(t, 40, 0x1000);
  turns(30);
  put(t, 45'000'000, done);  // Long afterwards: the row of the free is already in the file.
  const recorded& trace = finish();
  const auto frees = trace.all<free_event>();
  ASSERT_EQ(frees.size(), 2u);
  EXPECT_EQ(frees[0].completed, 25);
  EXPECT_EQ(frees[1].completed, unknown_time);
  const auto attributes = trace.all<attribute_event>();
  ASSERT_EQ(attributes.size(), 1u);
  EXPECT_EQ(attributes[0].target, frees[1].id);
  EXPECT_EQ(trace.text(attributes[0].key), "completed");
  EXPECT_EQ(attributes[0].integer, 45'000'000);
}

TEST_F(record_decoder_test, refuses_a_text_that_is_not_its_key) {
  thread& t = add_thread();
  ring::string_record lie{};
  lie.key = get_key("truth");
  lie.length = 3;
  t.pair.producer.put(&lie.header, ring::record_type::string, sizeof lie, "lie", 3);
  lie.length = 1 << 20;  // Longer than the record.
  t.pair.producer.put(&lie.header, ring::record_type::string, sizeof lie, "lie", 3);
  ring::marker_record m{};
  m.name = lie.key;
  put(t, 1, m);
  const recorded& trace = finish();
  EXPECT_EQ(trace.text(trace.all<marker_event>()[0].name), "");
}

TEST_F(record_decoder_test, a_loss_of_memory_events_is_followed_by_an_inexact_checkpoint) {
  thread& t = add_thread();
  alloc(t, 10, 0x1000, 1);
  ring::loss_record loss{};
  loss.end = raw_time(25);
  loss.events = 5;
  loss.memory_events = 2;
  put(t, 20, loss);
  alloc(t, 30, 0x2000, 1);
  const recorded& trace = finish();
  ASSERT_EQ(trace.all<loss_event>().size(), 1u);
  EXPECT_EQ(trace.all<loss_event>()[0].end, 25);
  const auto checkpoints = trace.all<checkpoint_event>();
  ASSERT_EQ(checkpoints.size(), 2u);
  EXPECT_FALSE(checkpoints[0].exact);
  EXPECT_EQ(checkpoints[0].blocks, 2u) << "once per pass, at its end";
  EXPECT_GE(checkpoints[0].time, 30);
  EXPECT_EQ(checkpoints[1].blocks, 2u);
  EXPECT_EQ(rows_->lost_events(), 5u);
}

// Under overload every ring reports a loss whenever it is drained: the cost of reports must not cause the next loss.
TEST_F(record_decoder_test, losses_write_few_checkpoints_where_much_is_live) {
  constexpr std::uint64_t live = 1000;
  constexpr int many = 40;
  thread& t = add_thread();
  for (std::uint64_t i = 0; i < live; ++i) alloc(t, static_cast<time_ns>(i), 0x1000 * (i + 1), 1);
  turns(2);
  std::deque<thread*> others;
  for (int i = 0; i < 4; ++i) others.push_back(&add_thread());
  for (int i = 0; i < many; ++i) {
    for (thread* const other : others) {
      ring::loss_record loss{};
      loss.events = loss.memory_events = 100;
      loss.end = raw_time(present_ + 5);
      put(*other, present_ + 5, loss);
    }
    turn();
  }
  const recorded& trace = finish();
  EXPECT_EQ(trace.all<loss_event>().size(), 4u * many);
  const auto checkpoints = trace.all<checkpoint_event>();
  ASSERT_GE(checkpoints.size(), 2u);
  EXPECT_LE(checkpoints.size(), 3u);
  EXPECT_FALSE(checkpoints[0].exact);
  EXPECT_EQ(checkpoints[0].blocks, live);
}

TEST_F(record_decoder_test, many_losses_of_one_turn_are_followed_by_one_checkpoint) {
  thread& t = add_thread();
  for (time_ns i = 0; i < 50; ++i) {
    ring::loss_record loss{};
    loss.events = loss.memory_events = 1;
    loss.end = raw_time(10 * i + 5);
    put(t, 10 * i, loss);
    alloc(t, 10 * i + 7, 0x1000 * static_cast<std::uint64_t>(i + 1), 1);
  }
  EXPECT_EQ(finish().all<checkpoint_event>().size(), 2u);
}

TEST_F(record_decoder_test, other_losses_leave_totals_exact) {
  thread& t = add_thread();
  ring::loss_record loss{};
  loss.end = raw_time(25);
  loss.events = 5;
  put(t, 20, loss);
  const auto checkpoints = finish().all<checkpoint_event>();
  ASSERT_EQ(checkpoints.size(), 1u);
  EXPECT_TRUE(checkpoints[0].exact);
}

class record_decoder_with_many_checkpoints : public record_decoder_test {
 protected:
  record_decoder_with_many_checkpoints() : record_decoder_test({.checkpoint_every = 50}) {}
};

TEST_F(record_decoder_with_many_checkpoints, each_holds_the_live_set_of_its_time) {
  thread& t = add_thread();
  for (std::uint64_t i = 0; i < 300; ++i) {
    alloc(t, static_cast<time_ns>(10 * i), 0x1000 * (i % 8 + 1), 1);
    if (i % 3 != 0) free(t, static_cast<time_ns>(10 * i + 5), 0x1000 * (i % 8 + 1));
    if (i % 20 == 0) turn();
  }
  const recorded& trace = finish();
  const auto allocs = trace.all<alloc_event>();
  const auto frees = trace.all<free_event>();
  const auto checkpoints = trace.all<checkpoint_event>();
  const auto live = trace.all<live_block_event>();
  EXPECT_GT(checkpoints.size(), 5u);
  for (const checkpoint_event& c : checkpoints) {
    std::set<block_id> expected;
    for (const alloc_event& a : allocs) {
      if (a.time <= c.time) expected.insert(a.block);
    }
    for (const free_event& f : frees) {
      if (f.time <= c.time) expected.erase(f.block);
    }
    std::set<block_id> found;
    for (const live_block_event& l : live) {
      if (l.checkpoint != c.id) continue;
      found.insert(l.block);
      EXPECT_EQ(l.time, c.time);
      EXPECT_LE(l.born, c.time);
    }
    EXPECT_EQ(found, expected) << "at " << c.time;
    EXPECT_EQ(c.blocks, found.size());
  }
}

TEST_F(record_decoder_test, survives_records_of_nonsense) {
  thread& t = add_thread();
  std::uint64_t seed = 88172645463325252u;
  const auto random = [&] {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
  };
  for (int i = 0; i < 50'000; ++i) {
    std::uint64_t words[16];
    for (std::uint64_t& w : words) w = random() % 3 == 0 ? random() : random() % 64;
    ring::record_header header{0, 0, static_cast<std::uint32_t>(words[0]), words[1]};
    std::memcpy(words, &header, sizeof header);
    const auto type = static_cast<ring::record_type>(random() % 40);
    if (type == ring::record_type::padding) continue;
    const std::size_t bytes = (2 + random() % 15) * 8;
    t.pair.producer.put(reinterpret_cast<ring::record_header*>(words), type, bytes);
    if (i % 500 == 0) turn();
  }
  const recorded& trace = finish();
  EXPECT_TRUE(trace.snapshot().warnings().empty());
}

class simulated_record_decoder : public record_decoder_test {
 protected:
  simulated_record_decoder() : record_decoder_test({.simulated = true}) {}

  /// The trace, as text, of a thread's records, which are emitted in order and drained at moments that `every` selects.
  std::string run(int every) {
    const std::string path = folder_.file("run" + std::to_string(every));
    file_ = std::make_unique<file_writer>(*file_writer::create(path, {.simulated = true}));
    rows_ = std::make_unique<record_decoder>(*file_, clock_anchor{}, options_);
    process_ = &rows_->add_process(identity(100), 100);
    threads_.clear();
    thread& t = add_thread();
    for (std::uint64_t i = 0; i < 500; ++i) {
      const auto time = static_cast<time_ns>(i * 100) - origin;
      alloc(t, time + 10, 0x1000 * (i % 5 + 1), i + 1);
      if (i % 7 != 0) call(t, time + 3, static_cast<std::uint32_t>(i), 0x1000, 0, 0);
      copy(t, time + 5000, static_cast<std::uint32_t>(i), 9);
      if (i % 3 == 0) free(t, time + 50, 0x1000 * (i % 5 + 1));
      if (i % static_cast<std::uint64_t>(every) == 0) turn();
    }
    turn();
    rows_->finish({});
    EXPECT_TRUE(file_->close().has_value());
    const recorded trace(path);
    std::string text;
    for (const auto& a : trace.all<alloc_event>())
      text += std::to_string(raw(a.id)) + "a" + std::to_string(a.time) + " ";
    for (const auto& f : trace.all<free_event>())
      text += std::to_string(raw(f.id)) + "f" + std::to_string(raw(f.block)) + " ";
    for (const auto& c : trace.all<transfer_event>()) {
      text += std::to_string(raw(c.id)) + "t" + std::to_string(raw(c.call)) + " ";
    }
    return text;
  }
};

TEST_F(simulated_record_decoder, what_is_written_does_not_depend_on_when_it_was_drained) {
  const std::string once = run(1000);
  EXPECT_FALSE(once.empty());
  EXPECT_EQ(run(1), once);
  EXPECT_EQ(run(13), once);
}

}  // namespace
}  // namespace sluice::writer
