#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <set>

#include "instrumentation/ring/producer_state.hpp"
#include "instrumentation/writer/decoder/record_decoder.hpp"
#include "tests/instrumentation/ring/ring_pair.hpp"
#include "tests/instrumentation/writer/recording.hpp"

namespace sluice::writer {

using namespace trace;

inline constexpr std::int64_t origin = 1'000'000'000'000;

inline producer_identity identity(std::uint64_t pid) {
  producer_identity who;
  who.pid = who.start_time = who.image = pid;
  return who;
}

/// Fixture with a record decoder and the rings that it reads. All times are trace times in ns.
class record_decoder_test : public testing::Test {
 protected:
  struct thread {
    thread() : pair(std::size_t{1} << 20, ring::clock_kind::monotonic_ns) {}
    ring::ring_pair pair;
    std::unique_ptr<ring_reader> reader;
    ring_source source;
  };

  explicit record_decoder_test(record_decoder_options options = {}) : options_(options) {
    file_ = std::make_unique<file_writer>(*file_writer::create(path_));
    rows_ = std::make_unique<record_decoder>(*file_, clock_anchor{0, origin, 0}, options_);
    process_ = &rows_->add_process(identity(100), 100);
  }

  thread& add_thread() { return add_thread(*process_); }
  /// `copy` identifies the producer; 0 if unspecified.
  thread& add_thread(recorded_process& process, std::uint32_t copy = 0) {
    threads_.emplace_back();
    thread& t = threads_.back();
    t.reader = std::make_unique<ring_reader>(std::move(*t.pair.open_reader()));
    t.source.process = &process;
    t.source.clock = ring::clock_kind::monotonic_ns;
    t.source.copy = copy;
    ring::thread_record introduction{};
    introduction.tid = threads_.size();
    put(t, 0, introduction);
    return t;
  }

  template <class Record>
  void put(thread& t, time_ns time, Record record, ring::record_type type = ring::type_of_record<Record>::value) {
    record.header.time = raw_time(time);
    ASSERT_TRUE(t.pair.producer.put(&record.header, type, sizeof record));
  }
  static std::uint64_t raw_time(time_ns time) { return static_cast<std::uint64_t>(origin + time); }

  std::uint64_t text(thread& t, const std::string& words) {
    ring::string_record record{};
    record.key = get_key(words);
    record.length = words.size();
    t.pair.producer.put(&record.header, ring::record_type::string, sizeof record, words.data(), words.size());
    return record.key;
  }
  static std::uint64_t get_key(const std::string& words) { return ring::detail::hash_text(words.data(), words.size()); }

  void alloc(thread& t, time_ns time, std::uint64_t address, std::uint64_t bytes, layer layer = layer::driver,
             memory_kind kind = memory_kind::device) {
    ring::alloc_record r{};
    r.address = address;
    r.bytes = bytes;
    r.device = ring::no_device;
    r.layer = static_cast<std::uint8_t>(layer);
    r.kind = static_cast<std::uint8_t>(kind);
    put(t, time, r);
  }
  void free(thread& t, time_ns time, std::uint64_t address, layer layer = layer::driver,
            memory_kind kind = memory_kind::unknown) {
    ring::free_record r{};
    r.address = address;
    r.layer = static_cast<std::uint8_t>(layer);
    r.kind = static_cast<std::uint8_t>(kind);
    put(t, time, r);
  }
  void call(thread& t, time_ns time, std::uint32_t correlation, std::uint64_t source = 0, std::uint64_t destination = 0,
            std::uint64_t bytes = 0) {
    ring::api_call_record r{};
    r.end = raw_time(time + 5);
    r.source = source;
    r.destination = destination;
    r.bytes = bytes;
    r.correlation = correlation;
    put(t, time, r);
  }
  void content(thread& t, time_ns time, std::uint32_t correlation, std::uint64_t hash,
               content_check check = content_check::exact, ring::content_stage stage = ring::content_stage::source) {
    ring::content_record r{};
    r.stage = static_cast<std::uint8_t>(stage);
    r.hash = hash;
    r.bytes = 64;
    r.correlation = correlation;
    r.check = static_cast<std::uint8_t>(check);
    put(t, time, r);
  }
  void copy(thread& t, time_ns time, std::uint32_t correlation, std::uint64_t bytes, direction way = direction::h2d) {
    ring::copy_record r{};
    r.end = raw_time(time + 10);
    r.bytes = bytes;
    r.device = r.peer = ring::no_device;
    r.correlation = correlation;
    r.direction = static_cast<std::uint8_t>(way);
    put(t, time, r);
  }

  /// Runs one pass of the drain loop.
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
  record_decoder_options options_;
  std::unique_ptr<file_writer> file_;
  std::unique_ptr<record_decoder> rows_;
  recorded_process* process_ = nullptr;
  std::deque<thread> threads_;
  time_ns present_ = 0;
  std::unique_ptr<recorded> trace_;
};

}  // namespace sluice::writer
