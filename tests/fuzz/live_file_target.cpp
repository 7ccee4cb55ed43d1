// A recording that is read while a hostile writer changes it: the file grows, is truncated and grows again, and its
// content may be anything. The input is | three cuts u16, in 65536ths of the file | file |; its checksums are
// corrected.
#include <array>
#include <cstring>
#include <random>
#include <thread>

#include "core/base/files/scratch_file.hpp"
#include "core/query/engine/engine.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer.hpp"
#include "tests/core/trace/random_rows.hpp"
#include "tests/fuzz/trace_bytes.hpp"

namespace sluice::fuzz::live_file {
namespace {

using cuts = std::array<std::uint16_t, 3>;

void read_rows(const trace::snapshot& snapshot) {
  std::uint64_t rows = 0;
#define SLUICE_READ(row, kind) (void)snapshot.for_each<trace::row>([&](const trace::row&) { ++rows; });
  SLUICE_FOR_EACH_ROW(SLUICE_READ)
#undef SLUICE_READ
}

/// Makes the queries that a window makes about an open file.
void ask(query::engine& engine) {
  engine.refresh();
  while (engine.busy()) std::this_thread::yield();
  const auto tracks = engine.ask_now(query::tracks_query{});
  if (tracks) (void)engine.ask_now(query::statistics_query{(*tracks)->span});
}

void run(std::span<const std::uint8_t> input) {
  cuts at{};
  if (input.size() < sizeof at) return;
  std::memcpy(at.data(), input.data(), sizeof at);
  const bytes whole = mended(input.subspan(sizeof at));
  const auto place = [&](std::uint16_t share) { return whole.size() * share >> 16; };
  const std::size_t first = place(at[0]);
  const std::size_t second = std::max(first, place(at[1]));
  const std::size_t third = std::min(second, place(at[2]));
  const std::span<const std::uint8_t> values(whole);

  memory_file file(values.first(first));
  trace::reader_options options;
  options.cache_bytes = std::size_t{1} << 20;
  const auto opened = trace::file::open(file.path(), options);
  if (!opened) return;
  const auto before = (*opened)->latest();
  const std::size_t chunks = before->chunks().size();
  query::engine_options answering;
  answering.threads = 1;
  query::engine engine(*opened, answering);
  file.append(values.subspan(first, second - first));
  (void)(*opened)->refresh();
  ask(engine);
  file.cut(third);
  (void)(*opened)->refresh();
  read_rows(*(*opened)->latest());
  file.append(values.subspan(third));
  (void)(*opened)->refresh();
  read_rows(*(*opened)->latest());
  read_rows(*before);
  ask(engine);
  if (before->chunks().size() != chunks) __builtin_trap();  // A snapshot never changes.
}

template <class Row>
void add_rows(trace::file_writer& writer, std::mt19937_64& random) {
  for (int i = 0; i < 2; ++i) writer.add(trace::testing::random_row<Row>(random));
}

/// A recording with several flushes, so that cuts fall both between and within chunks.
bytes recording(bool closed) {
  const auto folder = scratch_folder::make().value();
  auto writer = trace::file_writer::create(folder.path() + "/seed.sluice");
  if (!writer) return {};
  std::mt19937_64 random(11);
  for (int flushes = 0; flushes < 2; ++flushes) {
#define SLUICE_ADD(row, kind) add_rows<trace::row>(*writer, random);
    SLUICE_FOR_EACH_ROW(SLUICE_ADD)
#undef SLUICE_ADD
    (void)writer->flush();
  }
  if (closed) (void)writer->close();
  return make_content(writer->path());
}

bytes with_cuts(const cuts& at, const bytes& file) {
  bytes input(sizeof at);
  std::memcpy(input.data(), at.data(), sizeof at);
  input.insert(input.end(), file.begin(), file.end());
  return input;
}

std::vector<bytes> seeds() {
  const bytes grows = recording(false);
  return {with_cuts({20000, 40000, 40000}, grows), with_cuts({33000, 60000, 30000}, grows),
          with_cuts({50000, 65535, 65535}, recording(true))};
}

}  // namespace
}  // namespace sluice::fuzz::live_file

sluice::fuzz::target sluice::fuzz::live_file_target() { return {"live_file", live_file::run, live_file::seeds}; }
