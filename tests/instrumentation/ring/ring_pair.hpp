#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "instrumentation/ring/ring.hpp"
#include "instrumentation/writer/rings/ring_reader.hpp"

namespace sluice::ring {

/// A ring with two mappings, as if two processes shared it: one for the producer and one for the reader.
class ring_pair {
 public:
  explicit ring_pair(std::size_t capacity = minimum_ring_bytes, clock_kind clock = clock_kind::simulated_ns)
      : bytes_(ring_data_offset + capacity) {
    file_ = memfd_create("test-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_EQ(ftruncate(file_, static_cast<off_t>(bytes_)), 0);
    EXPECT_EQ(fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    producer.format(memory_, capacity, clock);
  }
  ~ring_pair() {
    munmap(memory_, bytes_);
    close(file_);
  }
  ring_pair(const ring_pair&) = delete;
  ring_pair& operator=(const ring_pair&) = delete;

  result<writer::ring_reader> open_reader() { return writer::ring_reader::adopt(dup(file_)); }
  [[nodiscard]] int file() const { return file_; }
  ring_header& header() { return *static_cast<ring_header*>(memory_); }
  std::byte* data() { return static_cast<std::byte*>(memory_) + ring_data_offset; }

  ring_producer producer;

 private:
  std::size_t bytes_;
  int file_ = -1;
  void* memory_ = nullptr;
};

/// A record that consists only of words, as `emit` writes it.
template <class... Words>
bool put_words(ring_producer& ring, record_type type, std::uint64_t time, Words... rest) {
  if (ring.put_words_simply(type, time, rest...)) return true;
  record_header header{};
  header.time = time;
  const std::uint64_t words[] = {rest...};
  return ring.put_slowly(&header, type, sizeof header, words, sizeof words);
}

}  // namespace sluice::ring
