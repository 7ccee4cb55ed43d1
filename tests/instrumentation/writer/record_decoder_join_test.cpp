// Joins device work with its calls, and resolves keys to table rows.
#include "tests/instrumentation/writer/record_decoder_fixture.hpp"

namespace sluice::writer {
namespace {

TEST_F(record_decoder_test, a_copy_takes_addresses_and_blocks_from_its_call) {
  thread& host = add_thread();
  thread& flush = add_thread();
  alloc(host, 10, 0x1000, 256, layer::driver, memory_kind::pinned);
  alloc(host, 20, 0x8000, 256);
  call(host, 30, 7, 0x1010, 0x8020, 64);
  free(host, 40, 0x8000);  // The copy was enqueued before, so it still belongs to this block.
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
  EXPECT_EQ(copies[0].source_kind, memory_kind::pinned) << "CUPTI did not report it; the block does";
  EXPECT_EQ(copies[0].destination_kind, memory_kind::device);
}

TEST_F(record_decoder_test, a_copy_names_no_block_that_was_allocated_after_it) {
  thread& host = add_thread();
  thread& flush = add_thread();
  alloc(host, 20, 0x8000, 256);
  call(host, 30, 7, 0x1010, 0x8020, 64);  // From host memory that is not recorded, and is freed before time 50.
  alloc(host, 50, 0x1000, 256);
  turn();
  copy(flush, 100, 7, 64);
  const recorded& trace = finish();
  const auto copies = trace.all<transfer_event>();
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].source_address, 0x1010u);
  EXPECT_EQ(copies[0].source_block, block_id::none);
  EXPECT_EQ(copies[0].destination_block, trace.all<alloc_event>()[0].block);
}

TEST_F(record_decoder_test, a_copy_takes_its_content_from_its_call) {
  thread& host = add_thread();
  thread& flush = add_thread();
  content(host, 30, 7, 0xabcd);
  call(host, 30, 7, 0x1010, 0x8020, 64);
  content(host, 40, 8, 0, content_check::over_budget);
  call(host, 40, 8, 0x1010, 0x8020, 64);
  content(host, 50, 9, 0xabcd);
  call(host, 50, 9, 0x1010, 0x8020, 64);
  content(host, 60, 10, 0xabcd);
  call(host, 60, 10, 0x1010, 0x8020, 64);
  call(host, 70, 7, 0x1010, 0x8020, 64);  // The number is reused before the first call was looked up.
  turn();
  copy(flush, 100, 8, 64);
  copy(flush, 200, 9, 64, direction::d2h);  // The hash of a call's source is not the content of a copy back.
  copy(flush, 300, 10, 32);                 // A different size than was hashed.
  copy(flush, 400, 7, 64);
  const auto copies = finish().all<transfer_event>();
  ASSERT_EQ(copies.size(), 4u);
  EXPECT_EQ(copies[0].content, content_check::over_budget);
  EXPECT_EQ(copies[1].content, content_check::none);
  EXPECT_EQ(copies[2].content, content_check::none);
  EXPECT_EQ(copies[3].content, content_check::none);
}

TEST_F(record_decoder_test, a_content_is_known_to_a_copy_that_comes_before_its_call) {
  thread& host = add_thread();
  thread& flush = add_thread();
  content(host, 30, 7, 0xabcd);
  copy(flush, 100, 7, 64);
  turns(5);
  call(host, 30, 7, 0, 0x8000, 64);
  const auto copies = finish().all<transfer_event>();
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].content, content_check::exact);
  EXPECT_EQ(copies[0].content_hash, 0xabcdu);
  EXPECT_EQ(copies[0].content_bytes, 64u);
}

TEST_F(record_decoder_test, a_copy_to_the_host_waits_for_its_content) {
  thread& host = add_thread();
  thread& other = add_thread();
  thread& flush = add_thread();
  const auto awaited = [&](time_ns time, std::uint32_t correlation) {
    content(host, time, correlation, 0, content_check::none, ring::content_stage::awaited);
    call(host, time, correlation, 0x8020, 0x1010, 64);
  };
  const auto arrived = [&](thread& source, time_ns time, std::uint32_t correlation, std::uint64_t hash) {
    content(source, time, correlation, hash, content_check::exact, ring::content_stage::arrived);
  };
  awaited(30, 7);
  copy(flush, 40, 7, 64, direction::d2h);
  turns(5);
  arrived(other, 50, 7, 0xa);  // After the copy, from another thread.
  awaited(60, 8);
  arrived(host, 61, 8, 0xb);  // Before the copy.
  turn();
  copy(flush, 70, 8, 64, direction::d2h);
  arrived(other, 81, 9, 0xc);  // Through a ring that is read first.
  turn();
  awaited(80, 9);
  copy(flush, 90, 9, 64, direction::d2h);
  copy(flush, 100, 10, 64, direction::d2h);  // Before its call.
  turn();
  awaited(95, 10);
  arrived(host, 110, 10, 0xd);
  const auto copies = finish().all<transfer_event>();
  ASSERT_EQ(copies.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(copies[i].content, content_check::exact) << i;
    EXPECT_EQ(copies[i].content_hash, 0xau + i);
    EXPECT_NE(copies[i].call, event_id::none);
  }
}

