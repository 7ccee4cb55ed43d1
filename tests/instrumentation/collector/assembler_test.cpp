// Records become rows: whatever the order in which threads and devices get round to telling.
#include "instrumentation/collector/assembler.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <set>

#include "instrumentation/collector/producer_state.hpp"
#include "tests/instrumentation/collector/recording.hpp"
#include "tests/instrumentation/collector/ring_pair.hpp"

namespace sluice::collector {
namespace {

using namespace trace;

constexpr std::int64_t origin = 1'000'000'000'000;

producer_identity identity(std::uint64_t pid) {
  producer_identity who;
  who.pid = who.start_time = who.image = pid;
  return who;
}

/// An assembler with rings to feed it from. Times below are the trace's, ns.
class Assembler : public testing::Test {
 protected:
  struct thread {
    thread() : pair(std::size_t{1} << 20, clock_kind::monotonic_ns) {}
    ring_pair pair;
    std::unique_ptr<ring_reader> reader;
    ring_source source;
  };

  explicit Assembler(assembler_options options = {}) : options_(options) {
    file_ = std::make_unique<file_writer>(*file_writer::create(path_));
    rows_ = std::make_unique<assembler>(*file_, clock_anchor{0, origin, 0}, options_);
    process_ = &rows_->add_process(identity(100), 100);
  }

  thread& add_thread() { return add_thread(*process_); }
  thread& add_thread(recorded_process& process) {
    threads_.emplace_back();
    thread& t = threads_.back();
    t.reader = std::make_unique<ring_reader>(std::move(*t.pair.open_reader()));
    t.source.process = &process;
    t.source.clock = clock_kind::monotonic_ns;
    thread_record introduction{};
    introduction.tid = threads_.size();
    put(t, 0, introduction);
    return t;
  }

  template <class Record>
  void put(thread& t, time_ns time, Record record, record_type type = type_of<Record>::value) {
    record.header.time = raw_time(time);
    ASSERT_TRUE(t.pair.producer.put(&record.header, type, sizeof record));
  }
  static std::uint64_t raw_time(time_ns time) { return static_cast<std::uint64_t>(origin + time); }

  std::uint64_t text(thread& t, const std::string& words) {
    string_record record{};
    record.key = key_of(words);
    record.length = words.size();
    t.pair.producer.put(&record.header, record_type::string, sizeof record, words.data(), words.size());
    return record.key;
  }
  static std::uint64_t key_of(const std::string& words) { return detail::hash_text(words.data(), words.size()); }

  void alloc(thread& t, time_ns time, std::uint64_t address, std::uint64_t bytes, layer level = layer::driver,
             memory_kind kind = memory_kind::device) {
    alloc_record r{};
    r.address = address;
    r.bytes = bytes;
    r.device = no_device;
    r.level = static_cast<std::uint8_t>(level);
    r.kind = static_cast<std::uint8_t>(kind);
    put(t, time, r);
  }
  void free(thread& t, time_ns time, std::uint64_t address, layer level = layer::driver,
            memory_kind kind = memory_kind::unknown) {
    free_record r{};
    r.address = address;
    r.level = static_cast<std::uint8_t>(level);
    r.kind = static_cast<std::uint8_t>(kind);
    put(t, time, r);
  }
  void call(thread& t, time_ns time, std::uint32_t correlation, std::uint64_t source = 0, std::uint64_t destination = 0,
            std::uint64_t bytes = 0) {
    api_call_record r{};
    r.end = raw_time(time + 5);
    r.source = source;
    r.destination = destination;
    r.bytes = bytes;
    r.correlation = correlation;
    put(t, time, r);
  }
  void copy(thread& t, time_ns time, std::uint32_t correlation, std::uint64_t bytes) {
    copy_record r{};
    r.end = raw_time(time + 10);
    r.bytes = bytes;
    r.device = r.peer = no_device;
    r.correlation = correlation;
    r.direction = static_cast<std::uint8_t>(direction::h2d);
    put(t, time, r);
  }

  /// One turn of the drain loop.
  void turn() {
    for (thread& t : threads_) EXPECT_TRUE(rows_->take(t.source, *t.reader).has_value());
    present_ += 20'000'000;
    rows_->advance({0, origin + present_, 0});
  }
  void turns(int count) {
    for (int i = 0; i < count; ++i) turn();
  }

  /// Ends the trace and reads it back.
  const recorded& finish() {
    turn();
    rows_->finish({0, origin + ++present_, 0});
    EXPECT_TRUE(file_->close().has_value());
    trace_ = std::make_unique<recorded>(path_);
    return *trace_;
  }

