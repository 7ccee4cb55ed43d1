// Opens bytes as a trace file and reads every row: once unchanged, and once with corrected checksums, because otherwise
// hardly any input would pass them.
#include <random>

#include "core/base/files/scratch_file.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer.hpp"
#include "tests/core/trace/random_rows.hpp"
#include "tests/fuzz/paged_index.hpp"
#include "tests/fuzz/trace_bytes.hpp"

namespace sluice::fuzz::trace_file {
namespace {

void read_all(std::span<const std::uint8_t> input) {
  const memory_file file(input);
  trace::reader_options options;
  options.cache_bytes = std::size_t{1} << 20;
  const auto opened = trace::file::open(file.path(), options);
  if (!opened) return;
  const auto snapshot = (*opened)->latest();
  std::uint64_t rows = 0;
#define SLUICE_READ(row, kind) (void)snapshot->for_each<trace::row>([&](const trace::row&) { ++rows; });
  SLUICE_FOR_EACH_ROW(SLUICE_READ)
#undef SLUICE_READ
  (void)(*opened)->refresh();
}

void run(std::span<const std::uint8_t> input) {
  read_all(input);
  read_all(mended(input));
}

template <class Row>
void add_rows(trace::file_writer& writer, std::mt19937_64& random) {
  for (int i = 0; i < 3; ++i) writer.add(trace::testing::random_row<Row>(random));
}

/// A recording with every kind of row, either closed or as left by a writer that was killed.
bytes recording(bool closed) {
  const auto folder = scratch_folder::make().value();
  auto writer = trace::file_writer::create(folder.path() + "/seed.sluice");
  if (!writer) return {};
  std::mt19937_64 random(7);
#define SLUICE_ADD(row, kind) add_rows<trace::row>(*writer, random);
  SLUICE_FOR_EACH_ROW(SLUICE_ADD)
#undef SLUICE_ADD
  if (closed) {
    (void)writer->close();
  } else {
    (void)writer->flush();
  }
  return make_content(writer->path());
}

std::vector<bytes> seeds() {
  const bytes closed = recording(true);
  return {closed, recording(false), with_index_in_pages(closed, 16)};
}

}  // namespace
}  // namespace sluice::fuzz::trace_file

sluice::fuzz::target sluice::fuzz::trace_file_target() { return {"trace_file", trace_file::run, trace_file::seeds}; }
