// Short records give the same trace as full records, and a missing pool_stream causes no errors.
#include <sys/wait.h>

#include <cstddef>

#include "instrumentation/ring/producer_emit.hpp"
#include "instrumentation/writer/session/listener.hpp"
#include "tests/instrumentation/ring/each_record.hpp"
#include "tests/instrumentation/writer/record_decoder_fixture.hpp"

namespace sluice::writer {
namespace {

class lanes : public record_decoder_test {
 protected:
  static constexpr std::uint64_t stream = ring::stream_key(7, 3);

  ring::pool_stream_record pool_stream(thread& t, std::uint64_t pool = 1001) {
    ring::pool_stream_record l{};
    l.pool = pool;
    l.stream = stream;
    l.name = text(t, "pool");
    l.device = 2;
    l.context = 7;
    l.layer = static_cast<std::uint8_t>(layer::pool);
    l.kind = static_cast<std::uint8_t>(memory_kind::pinned);
    l.key = ring::detail::pool_stream_key(l);
    return l;
  }
  std::uint64_t introduce(thread& t) {
    const ring::pool_stream_record l = pool_stream(t);
    put(t, 0, l);
    return l.key;
  }
  static void send_alloc(thread& t, time_ns time, std::uint64_t pool_stream, std::uint64_t address) {
    EXPECT_TRUE(put_words(t.pair.producer, ring::record_type::pool_stream_alloc, raw_time(time), address,
                          std::uint64_t{100}, std::uint64_t{512}, pool_stream));
  }
  static void send_free(thread& t, time_ns time, std::uint64_t pool_stream, std::uint64_t address) {
    EXPECT_TRUE(put_words(t.pair.producer, ring::record_type::pool_stream_free, raw_time(time), address, pool_stream));
  }
};

using framework_records = record_decoder_test;

TEST_F(framework_records, make_rows_like_those_of_full_records) {
  thread& t = add_thread();
  const std::uint64_t name = text(t, "PyTorch");
  ring::device_record device{};
  device.device = 2;
  put(t, 0, device);
  alloc(t, 1, 0x10000, 0x10000);
  // Device 2, no stack.
  EXPECT_TRUE(put_words(t.pair.producer, ring::record_type::framework_alloc, raw_time(10), std::uint64_t{0x11000},
                        std::uint64_t{100}, name, std::uint64_t{0}, std::uint64_t{2}));
  EXPECT_TRUE(put_words(t.pair.producer, ring::record_type::framework_free, raw_time(20), std::uint64_t{0x11000}));
  ring::alloc_record born{};
  born.address = 0x11000;
  born.bytes = 100;
  born.name = name;
  born.device = 2;
  born.layer = static_cast<std::uint8_t>(layer::framework);
  born.kind = static_cast<std::uint8_t>(memory_kind::device);
  put(t, 30, born);
  free(t, 40, 0x11000, layer::framework, memory_kind::device);
  const recorded& trace = finish();

  auto allocs = trace.all<alloc_event>();
  ASSERT_EQ(allocs.size(), 3u);
  const alloc_event &in_short = allocs[1], &in_full = allocs[2];
  EXPECT_EQ(in_short.time, 10);
  EXPECT_EQ(in_short.call_begin, unknown_time);
  EXPECT_EQ(in_short.call_begin, in_full.call_begin);
  EXPECT_EQ(in_short.address, in_full.address);
  EXPECT_EQ(in_short.bytes, in_full.bytes);
  EXPECT_EQ(in_short.reserved_bytes, in_full.reserved_bytes);
  EXPECT_EQ(in_short.parent, in_full.parent);
  EXPECT_EQ(in_short.parent, allocs[0].block);
  EXPECT_EQ(in_short.layer, in_full.layer);
  EXPECT_EQ(in_short.kind, in_full.kind);
  EXPECT_EQ(in_short.device, in_full.device);
  EXPECT_NE(in_short.device, device_id::none);
  EXPECT_EQ(in_short.context, in_full.context);
  EXPECT_EQ(in_short.stream, in_full.stream);
  EXPECT_EQ(in_short.pool, in_full.pool);
  EXPECT_EQ(in_short.stack, in_full.stack);
  EXPECT_EQ(in_short.correlation, in_full.correlation);
  EXPECT_EQ(in_short.flags, in_full.flags);
  EXPECT_EQ(in_short.thread, in_full.thread);
  EXPECT_EQ(in_short.process, in_full.process);
  EXPECT_EQ(trace.text(in_short.name), "PyTorch");
  const auto frees = trace.all<free_event>();
  ASSERT_EQ(frees.size(), 2u);
  EXPECT_EQ(frees[0].time, 20);
  EXPECT_EQ(frees[0].layer, layer::framework);
  EXPECT_EQ(frees[0].block, in_short.block);
}

TEST_F(framework_records, that_are_lost_are_memory_events_of_their_layer) {
  for (const ring::record_type type : {ring::record_type::framework_alloc, ring::record_type::framework_free}) {
    const ring::record_header header{};
    EXPECT_TRUE(ring::is_memory_event(type));
    EXPECT_TRUE(ring::uses_reserve(type));
    EXPECT_EQ(ring::get_layers(type, &header), ring::layer_bit(layer::framework));
  }
}

TEST_F(lanes, make_rows_like_those_of_full_records) {
  thread& t = add_thread();
  const std::uint64_t key = introduce(t);
  alloc(t, 1, 0x10000, 0x10000);
  send_alloc(t, 10, key, 0x11000);
  send_free(t, 20, key, 0x11000);
  const ring::pool_stream_record l = pool_stream(t);
  ring::alloc_record born{};
  born.address = 0x11000;
  born.bytes = 100;
  born.reserved_bytes = 512;
  born.call_begin = raw_time(30);
  born.pool = l.pool;
  born.stream = l.stream;
  born.name = l.name;
  born.device = l.device;
  born.context = l.context;
  born.layer = l.layer;
  born.kind = l.kind;
  put(t, 30, born);
  ring::free_record died{};
  died.address = 0x11000;
  died.stream = l.stream;
  died.layer = l.layer;
  died.kind = l.kind;
  put(t, 40, died);
  const recorded& trace = finish();

  auto allocs = trace.all<alloc_event>();
  ASSERT_EQ(allocs.size(), 3u);
  alloc_event &in_short = allocs[1], &in_full = allocs[2];
  EXPECT_EQ(in_short.time, 10);
  EXPECT_EQ(in_short.call_begin, 10);
  EXPECT_EQ(in_short.address, in_full.address);
  EXPECT_EQ(in_short.bytes, in_full.bytes);
  EXPECT_EQ(in_short.reserved_bytes, in_full.reserved_bytes);
  EXPECT_EQ(in_short.parent, in_full.parent);
  EXPECT_EQ(in_short.parent, allocs[0].block);
  EXPECT_EQ(in_short.layer, in_full.layer);
  EXPECT_EQ(in_short.kind, in_full.kind);
  EXPECT_EQ(in_short.kind, memory_kind::pinned);
  EXPECT_EQ(in_short.device, in_full.device);
  EXPECT_EQ(in_short.context, in_full.context);
  EXPECT_EQ(in_short.stream, in_full.stream);
  EXPECT_EQ(in_short.pool, in_full.pool);
  EXPECT_EQ(in_short.stack, in_full.stack);
  EXPECT_EQ(in_short.correlation, in_full.correlation);
  EXPECT_EQ(in_short.flags, in_full.flags);
  EXPECT_EQ(in_short.thread, in_full.thread);
  EXPECT_EQ(in_short.process, in_full.process);
  EXPECT_EQ(trace.text(in_short.name), "pool");

  const auto frees = trace.all<free_event>();
  ASSERT_EQ(frees.size(), 2u);
  EXPECT_EQ(frees[0].block, in_short.block);
  EXPECT_EQ(frees[1].block, in_full.block);
  EXPECT_EQ(frees[0].stream, frees[1].stream);
  EXPECT_EQ(frees[0].layer, frees[1].layer);
  EXPECT_EQ(frees[0].source, provenance::exact);
  EXPECT_TRUE(trace.all<loss_event>().empty());
}

TEST_F(lanes, leave_names_and_parents_to_those_that_have_their_own) {
  thread& t = add_thread();
  const std::uint64_t key = introduce(t);
  alloc(t, 1, 0x50000, 0x1000);
  const auto put_named = [&](time_ns time, std::uint64_t address, auto... more) {
    put_words(t.pair.producer, ring::record_type::pool_stream_alloc, raw_time(time), address, std::uint64_t{1},
              std::uint64_t{512}, key, more...);
  };
  put_named(10, 0x1000, text(t, "tag"));
  put_named(20, 0x2000, text(t, "tag"), std::uint64_t{0x50000});
  put_named(30, 0x3000, std::uint64_t{0}, std::uint64_t{0x50000});
  const recorded& trace = finish();
  const auto allocs = trace.all<alloc_event>();
  ASSERT_EQ(allocs.size(), 4u);
  EXPECT_EQ(trace.text(allocs[1].name), "tag");
  EXPECT_EQ(allocs[1].parent, block_id::none);
  EXPECT_EQ(trace.text(allocs[2].name), "tag");
  EXPECT_EQ(allocs[2].parent, allocs[0].block);
  EXPECT_EQ(trace.text(allocs[3].name), "pool");
  EXPECT_EQ(allocs[3].parent, allocs[0].block);
}

TEST_F(lanes, that_nobody_introduced_are_a_loss_and_said_so_once) {
  thread& t = add_thread();
  const std::uint64_t key = introduce(t);
  send_alloc(t, 10, key + 8, 0x1000);
  send_free(t, 20, key + 8, 0x1000);
  send_alloc(t, 30, 0, 0x1000);
  send_alloc(t, 40, key, 0x2000);
  // A truncated record, and a record with only a header.
  put_words(t.pair.producer, ring::record_type::pool_stream_alloc, raw_time(50), std::uint64_t{0x1000});
  ring::record_header bare{};
  bare.time = raw_time(60);
  t.pair.producer.put(&bare, ring::record_type::pool_stream_free, sizeof bare);
  turns(3);
  send_alloc(t, 70'000'000, key + 8, 0x1000);
  const recorded& trace = finish();
  const auto allocs = trace.all<alloc_event>();
  ASSERT_EQ(allocs.size(), 1u);
  EXPECT_EQ(allocs[0].address, 0x2000u);
  const auto losses = trace.all<loss_event>();
  ASSERT_EQ(losses.size(), 2u);
  EXPECT_EQ(losses[0].events, 5u);
  EXPECT_EQ(losses[0].memory_events, 5u);
  EXPECT_EQ(losses[0].time, 10);
  EXPECT_EQ(losses[0].end, 60);
  EXPECT_EQ(losses[1].events, 1u);
  EXPECT_EQ(rows_->lost_memory_events(), 6u);
  EXPECT_FALSE(trace.all<checkpoint_event>().back().exact);
  std::size_t reported = 0;
  for (const message_event& m : trace.all<message_event>()) {
    reported += trace.text(m.text).find("pools and streams that it never introduced") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(reported, 1u);
}

TEST_F(lanes, are_what_their_key_says_or_are_refused) {
  thread& honest = add_thread();
  thread& liar = add_thread(rows_->add_process(identity(200), 200));
  ring::pool_stream_record forged = pool_stream(honest);
  forged.kind = static_cast<std::uint8_t>(memory_kind::host);
  put(liar, 0, forged);
  const std::uint64_t key = introduce(honest);
  send_alloc(honest, 10, key, 0x1000);
  const recorded& trace = finish();
  const auto allocs = trace.all<alloc_event>();
  ASSERT_EQ(allocs.size(), 1u);
  EXPECT_EQ(allocs[0].kind, memory_kind::pinned);
  EXPECT_TRUE(trace.all<loss_event>().empty());
}

TEST_F(lanes, of_a_parent_are_known_of_its_child) {
  thread& parent = add_thread();
  const std::uint64_t key = introduce(parent);
  send_alloc(parent, 10, key, 0x1000);
  thread& child = add_thread(rows_->add_process(identity(200), 200));
  send_alloc(child, 20, key, 0x1000);
  const recorded& trace = finish();
  const auto allocs = trace.all<alloc_event>();
  ASSERT_EQ(allocs.size(), 2u);
  EXPECT_NE(allocs[0].process, allocs[1].process);
  EXPECT_NE(allocs[0].pool, allocs[1].pool) << "pool keys are local to a process";
  EXPECT_EQ(allocs[0].name, allocs[1].name);
  EXPECT_TRUE(trace.all<loss_event>().empty());
}

// --------------------------------------------------------------------------------------------- the producer's side

TEST(lane_ring, holds_words_as_it_holds_the_struct) {
  ring::ring_pair pair;
  auto reader = pair.open_reader();
  ring::pool_stream_free_record died{};
  died.header.time = 11;
  died.address = 22;
  died.pool_stream = 33;
  ASSERT_TRUE(pair.producer.put(&died.header, ring::record_type::pool_stream_free, sizeof died));
  ASSERT_TRUE(put_words(pair.producer, ring::record_type::pool_stream_free, 11, std::uint64_t{22}, std::uint64_t{33}));
  std::vector<std::byte> bytes;
  ASSERT_EQ(reader->drain(bytes).value(), 2 * sizeof died);
  EXPECT_EQ(std::memcmp(bytes.data(), bytes.data() + sizeof died, sizeof died), 0);
}

TEST(lane_ring, wraps_and_fills_as_with_other_records) {
  ring::ring_pair pair;
  auto reader = pair.open_reader();
  std::vector<std::byte> bytes;
  std::uint64_t sent = 0, seen = 0, dropped = 0, reported = 0;
  const auto drain = [&] {
    bytes.clear();
    ASSERT_TRUE(reader->drain(bytes).has_value());
    ASSERT_TRUE(ring::for_each_record(bytes, [&](const record_view& record) {
      if (record.type == ring::record_type::loss) {
        reported += decode<ring::loss_record>(record).memory_events;
        seen += decode<ring::loss_record>(record).events;
        return;
      }
      const auto born = decode<ring::pool_stream_alloc_record>(record);
      ASSERT_EQ(born.address, seen);
      ASSERT_EQ(born.pool_stream, 4u);
      ASSERT_EQ(born.name, 0u);
      ++seen;
    }));
  };
  for (int round = 0; round < 10; ++round) {
    const int some = round == 5 ? 1000 : 250;  // One round exceeds the ring's room.
    for (int i = 0; i < some; ++i) {
      const bool put = put_words(pair.producer, ring::record_type::pool_stream_alloc, 1, sent++, std::uint64_t{2},
                                 std::uint64_t{3}, std::uint64_t{4});
      dropped += put ? 0 : 1;
    }
    drain();
  }
  EXPECT_EQ(seen, sent);
  EXPECT_GT(dropped, 0u) << "the test never filled the ring";
  EXPECT_EQ(reported, dropped) << "blocks are memory events";
  EXPECT_EQ(reader->lost().memory_events, dropped);
}

TEST(lane_producer, says_in_short_what_another_says_in_full) {
  recording r;
  ASSERT_TRUE(ring::start(r.socket(), {}));
  ring::pool_stream_record pool_stream{};
  pool_stream.pool = 77;
  pool_stream.name = ring::intern("pool");
  pool_stream.device = ring::no_device;
  pool_stream.layer = static_cast<std::uint8_t>(layer::pool);
  pool_stream.kind = static_cast<std::uint8_t>(memory_kind::device);
  const std::uint64_t key = ring::introduce_pool_stream(pool_stream);
  EXPECT_NE(key, 0u);
  EXPECT_TRUE(ring::emit_pool_stream_alloc(ring::now(), key, 0x1000, 100, 512));
  EXPECT_TRUE(ring::emit_pool_stream_free(ring::now(), key, 0x1000));
  const pid_t child = fork();
  if (child == 0) {
    // The child uses its parent's key in its own ring.
    _exit(ring::emit_pool_stream_alloc(ring::now(), key, 0x2000, 200, 512, ring::intern("tag"), 0) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ring::stop();
  EXPECT_EQ(ring::introduce_pool_stream(pool_stream), 0u) << "nobody records";
  EXPECT_FALSE(ring::emit_pool_stream_free(ring::now(), key, 0x1000));
  const recorded trace = r.finish();
  const auto allocs = trace.all<alloc_event>();
  ASSERT_EQ(allocs.size(), 2u);
  EXPECT_EQ(trace.text(allocs[0].name), "pool");
  EXPECT_EQ(allocs[0].bytes, 100u);
  EXPECT_EQ(allocs[0].reserved_bytes, 512u);
  EXPECT_EQ(trace.text(allocs[1].name), "tag");
  EXPECT_EQ(allocs[1].bytes, 200u);
  EXPECT_NE(allocs[0].process, allocs[1].process);
  ASSERT_EQ(trace.all<free_event>().size(), 1u);
  EXPECT_EQ(trace.all<free_event>()[0].block, allocs[0].block);
  EXPECT_EQ(r.summary.lost_events, 0u);
}

TEST(lane_producer, introduces_nothing_where_there_is_no_room) {
  auto writer_address = listener::open();
  ASSERT_TRUE(writer_address.has_value());
  ASSERT_TRUE(ring::start(writer_address->name().c_str(), {.ring_bytes = ring::minimum_ring_bytes}));
  ring::pool_stream_record pool_stream{};
  pool_stream.pool = 77;
  EXPECT_NE(ring::introduce_pool_stream(pool_stream), 0u);
  while (ring::has_room(sizeof pool_stream)) ASSERT_TRUE(ring::emit_pool_stream_free(ring::now(), 1, 0x1000));
  pool_stream.pool = 78;
  EXPECT_EQ(ring::introduce_pool_stream(pool_stream), 0u);
  EXPECT_TRUE(ring::emit_pool_stream_free(ring::now(), 1, 0x1000)) << "which leaves the last quarter to the blocks";
  std::vector<std::string> complaints;
  auto arrivals = writer_address->take(complaints);
  ASSERT_EQ(arrivals.size(), 1u);
  EXPECT_EQ(arrivals[0].reader.lost().events, 0u);
  std::vector<std::byte> bytes;
  ASSERT_TRUE(arrivals[0].reader.drain(bytes).has_value());
  EXPECT_NE(ring::introduce_pool_stream(pool_stream), 0u);
  ring::stop();
}

}  // namespace
}  // namespace sluice::writer