  temporary_folder folder_;
  std::string path_ = folder_.file("t.sluice");
  assembler_options options_;
  std::unique_ptr<file_writer> file_;
  std::unique_ptr<assembler> rows_;
  recorded_process* process_ = nullptr;
  std::deque<thread> threads_;
  time_ns present_ = 0;
  std::unique_ptr<recorded> trace_;
};

TEST_F(Assembler, MatchesAFreeWithItsAllocation) {
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

TEST_F(Assembler, MergesThreadsByTime) {
  thread& a = add_thread();
  thread& b = add_thread();
  // b's ring is drained after a's: the address passes from a to b and back.
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

TEST_F(Assembler, AFreeMayBeToldTurnsAfterTheNextAllocation) {
  thread& a = add_thread();
  thread& b = add_thread();
  alloc(a, 10, 0x1000, 1);
  alloc(b, 30, 0x1000, 2);
  turns(3);
  free(a, 20, 0x1000);  // Its thread was off the processor between the call and the record.
  const recorded& trace = finish();
  const auto allocs = trace.all<alloc_event>();
  const auto frees = trace.all<free_event>();
  ASSERT_EQ(frees.size(), 1u);
  EXPECT_EQ(frees[0].block, allocs[0].block);
  EXPECT_EQ(frees[0].source, provenance::exact);
  ASSERT_EQ(trace.all<live_block_event>().size(), 1u);
  EXPECT_EQ(trace.all<live_block_event>()[0].block, allocs[1].block);
}

TEST_F(Assembler, AnAllocationMayBeToldTurnsAfterItsFree) {
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

TEST_F(Assembler, InfersAFreeThatNobodyTold) {
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

TEST_F(Assembler, KeepsAFreeOfWhatItNeverSawAllocated) {
  thread& t = add_thread();
  free(t, 10, 0x1000);
  turns(40);
  const recorded& trace = finish();
  ASSERT_EQ(trace.all<free_event>().size(), 1u);
  EXPECT_EQ(trace.all<free_event>()[0].block, block_id::none);
}

TEST_F(Assembler, ABlockBornBeforeTheRecordingIsNotDoubled) {
  thread& t = add_thread();
  alloc(t, 10, 0x1000, 64);
  alloc_record again{};
  again.header.flags = flag_born_before;
  again.address = 0x1000;
  again.bytes = 64;
  again.device = no_device;
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

TEST_F(Assembler, ABlocksParentIsTheSegmentBelowThatHoldsIt) {
  thread& t = add_thread();
  alloc(t, 10, 0x10000, 0x1000, layer::driver);
  alloc(t, 20, 0x10000, 0x400, layer::pool);
  alloc(t, 30, 0x10100, 0x100, layer::framework);
  alloc(t, 40, 0x10800, 0x100, layer::framework);  // In the driver's segment, in no pool block.
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

TEST_F(Assembler, AReservationItsMemoryAndItsMappingAreThreeBlocks) {
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

TEST_F(Assembler, ACompletionBelongsToTheLastFree) {
  thread& t = add_thread();
  alloc(t, 10, 0x1000, 1);
  free(t, 20, 0x1000);
  free_completed_record done{};
  done.address = 0x1000;
  put(t, 25, done);
  alloc(t, 30, 0x1000, 1);
  free(t, 40, 0x1000);
  turns(30);
  put(t, 45'000'000, done);  // Long after: the row of the free is in the file already.
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

TEST_F(Assembler, ACopyTakesAddressesAndBlocksFromItsCall) {
  thread& host = add_thread();
  thread& flush = add_thread();
  alloc(host, 10, 0x1000, 256, layer::driver, memory_kind::pinned);
  alloc(host, 20, 0x8000, 256);
  call(host, 30, 7, 0x1010, 0x8020, 64);
  free(host, 40, 0x8000);  // Enqueued before, so it is still this block's.
  alloc(host, 50, 0x8000, 256);
  turn();
  copy(flush, 100, 7, 64);
  const recorded& trace = finish();
  const auto copies = trace.all<transfer_event>();
  const auto allocs = trace.all<alloc_event>();
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].time, 100);
  EXPECT_EQ(copies[0].end, 110);
  EXPECT_EQ(copies[0].call, trace.all<api_call_event>()[0].id);
  EXPECT_EQ(copies[0].enqueued, 30);
  EXPECT_EQ(copies[0].thread, allocs[0].thread);
  EXPECT_EQ(copies[0].source_address, 0x1010u);
  EXPECT_EQ(copies[0].source_block, allocs[0].block);
  EXPECT_EQ(copies[0].destination_block, allocs[1].block);
}

TEST_F(Assembler, AnActivityMayComeBeforeItsCall) {
  thread& host = add_thread();
  thread& flush = add_thread();
  alloc(host, 10, 0x8000, 256);
  copy(flush, 100, 7, 64);
  turns(5);
  call(host, 30, 7, 0, 0x8000, 64);  // A synchronous call returned only now.
  const recorded& trace = finish();
  const auto copies = trace.all<transfer_event>();
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].enqueued, 30);
  EXPECT_EQ(copies[0].destination_block, trace.all<alloc_event>()[0].block);
}

TEST_F(Assembler, AnActivityWhoseCallNeverComesIsWrittenAllTheSame) {
  thread& flush = add_thread();
  copy(flush, 100, 7, 64);
  turns(40);
  ASSERT_TRUE(file_->flush().has_value());
  EXPECT_EQ(recorded(path_).all<transfer_event>().size(), 1u) << "it waits no longer than it should";
  const recorded& trace = finish();
  ASSERT_EQ(trace.all<transfer_event>().size(), 1u);
  EXPECT_EQ(trace.all<transfer_event>()[0].call, event_id::none);
}

TEST_F(Assembler, ACallWithoutActivityIsWritten) {
  thread& host = add_thread();
  call(host, 30, 7);
  EXPECT_EQ(finish().all<api_call_event>().size(), 1u);
}

TEST_F(Assembler, OneCallMayHaveMuchWork) {
  thread& host = add_thread();
  thread& flush = add_thread();
  call(host, 30, 9, 0x1000, 0x2000, 0);
  for (int i = 0; i < 3; ++i) {
    kernel_record k{};
    k.end = raw_time(110 + i);
    k.device = no_device;
    k.correlation = 9;
    k.graph_node = static_cast<std::uint64_t>(i) + 1;
    put(flush, 100 + i, k);
  }
  copy(flush, 120, 9, 8);
  copy(flush, 130, 9, 8);
  const recorded& trace = finish();
  const event_id asked = trace.all<api_call_event>()[0].id;
  ASSERT_EQ(trace.all<kernel_event>().size(), 3u);
  for (const kernel_event& k : trace.all<kernel_event>()) EXPECT_EQ(k.call, asked);
  const auto copies = trace.all<transfer_event>();
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0].source_address, 0x1000u);
  EXPECT_EQ(copies[1].source_address, 0u) << "the second copy of a call is elsewhere";
}

TEST_F(Assembler, CorrelationIdsBelongToTheirProcess) {
  recorded_process& other = rows_->add_process(identity(200), 200);
  thread& mine = add_thread();
  thread& its = add_thread(other);
  call(mine, 10, 7, 0xaaa, 0, 0);
  call(its, 20, 7, 0xbbb, 0, 0);
  copy(mine, 100, 7, 1);
  copy(its, 200, 7, 1);
  const recorded& trace = finish();
  for (const transfer_event& c : trace.all<transfer_event>()) {
    EXPECT_EQ(c.source_address, c.time == 100 ? 0xaaau : 0xbbbu);
  }
}

TEST_F(Assembler, AWatermarkIsWrittenAfterWhatItCovers) {
  thread& flush = add_thread();
  copy(flush, 100, 7, 64);  // Waits for its call.
  put(flush, 150, watermark_record{});
  turns(4);
  ASSERT_TRUE(file_->flush().has_value());
  EXPECT_TRUE(recorded(path_).all<watermark_event>().empty()) << "said complete what was still held back";
  turns(40);
  const recorded& trace = finish();
  ASSERT_EQ(trace.all<watermark_event>().size(), 1u);
  EXPECT_EQ(trace.all<watermark_event>()[0].complete_until, 150);
}

TEST_F(Assembler, ADeviceIsItsUuid) {
  recorded_process& other = rows_->add_process(identity(200), 200);
  thread& mine = add_thread();
  thread& its = add_thread(other);
  device_record d{};
  d.uuid_high = 0xfeed;
  d.uuid_low = 0xbeef;
  d.name = text(mine, "GPU");
  d.memory_bytes = 1 << 30;
  d.device = 0;
  put(mine, 1, d);
  d.device = 3;  // The same one under another ordinal.
  put(its, 1, d);
  d.uuid_low = 0xcafe;
  d.device = 0;
  put(its, 2, d);
  const recorded& trace = finish();
  ASSERT_EQ(trace.tables().devices.rows().size(), 2u);
  EXPECT_EQ(trace.text(trace.tables().devices.rows()[0].name), "GPU");
}

TEST_F(Assembler, AStreamThatIsUsedBeforeItIsIntroducedKeepsItsId) {
  thread& t = add_thread();
  const std::uint64_t key = stream_key(1, 7);
  sync_record wait{};
  wait.stream = key;
  put(t, 10, wait);
  context_record context{};
  context.context = 1;
  context.device = 0;
  put(t, 20, context);
  stream_record stream{};
  stream.stream = key;
  stream.handle = 0xabc;
  stream.name = text(t, "loader");
  put(t, 30, stream);
  put(t, 40, wait);
  stream.handle = 0xdef;  // The key is used again, by another stream.
  put(t, 50, stream);
  put(t, 60, wait);
  const recorded& trace = finish();
  const auto waits = trace.all<sync_event>();
  ASSERT_EQ(waits.size(), 3u);
  EXPECT_EQ(waits[0].stream, waits[1].stream);
  EXPECT_NE(waits[1].stream, waits[2].stream);
  const stream_row* first = trace.tables().streams.find(waits[0].stream);
  const stream_row* second = trace.tables().streams.find(waits[2].stream);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(trace.text(first->name), "loader");
  EXPECT_NE(first->device, device_id::none);
  EXPECT_EQ(first->generation, 0u);
  EXPECT_EQ(second->generation, 1u);
  EXPECT_EQ(second->device, first->device);
}

TEST_F(Assembler, RefusesATextThatIsNotItsKey) {
  thread& t = add_thread();
  string_record lie{};
  lie.key = key_of("truth");
  lie.length = 3;
  t.pair.producer.put(&lie.header, record_type::string, sizeof lie, "lie", 3);
  lie.length = 1 << 20;  // Longer than the record.
  t.pair.producer.put(&lie.header, record_type::string, sizeof lie, "lie", 3);
  marker_record m{};
  m.name = lie.key;
  put(t, 1, m);
  const recorded& trace = finish();
  EXPECT_EQ(trace.text(trace.all<marker_event>()[0].name), "");
}

TEST_F(Assembler, ALossOfMemoryEventsIsFollowedByAnInexactCheckpoint) {
  thread& t = add_thread();
  alloc(t, 10, 0x1000, 1);
  loss_record loss{};
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
  EXPECT_EQ(checkpoints[0].blocks, 1u);
  EXPECT_EQ(checkpoints[1].blocks, 2u);
  EXPECT_EQ(rows_->lost_events(), 5u);
}

TEST_F(Assembler, OtherLossesLeaveTotalsExact) {
  thread& t = add_thread();
  loss_record loss{};
  loss.end = raw_time(25);
  loss.events = 5;
  put(t, 20, loss);
  const auto checkpoints = finish().all<checkpoint_event>();
  ASSERT_EQ(checkpoints.size(), 1u);
  EXPECT_TRUE(checkpoints[0].exact);
}

class AssemblerWithManyCheckpoints : public Assembler {
 protected:
  AssemblerWithManyCheckpoints() : Assembler({.checkpoint_every = 50}) {}
};

TEST_F(AssemblerWithManyCheckpoints, EachHoldsTheLiveSetOfItsTime) {
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

TEST_F(Assembler, SurvivesRecordsOfNonsense) {
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
    record_header header{0, 0, static_cast<std::uint32_t>(words[0]), words[1]};
    std::memcpy(words, &header, sizeof header);
    const auto type = static_cast<record_type>(random() % 40);
    if (type == record_type::padding) continue;
    const std::size_t bytes = (2 + random() % 15) * 8;
    t.pair.producer.put(reinterpret_cast<record_header*>(words), type, bytes);
    if (i % 500 == 0) turn();
  }
  const recorded& trace = finish();
  EXPECT_TRUE(trace.snapshot().warnings().empty());
}

class SimulatedAssembler : public Assembler {
 protected:
  SimulatedAssembler() : Assembler({.simulated = true}) {}

  /// What a thread did, in the order it did it, drained at moments that `every` decides.
  std::string run(int every) {
    const std::string path = folder_.file("run" + std::to_string(every));
    file_ = std::make_unique<file_writer>(*file_writer::create(path, {.simulated = true}));
    rows_ = std::make_unique<assembler>(*file_, clock_anchor{}, options_);
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

TEST_F(SimulatedAssembler, WhatIsWrittenDoesNotDependOnWhenItWasDrained) {
  const std::string once = run(1000);
  EXPECT_FALSE(once.empty());
  EXPECT_EQ(run(1), once);
  EXPECT_EQ(run(13), once);
}

}  // namespace
}  // namespace sluice::collector
