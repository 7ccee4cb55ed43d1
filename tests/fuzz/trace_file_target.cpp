// Opens bytes as a trace file and reads every row: once as they are, once with the checksums mended, because otherwise
// hardly an input would get past them.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <string>

#include "core/trace/checksum.hpp"
#include "core/trace/layout.hpp"
#include "core/trace/reader.hpp"
#include "core/trace/writer.hpp"
#include "tests/core/trace/random_rows.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz {
namespace {

/// A file in memory, with a path.
class memory_file {
 public:
  memory_file() : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {}
  explicit memory_file(std::span<const std::uint8_t> content) : memory_file() {
    for (std::size_t at = 0; at < content.size();) {
      const auto written = ::write(descriptor_, content.data() + at, content.size() - at);
      if (written <= 0) break;
      at += static_cast<std::size_t>(written);
    }
  }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
  ~memory_file() { ::close(descriptor_); }

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  [[nodiscard]] bytes content() const {
    bytes all(static_cast<std::size_t>(::lseek(descriptor_, 0, SEEK_END)));
    const auto got = ::pread(descriptor_, all.data(), all.size(), 0);
    all.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return all;
  }

 private:
  int descriptor_;
};

template <class Part>
void mend(bytes& file, std::size_t at, Part& part) {
  part.checksum = trace::header_checksum(part);
  std::memcpy(file.data() + at, &part, sizeof part);
}

/// Makes every checksum right that stands where one is expected.
bytes mended(std::span<const std::uint8_t> input) {
  bytes file(input.begin(), input.end());
  trace::file_header header;
  if (file.size() < sizeof header) return file;
  std::memcpy(&header, file.data(), sizeof header);
  mend(file, 0, header);
  std::size_t at = sizeof header;
  for (trace::chunk_header chunk; file.size() - at >= sizeof chunk;) {
    std::memcpy(&chunk, file.data() + at, sizeof chunk);
    const std::size_t payload = at + sizeof chunk;
    if (chunk.magic != trace::chunk_magic || chunk.stored_bytes > file.size() - payload) break;
    chunk.payload_checksum = XXH3_64bits(file.data() + payload, chunk.stored_bytes);
    mend(file, at, chunk);
    at = payload + chunk.stored_bytes;
  }
  trace::trailer trailer;
  if (file.size() - at >= sizeof trailer) {
    std::memcpy(&trailer, file.data() + file.size() - sizeof trailer, sizeof trailer);
    mend(file, file.size() - sizeof trailer, trailer);
  }
  return file;
}

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

/// A recording with each kind of row in it; closed, or as its writer left it when it died.
bytes recording(bool closed) {
  const memory_file file;
  auto writer = trace::file_writer::create(file.path());
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
  return file.content();
}

std::vector<bytes> seeds() { return {recording(true), recording(false)}; }

}  // namespace

target trace_file_target() { return {"trace_file", run, seeds}; }

}  // namespace sluice::fuzz
