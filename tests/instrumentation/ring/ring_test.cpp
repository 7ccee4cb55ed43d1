// A ring delivers all records completely and in order, or counts the records that it had to drop.
#include "instrumentation/ring/ring.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "instrumentation/writer/rings/ring_reader.hpp"
#include "tests/instrumentation/ring/each_record.hpp"
#include "tests/instrumentation/ring/ring_pair.hpp"

namespace sluice::ring {
namespace {

bool put_marker(ring_producer& ring, std::uint64_t time) {
  marker_record marker{};
  marker.header.time = time;
  marker.step = static_cast<std::int64_t>(time);
  return ring.put(&marker.header, record_type::marker, sizeof marker);
}

bool put_text(ring_producer& ring, std::uint64_t key, const std::string& text) {
  string_record record{};
  record.key = key;
  record.length = text.size();
  return ring.put(&record.header, record_type::string, sizeof record, text.data(), text.size());
}

std::vector<writer::record_view> read_all(writer::ring_reader& reader, std::vector<std::byte>& storage) {
  storage.clear();
  EXPECT_TRUE(reader.drain(storage).has_value());
  std::vector<writer::record_view> records;
  EXPECT_TRUE(for_each_record(storage, [&](const writer::record_view& r) { records.push_back(r); }));
  return records;
}

TEST(ring, delivers_what_a_deque_would) {
  ring_pair pair;
  auto reader = pair.open_reader();
  ASSERT_TRUE(reader.has_value());
  std::mt19937 random(7);
  std::deque<std::string> model;
  std::vector<std::byte> storage;
  std::size_t dropped = 0;
  for (int round = 0; round < 20000; ++round) {
    if (random() % 40 != 0) {
      std::string text(random() % (random() % 20 == 0 ? 4000 : 60), 'a');
      for (char& c : text) c = static_cast<char>('a' + random() % 26);
      if (put_text(pair.producer, 1, text)) {
        model.push_back(text);
      } else {
        ++dropped;
      }
      continue;
    }
    for (const writer::record_view& record : read_all(*reader, storage)) {
      if (record.type == record_type::loss) continue;
      ASSERT_EQ(record.type, record_type::string);
      const auto text = writer::decode<string_record>(record);
      ASSERT_FALSE(model.empty());
      ASSERT_EQ(text.length, model.front().size());
      const auto* characters = reinterpret_cast<const char*>(record.bytes.data()) + sizeof(string_record);
      ASSERT_EQ(std::string(characters, text.length), model.front());
      model.pop_front();
    }
    ASSERT_TRUE(model.empty());
  }
  EXPECT_EQ(reader->lost().events, dropped);
  EXPECT_GT(dropped, 0u) << "the test never filled the ring";
}

TEST(ring, pads_its_last_bytes_with_zeros) {
  ring_pair pair;
  auto reader = pair.open_reader();
  std::vector<std::byte> storage;
  std::memset(pair.data(), 0xff, 256);
  ASSERT_TRUE(put_text(pair.producer, 1, "abc"));
  const auto records = read_all(*reader, storage);
  ASSERT_EQ(records.size(), 1u);
  ASSERT_EQ(records[0].bytes.size(), sizeof(string_record) + 8);
  EXPECT_EQ(std::memcmp(records[0].bytes.data() + sizeof(string_record), "abc\0\0\0\0\0", 8), 0);
}

TEST(ring, keeps_its_last_quarter_for_memory_events) {
  ring_pair pair;
  while (put_marker(pair.producer, 1)) {
  }
  const std::uint64_t used = pair.header().head.load();
  EXPECT_LE(used, minimum_ring_bytes * 3 / 4);
  EXPECT_GT(used, minimum_ring_bytes * 3 / 4 - sizeof(marker_record));
  alloc_record alloc{};
  std::size_t taken = 0;
  while (pair.producer.put(&alloc.header, record_type::alloc, sizeof alloc)) ++taken;
  EXPECT_GE(taken, minimum_ring_bytes / 4 / sizeof alloc - 1);
}

TEST(ring, counts_what_it_drops_and_reports_it_when_there_is_room) {
  ring_pair pair;
  auto reader = pair.open_reader();
  std::vector<std::byte> storage;
  std::uint64_t time = 100;
  alloc_record alloc{};
  alloc.layer = static_cast<std::uint8_t>(trace::layer::framework);
  do {
    alloc.header.time = ++time;
  } while (pair.producer.put(&alloc.header, record_type::alloc, sizeof alloc));
  const std::uint64_t first = time;
  EXPECT_FALSE(put_marker(pair.producer, ++time));
  EXPECT_FALSE(put_marker(pair.producer, ++time));
  EXPECT_EQ(reader->lost().events, 3u);
  EXPECT_EQ(reader->lost().memory_events, 1u);
  EXPECT_EQ(reader->lost().layers, layer_bit(trace::layer::framework));

  read_all(*reader, storage);
  ASSERT_TRUE(put_marker(pair.producer, ++time));
  const auto records = read_all(*reader, storage);
  ASSERT_EQ(records.size(), 2u);
  ASSERT_EQ(records[0].type, record_type::loss);
  const auto loss = writer::decode<loss_record>(records[0]);
  EXPECT_EQ(loss.header.time, first);
  EXPECT_EQ(loss.end, first + 2);
  EXPECT_EQ(loss.events, 3u);
  EXPECT_EQ(loss.memory_events, 1u);
  EXPECT_EQ(loss.layers, layer_bit(trace::layer::framework));
  EXPECT_EQ(records[1].type, record_type::marker);
  EXPECT_EQ(pair.producer.unreported_loss(), 0u);
}

TEST(ring, calls_its_reader_once_when_it_is_half_full) {
  ring_pair pair;
  auto reader = pair.open_reader();
  std::vector<std::byte> storage;
  for (int lap = 0; lap < 5; ++lap) {
    std::size_t calls = 0;
    const std::uint64_t begin = pair.header().head.load();
    std::uint64_t at = 0;
    while (put_marker(pair.producer, 1)) {
      if (!pair.producer.wants_reader()) continue;
      at = pair.header().head.load() - begin;
      ++calls;
    }
    EXPECT_EQ(calls, 1u);
    EXPECT_GE(at, minimum_ring_bytes / 2);
    EXPECT_LT(at, minimum_ring_bytes / 2 + 1024);
    read_all(*reader, storage);
  }
}

TEST(ring, says_of_each_loss_which_layers_it_is_of) {
  ring_pair pair;
  auto reader = pair.open_reader();
  std::vector<std::byte> storage;
  const auto fill = [&] {
    while (put_words(pair.producer, record_type::pool_stream_free, 1, std::uint64_t{2}, std::uint64_t{3})) {
    }
  };
  fill();
  free_record free{};
  free.layer = static_cast<std::uint8_t>(trace::layer::user);
  EXPECT_FALSE(pair.producer.put(&free.header, record_type::free, sizeof free));
  EXPECT_EQ(reader->lost().layers, layer_bit(trace::layer::pool) | layer_bit(trace::layer::user));
  read_all(*reader, storage);
  fill();
  EXPECT_EQ(reader->lost().layers, layer_bit(trace::layer::pool)) << "the first have been reported";
}

TEST(ring, does_not_call_a_reader_that_keeps_up) {
  ring_pair pair;
  auto reader = pair.open_reader();
  std::vector<std::byte> storage;
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(put_marker(pair.producer, 1));
    EXPECT_FALSE(pair.producer.wants_reader());
    if (i % 50 == 0) read_all(*reader, storage);
  }
}

TEST(ring, refuses_a_record_that_is_too_long) {
  ring_pair pair;
  EXPECT_FALSE(put_text(pair.producer, 1, std::string(maximum_record_bytes, 'x')));
  EXPECT_TRUE(put_marker(pair.producer, 1));
}

// Otherwise a producer that waits for room for such a part would wait forever.
TEST(ring, takes_a_part_of_a_live_set_at_any_place_once_it_is_empty) {
  constexpr std::size_t part = sizeof(pool_live_set_record) + max_in_live_set_part * 3 * sizeof(std::uint64_t);
  ring_pair pair;
  auto reader = pair.open_reader();
  std::vector<std::byte> storage;
  for (std::size_t place = 0; place < 2 * minimum_ring_bytes; place += sizeof(marker_record)) {
    ASSERT_TRUE(put_marker(pair.producer, 1));
    read_all(*reader, storage);
    ASSERT_TRUE(pair.producer.fits(part)) << place;
  }
}

TEST(ring, passes_everything_from_one_thread_to_another) {
  ring_pair pair;
  auto reader = pair.open_reader();
  constexpr std::uint64_t count = 50'000;
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (std::uint64_t i = 1; i <= count; ++i) {
      while (!put_marker(pair.producer, i)) std::this_thread::yield();
    }
    done = true;
  });
  std::vector<std::byte> storage;
  std::uint64_t expected = 1;
  for (bool last = false; !last;) {
    last = done;
    for (const writer::record_view& record : read_all(*reader, storage)) {
      if (record.type != record_type::marker) continue;
      ASSERT_EQ(record.time, expected);
      ASSERT_EQ(writer::decode<marker_record>(record).step, static_cast<std::int64_t>(expected));
      ++expected;
    }
  }
  writer.join();
  EXPECT_EQ(expected, count + 1);
}

