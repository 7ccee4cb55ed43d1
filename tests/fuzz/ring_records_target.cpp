// Data that a recorded program left in its ring, hostile or torn: drained, decoded and written to a trace. The input is
// | clock u8 | mode u8 | 0 u16 | head u32 | bytes |; the bytes are the ring's records, or with mode 1 also its header.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "core/base/files/scratch_file.hpp"
#include "core/trace/file/writer.hpp"
#include "instrumentation/ring/producer_state.hpp"
#include "instrumentation/writer/decoder/record_decoder.hpp"
#include "instrumentation/writer/rings/ring_reader.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::ring_records {
namespace {

struct input_header {
  std::uint8_t clock;
  std::uint8_t mode;
  std::uint16_t reserved;
  std::uint32_t head;  ///< With mode 2: number of published bytes; otherwise all bytes are published.
};

constexpr std::size_t capacity = ring::minimum_ring_bytes;
constexpr std::size_t ring_bytes = ring::ring_data_offset + capacity;

/// A sealed memory file with the ring that `input` describes.
int ring_file(const input_header& about, std::span<const std::uint8_t> content) {
  const int file = memfd_create("fuzz-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (ftruncate(file, ring_bytes) != 0 || fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) return file;
  void* memory = mmap(nullptr, ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return file;
  ring::ring_producer ring;
  ring.format(memory, capacity, static_cast<ring::clock_kind>(about.clock % 3));
  const std::size_t start = (about.mode & 1) != 0 ? 0 : ring::ring_data_offset;
  const std::size_t taken = std::min(content.size(), ring_bytes - start);
  std::memcpy(static_cast<char*>(memory) + start, content.data(), taken);
  const std::uint64_t published = (about.mode & 2) != 0 ? about.head : (taken & ~std::size_t{7});
  if ((about.mode & 1) == 0) ring.header()->head.store(published);
  munmap(memory, ring_bytes);
  return file;
}

void run(std::span<const std::uint8_t> input) {
  input_header about{};
  if (input.size() < sizeof about) return;
  std::memcpy(&about, input.data(), sizeof about);
  auto reader = writer::ring_reader::adopt(ring_file(about, input.subspan(sizeof about)));
  if (!reader) return;

  // Not /dev/null: the writer locks its file, and fuzzers that run at the same time need one each.
  const auto scratch = scratch_file::make();
  if (!scratch) __builtin_trap();
  auto file = trace::file_writer::create(*scratch);
  if (!file) __builtin_trap();
  const writer::clock_anchor start{1'000, 1'000, 1'000};
  const writer::clock_anchor later{2'000'000, 1'000'000, 1'000'000};
  writer::record_decoder record_decoder(*file, start, {about.clock % 3 == 2, 100});
  writer::ring_source ring;
  ring.process = &record_decoder.add_process(reader->identity(), 1);
  ring.clock = reader->clock();
  // Two passes, because records that are taken in one pass are written in the next.
  for (int turn = 0; turn < 2; ++turn) {
    (void)record_decoder.take(ring, *reader);
    record_decoder.advance(later);
    record_decoder.take_unreported_loss(ring, reader->lost());
    record_decoder.settle(false);
  }
  record_decoder.finish(later);
  (void)file->close();
}

template <class Record>
void add(bytes& input, Record record) {
  record.header.type = static_cast<std::uint16_t>(ring::type_of_record<Record>::value);
  record.header.words = sizeof record / 8;
  record.header.time = 5'000;
  const auto* begin = reinterpret_cast<const std::uint8_t*>(&record);
  input.insert(input.end(), begin, begin + sizeof record);
}

/// Adds a pool_stream record with its correct key, and a block of that pool_stream.
void add_pool_stream(bytes& input, std::uint64_t pool) {
  ring::pool_stream_record pool_stream{};
  pool_stream.pool = pool_stream.stream = pool;
  pool_stream.layer = 1;
  pool_stream.key = ring::detail::pool_stream_key(pool_stream);
  add(input, pool_stream);
  ring::pool_stream_alloc_record born{};
  born.address = 3;
  born.bytes = born.reserved_bytes = 4;
  born.pool_stream = pool_stream.key;
  add(input, born);
  ring::pool_stream_free_record died{};
  died.address = 3;
  died.pool_stream = pool_stream.key;
  add(input, died);
}

/// Each kind of record twice, with small numbers, so that handles coincide and strings are found.
bytes seed(std::uint8_t clock) {
  bytes input(sizeof(input_header));
  input[0] = clock;
  std::mt19937_64 random(clock);
  for (std::uint16_t round = 0; round < 2; ++round) {
    for (std::uint16_t type = 0; type <= 41; ++type) {
      std::uint64_t words[16] = {};
      for (auto& word : words) word = random() % 8;
      const std::uint16_t head[4] = {type, static_cast<std::uint16_t>(std::size(words)), 0, 0};
      std::memcpy(words, head, sizeof head);
      words[1] = 1'500 + 100 * type;
      const auto* begin = reinterpret_cast<const std::uint8_t*>(words);
      input.insert(input.end(), begin, begin + sizeof words);
    }
    add_pool_stream(input, round);
    ring::python_sample_record sample{};
    sample.tid = sample.stack = sample.count = round;
    add(input, sample);
    ring::library_call_record call{};
    call.stack = round;
    add(input, call);
    ring::sampling_record sampling{};
    sampling.paused = round;
    add(input, sampling);
  }
  return input;
}

std::vector<bytes> seeds() { return {seed(0), seed(1), seed(2)}; }

}  // namespace
}  // namespace sluice::fuzz::ring_records

sluice::fuzz::target sluice::fuzz::ring_records_target() {
  return {"ring_records", ring_records::run, ring_records::seeds};
}
