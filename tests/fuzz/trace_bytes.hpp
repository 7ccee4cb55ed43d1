#pragma once

#include <cstring>

#include "core/trace/file/checksum.hpp"
#include "core/trace/file/layout.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"

/// Turns fuzzed bytes into a trace file.
namespace sluice::fuzz {

template <class Part>
inline void mend(bytes& file, std::size_t at, Part& part) {
  part.checksum = trace::header_checksum(part);
  std::memcpy(file.data() + at, &part, sizeof part);
}

/// Corrects the checksums of the file header, the chunks and the trailer, so that readers get past them.
inline bytes mended(std::span<const std::uint8_t> input) {
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

}  // namespace sluice::fuzz