TEST(ring_producer, survives_a_reader_that_lies_about_its_tail) {
  ring_pair pair;
  while (put_marker(pair.producer, 1)) {
  }
  for (const std::uint64_t tail : {~std::uint64_t{0}, std::uint64_t{1} << 40, pair.header().head.load() + 8}) {
    pair.header().tail.store(tail);
    EXPECT_FALSE(put_marker(pair.producer, 2)) << "overwrote unread records, at tail " << tail;
  }
}

TEST(ring_reader, refuses_what_is_no_ring) {
  EXPECT_FALSE(writer::ring_reader::adopt(open("/dev/null", O_RDONLY | O_CLOEXEC)).has_value());
  EXPECT_FALSE(writer::ring_reader::adopt(-1).has_value());

  const int unsealed = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(unsealed, ring_data_offset + minimum_ring_bytes), 0);
  EXPECT_FALSE(writer::ring_reader::adopt(unsealed).has_value()) << "its size could change under the reader";

  const int odd = memfd_create("odd", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(odd, ring_data_offset + minimum_ring_bytes + 8), 0);
  ASSERT_EQ(fcntl(odd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_FALSE(writer::ring_reader::adopt(odd).has_value());
}

TEST(ring_reader, refuses_a_header_it_does_not_know) {
  ring_pair pair;
  pair.header().version = ring_version + 1;
  const auto newer = pair.open_reader();
  ASSERT_FALSE(newer.has_value());
  EXPECT_EQ(newer.error().code, error_code::newer_version);
  pair.header().version = ring_version;
  pair.header().clock = 9;
  EXPECT_FALSE(pair.open_reader().has_value());
  pair.header().magic = 0;
  EXPECT_FALSE(pair.open_reader().has_value());
}

TEST(ring_reader, copies_an_identity_that_is_full_of_nonsense) {
  ring_pair pair;
  std::memset(static_cast<void*>(&pair.header().identity), 0xff, sizeof(ring_identity));
  pair.header().identity.command[3] = '\n';
  const auto reader = pair.open_reader();
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ(reader->identity().command.size(), sizeof(ring_identity::command));
  EXPECT_EQ(reader->identity().command[3], ' ');
  EXPECT_EQ(reader->identity().rank, -1);
}

TEST(ring_reader, gives_up_on_a_head_that_cannot_be) {
  for (const std::uint64_t head : {std::uint64_t{minimum_ring_bytes} + 8, std::uint64_t{4}, ~std::uint64_t{0}}) {
    ring_pair pair;
    auto reader = pair.open_reader();
    pair.header().head.store(head);
    std::vector<std::byte> storage;
    EXPECT_FALSE(reader->drain(storage).has_value()) << head;
    EXPECT_EQ(reader->drain(storage).value(), 0u) << "an invalid ring delivers nothing";
  }
}

TEST(ring_reader, stops_at_a_record_whose_length_cannot_be) {
  std::vector<std::byte> bytes(64);
  const auto walk = [&] { return for_each_record(bytes, [](const writer::record_view&) {}); };
  EXPECT_FALSE(walk()) << "a length of zero would loop forever";
  bytes[2] = std::byte{9};
  EXPECT_FALSE(walk()) << "longer than the remaining bytes";
  bytes[2] = std::byte{1};
  bytes[0] = std::byte{17};
  EXPECT_FALSE(walk()) << "shorter than a header";
  bytes[2] = std::byte{8};
  EXPECT_TRUE(walk());
}

TEST(ring_reader, survives_random_bytes) {
  std::mt19937_64 random(11);
  std::vector<std::byte> storage;
  for (int round = 0; round < 300; ++round) {
    ring_pair pair;
    auto reader = pair.open_reader();
    for (std::size_t i = 0; i < minimum_ring_bytes; i += 8) {
      // Mostly plausible lengths, so that the walk continues past the first record.
      const std::uint64_t word = random() % 4 == 0 ? random() : (random() % 40) | (random() % 20 << 16);
      std::memcpy(pair.data() + i, &word, sizeof word);
    }
    pair.header().head.store(random() % (minimum_ring_bytes / 8 + 1) * 8);
    storage.clear();
    if (!reader->drain(storage)) continue;
    std::size_t seen = 0;
    (void)for_each_record(storage, [&](const writer::record_view& r) {
      seen += r.bytes.size();
      (void)writer::decode<kernel_record>(r);
    });
    EXPECT_LE(seen, storage.size());
  }
}

}  // namespace
}  // namespace sluice::ring