TEST_F(record_decoder_test, a_copy_to_the_host_does_not_wait_for_ever) {
  thread& host = add_thread();
  thread& flush = add_thread();
  content(host, 30, 7, 0, content_check::none, ring::content_stage::awaited);
  call(host, 30, 7, 0x8020, 0x1010, 64);
  copy(flush, 40, 7, 64, direction::d2h);
  turns(200);
  content(host, 900, 7, 0xa, content_check::exact, ring::content_stage::arrived);  // Too late.
  const auto copies = finish().all<transfer_event>();
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].content, content_check::none);
  EXPECT_EQ(copies[0].source_address, 0x8020u) << "its call is still known";
}

// A program may send any claims: the decoder bounds how many it keeps.
TEST_F(record_decoder_test, contents_of_calls_that_never_come_are_forgotten) {
  thread& host = add_thread();
  thread& flush = add_thread();
  for (std::uint32_t i = 1; i <= 10'000; ++i) content(host, 30, i, i);
  content(host, 31, 77'777, 5, static_cast<content_check>(99));
  call(host, 31, 77'777, 0, 0x8000, 64);
  call(host, 32, 10'000, 0, 0x8000, 64);
  call(host, 33, 1, 0, 0x8000, 64);
  for (const std::uint32_t correlation : {77'777U, 10'000U, 1U}) copy(flush, 100, correlation, 64);
  const auto copies = finish().all<transfer_event>();
  ASSERT_EQ(copies.size(), 3u);
  EXPECT_EQ(copies[0].content, content_check::none) << "an unknown kind";
  EXPECT_EQ(copies[1].content_hash, 10'000u);
  EXPECT_EQ(copies[2].content, content_check::none) << "the oldest were dropped";
}

TEST_F(record_decoder_test, an_activity_may_come_before_its_call) {
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

TEST_F(record_decoder_test, an_activity_whose_call_never_comes_is_written_all_the_same) {
  thread& flush = add_thread();
  copy(flush, 100, 7, 64);
  turns(40);
  ASSERT_TRUE(file_->flush().has_value());
  EXPECT_EQ(recorded(path_).all<transfer_event>().size(), 1u) << "it waits no longer than it should";
  const recorded& trace = finish();
  ASSERT_EQ(trace.all<transfer_event>().size(), 1u);
  EXPECT_EQ(trace.all<transfer_event>()[0].call, event_id::none);
}

TEST_F(record_decoder_test, a_call_without_activity_is_written) {
  thread& host = add_thread();
  call(host, 30, 7);
  EXPECT_EQ(finish().all<api_call_event>().size(), 1u);
}

TEST_F(record_decoder_test, one_call_may_have_much_work) {
  thread& host = add_thread();
  thread& flush = add_thread();
  call(host, 30, 9, 0x1000, 0x2000, 0);
  for (int i = 0; i < 3; ++i) {
    ring::kernel_record k{};
    k.end = raw_time(110 + i);
    k.device = ring::no_device;
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
  EXPECT_EQ(copies[1].source_address, 0u) << "a call's second copy has other addresses";
}

TEST_F(record_decoder_test, correlation_ids_belong_to_their_process) {
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

TEST_F(record_decoder_test, a_watermark_is_written_after_what_it_covers) {
  thread& flush = add_thread();
  copy(flush, 100, 7, 64);  // Waits for its call.
  put(flush, 150, ring::watermark_record{});
  turns(4);
  ASSERT_TRUE(file_->flush().has_value());
  EXPECT_TRUE(recorded(path_).all<watermark_event>().empty()) << "held-back rows were reported as complete";
  turns(40);
  const recorded& trace = finish();
  ASSERT_EQ(trace.all<watermark_event>().size(), 1u);
  EXPECT_EQ(trace.all<watermark_event>()[0].complete_until, 150);
}

TEST_F(record_decoder_test, a_device_is_its_uuid) {
  recorded_process& other = rows_->add_process(identity(200), 200);
  thread& mine = add_thread();
  thread& its = add_thread(other);
  ring::device_record d{};
  d.uuid_high = 0xfeed;
  d.uuid_low = 0xbeef;
  d.name = text(mine, "GPU");
  d.memory_bytes = 1 << 30;
  d.device = 0;
  put(mine, 1, d);
  d.device = 3;  // The same device under another ordinal.
  put(its, 1, d);
  d.uuid_low = 0xcafe;
  d.device = 0;
  put(its, 2, d);
  const recorded& trace = finish();
  ASSERT_EQ(trace.tables().devices.rows().size(), 2u);
  EXPECT_EQ(trace.text(trace.tables().devices.rows()[0].name), "GPU");
}

TEST_F(record_decoder_test, a_stream_that_is_used_before_it_is_introduced_keeps_its_id) {
  thread& t = add_thread();
  const std::uint64_t key = ring::stream_key(1, 7);
  ring::sync_record wait{};
  wait.stream = key;
  put(t, 10, wait);
  ring::context_record context{};
  context.context = 1;
  context.device = 0;
  put(t, 20, context);
  ring::stream_record stream{};
  stream.stream = key;
  stream.handle = 0xabc;
  stream.name = text(t, "loader");
  put(t, 30, stream);
  put(t, 40, wait);
  stream.handle = 0xdef;  // The key is reused by another stream.
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

}  // namespace
}  // namespace sluice::writer
